/**
 * Goal: where addresses or ports are rewritten on the way, it is said that two conversations are one; two real ones are
 * left alone. Method: a lossy scene with connection management, seen with its addresses, without, and with both; the
 * ICRC made again, as an adapter that rewrites does.
 */
import { describe, expect, it } from 'vitest';
import { ipv4HeaderChecksum } from '../../../../packets/checksum.ts';
import { computeIcrc } from '../../../../packets/icrc.ts';
import { Op } from '../../../../packets/opcode.ts';
import { Analyzer } from '../../../../pcap/analysis/analyzer.ts';
import type { Analysis } from '../../../../pcap/analysis/types.ts';
import { readCapture } from '../../../../pcap/reader.ts';
import type { CapturedPacket } from '../../../../pcap/types.ts';
import { play } from '../../../../tools/symptoms/scene.ts';
import { Script } from '../tracker/script.ts';

const ETHERTYPE_IPV4_AT = 12;
const SOURCE_AT = 29;
const DESTINATION_AT = 33;

async function scene(seed = 3): Promise<CapturedPacket[]> {
  const capture = await play({ seed }, async (stage) => {
    const [left, right] = [stage.host('A'), stage.host('B')];
    const { a, b } = await stage.connect(left, right, { cm: true, timeout: 10 });
    for (const host of [left, right]) stage.faults(host, { loss: 0.02 });
    for (let i = 0; i < 30; i++) await Promise.all([a.write(b, 5000), a.write(b, 3000), a.read(b, 5000)]);
  });
  return [...readCapture(capture)].filter(({ bytes }) => bytes[ETHERTYPE_IPV4_AT] === 0x08 && bytes.length > 60);
}

/** The last byte of an address, or of a port, with checksum and ICRC made anew. */
function rewritten(packet: CapturedPacket, at: number, value: number): CapturedPacket {
  const bytes = packet.bytes.slice();
  bytes[at] = value;
  const view = new DataView(bytes.buffer);
  view.setUint16(24, 0);
  view.setUint16(24, ipv4HeaderChecksum(view, 14));
  view.setUint32(bytes.length - 4, computeIcrc(bytes, view, 14, 4, 42, bytes.length - 4), true);
  return { ...packet, bytes };
}

const isFromA = ({ bytes }: CapturedPacket): boolean => bytes[SOURCE_AT] === 1;
const other = (packet: CapturedPacket): CapturedPacket =>
  rewritten(packet, isFromA(packet) ? SOURCE_AT : DESTINATION_AT, 77);
const timeOf = ({ seconds, nanoseconds }: CapturedPacket): number => seconds * 1e9 + nanoseconds;

function later(packet: CapturedPacket, byNs: number): CapturedPacket {
  const at = timeOf(packet) + byNs;
  return { ...packet, seconds: Math.floor(at / 1e9), nanoseconds: at % 1e9 };
}

function analyze(packets: readonly CapturedPacket[]): Analysis {
  const analyzer = new Analyzer();
  const all = [...packets].sort((a, b) => timeOf(a) - timeOf(b));
  all.forEach((packet, i) => void analyzer.packet({ ...packet, number: i + 1 }));
  return analyzer.finish();
}

const told = (packets: readonly CapturedPacket[]) =>
  analyze(packets)
    .limits.filter(({ kind }) => kind === 'rewritten')
    .map(({ text, conversations }) => [text, conversations]);

describe('addresses that are rewritten', () => {
  it('are told where one interface has both sides', async () => {
    const packets = (await scene()).flatMap((packet) => [packet, later(other(packet), 3000)]);
    expect(told(packets)).toEqual([
      [
        'Addresses are rewritten on the way: what 10.0.0.1 and 10.0.0.2 exchange is also here between 10.0.0.77 and 10.0.0.2. ' +
          'These are two conversations in this report, and one of the hosts.',
        [1, 2],
      ],
    ]);
  });

  it('are told where two interfaces have a side each, and their clocks differ', async () => {
    const packets = (await scene()).flatMap((packet) => [packet, { ...later(other(packet), 30e9), interfaceIndex: 1 }]);
    expect(told(packets).map(([, conversations]) => conversations)).toEqual([[1, 2]]);
  });

  it('are told where requests have the one address and answers the other, and nothing is wrong because of it', async () => {
    const packets = (await scene()).map((packet) => (isFromA(packet) ? rewritten(packet, DESTINATION_AT, 99) : packet));
    expect(told(packets)).toEqual([
      [
        'Addresses are rewritten on the way: what 10.0.0.1 requests of 10.0.0.99 is answered from 10.0.0.2 to 10.0.0.1. ' +
          'Requests and answers are two conversations in this report, neither of which shows what became of the requests.',
        [1, 2],
      ],
    ]);
    const errors = analyze(packets).findings.filter(({ severity }) => severity === 'error');
    expect(errors).toEqual([]);
  });

  it('are told of the sender as well', async () => {
    const packets = (await scene()).map((packet) => (isFromA(packet) ? rewritten(packet, SOURCE_AT, 99) : packet));
    expect(told(packets).map(([text]) => text)).toEqual([
      expect.stringContaining('what 10.0.0.99 requests of 10.0.0.2 is answered from 10.0.0.2 to 10.0.0.1'),
    ]);
  });
});

describe('ports that are rewritten', () => {
  const script = (port: number) => {
    const made = new Script();
    for (let psn = 0; psn < 20; psn++) {
      made.on(0).a(Op.SendOnly, psn).on(1).a(Op.SendOnly, psn, { sourcePort: port });
      made
        .on(1)
        .ack(psn, { msn: psn + 1 })
        .on(0)
        .ack(psn, { msn: psn + 1 });
    }
    return made.packets;
  };

  it('are told between two interfaces', () => {
    expect(told(script(0xd0_01))).toEqual([
      [
        'UDP source ports are rewritten on the way between two interfaces: 49153 of 192.0.2.1 and 49154 of 192.0.2.2 there ' +
          'are 53249 of 192.0.2.1 and 49154 of 192.0.2.2 here.',
        [1, 2],
      ],
    ]);
  });

  it('are not told where they are the same', () => {
    expect(told(script(0xc0_01))).toEqual([]);
  });
});

describe('two real conversations', () => {
  const sends = (ids: 'count' | 'random', from: number, answered: boolean): CapturedPacket[] => {
    const script = new Script({ ids });
    for (let psn = from; psn < from + 40; psn++) {
      script.a(Op.SendOnly, psn);
      const ack = script.fromB(Op.Acknowledge, psn, { msn: psn - from + 1 });
      if (answered) script.see(ack);
    }
    return script.packets;
  };
  const between = (packets: readonly CapturedPacket[]) =>
    packets.map((packet) => {
      const bytes = rewritten(packet, SOURCE_AT, packet.bytes[SOURCE_AT] === 1 ? 7 : 8);
      return rewritten(bytes, DESTINATION_AT, packet.bytes[DESTINATION_AT] === 1 ? 7 : 8);
    });

  it('of the same queue pairs, PSNs and payloads are not taken for one', () => {
    expect(told([...sends('count', 0, true), ...between(sends('random', 0, true)).map((p) => later(p, 300))])).toEqual(
      [],
    );
  });

  it('of which the capture has a direction each are not taken for one, unless their PSNs are the same', () => {
    const answers = (from: number, host: number) => {
      const script = new Script();
      for (let psn = from; psn < from + 40; psn++) script.wait(1000).ack(psn, { msn: psn - from + 1 });
      return script.packets.map((packet) => later(rewritten(packet, SOURCE_AT, host), 300));
    };
    const requests = sends('count', 0, false);
    expect(told([...requests, ...answers(0, 9)])).toHaveLength(1);
    expect(told([...requests, ...answers(5000, 9)])).toEqual([]);
    const fewer = answers(0, 9).slice(0, 20);
    const further = answers(3000, 9).map((packet) => later(packet, 20_000_000));
    expect(told([...requests, ...fewer, ...further])).toEqual([]);
    // Two that it could be.
    const twins = sends('random', 0, false).map((packet) => later(rewritten(packet, DESTINATION_AT, 50), 200));
    expect(told([...requests, ...twins, ...answers(0, 9)])).toEqual([]);
    // No host in common.
    const strangers = answers(0, 9).map((packet) => rewritten(packet, DESTINATION_AT, 60));
    expect(told([...requests, ...strangers])).toEqual([]);
    expect(told([...requests, ...answers(0, 9).map((packet) => later(packet, 2e9))])).toEqual([]);
    // Nothing is answered before it is requested; a capture may begin with an answer.
    const after = (ns: number) => requests.map((packet) => later(packet, ns));
    expect(told([...after(20_000_000), ...answers(0, 9)])).toEqual([]);
    expect(told([...after(9_000_000), ...answers(0, 9)])).toHaveLength(1);
    expect(told([...requests, ...answers(0, 9).map((packet) => ({ ...packet, interfaceIndex: 1 }))])).toEqual([]);
  });

  it('the later of which repeats what the earlier one did are not taken for one', () => {
    const first = sends('count', 0, true);
    expect(told([...first, ...between(first).map((packet) => later(packet, 5e9))])).toEqual([]);
  });
});
