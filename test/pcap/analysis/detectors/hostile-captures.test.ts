/**
 * Goal: whatever a capture holds, the detectors of symptoms 1 to 10 neither throw nor print nonsense, and say a bounded
 * number of things. Method: scenes with bits turned over, packets cut, doubled, put out of order and moved in time, by
 * seed; and more stalls and refusals than are kept.
 */
import { describe, expect, it } from 'vitest';
import { Op } from '../../../../packets/opcode.ts';
import { SYMPTOMS_A } from '../../../../pcap/analysis/detectors/list-a.ts';
import { type CapturedPacket, PcapngWriter } from '../../../../pcap/index.ts';
import { Prng } from '../../../../src/sim/index.ts';
import { roceFrame, station } from '../../../../tools/symptoms/forge.ts';
import { aeth } from '../../../../tools/symptoms/headers.ts';
import { SCENES_A } from '../../../../tools/symptoms/list-a.ts';
import { analyze, packetsOf } from './support.ts';

const MINE = new Set(SYMPTOMS_A.map(({ id }) => id));

/** One way to spoil a packet each. */
const SPOILED: readonly ((packet: CapturedPacket, random: Prng) => CapturedPacket)[] = [
  (packet, random) => {
    const bytes = packet.bytes.slice();
    const at = random.below(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
    return { ...packet, bytes };
  },
  // The headers, where it hurts, with an ICRC that nobody can check.
  (packet, random) => {
    const bytes = packet.bytes.slice(0, 90);
    const at = 42 + random.below(Math.max(1, bytes.length - 42));
    if (at < bytes.length) bytes[at] = random.below(256);
    return { ...packet, bytes };
  },
  (packet, random) => ({ ...packet, bytes: packet.bytes.subarray(0, random.below(packet.bytes.length + 1)) }),
  (packet, random) => ({ ...packet, seconds: packet.seconds - random.below(5), nanoseconds: random.below(1e9) }),
];

function spoil(packets: readonly CapturedPacket[], random: Prng): CapturedPacket[] {
  const spoiled = packets.flatMap((packet) => {
    if (!random.chance(0.1)) return [packet];
    const way = SPOILED[random.below(SPOILED.length)];
    const changed = way?.(packet, random) ?? packet;
    return random.chance(0.2) ? [changed, packet] : [changed];
  });
  for (let swaps = 0; swaps < 5; swaps++) {
    const at = random.below(spoiled.length);
    const [taken] = spoiled.splice(at, 1);
    if (taken !== undefined) spoiled.splice(random.below(spoiled.length + 1), 0, taken);
  }
  return spoiled.map((packet, index) => ({ ...packet, number: index + 1 }));
}

describe('hostile captures', () => {
  it('draw sentences with numbers in them, whatever they hold', async () => {
    const random = new Prng(5);
    for (const scene of SCENES_A) {
      const packets = packetsOf(await scene.make()).slice(0, 120);
      for (let round = 0; round < 1; round++) {
        for (const { id, text, frames, evidence } of analyze(spoil(packets, random)).findings) {
          if (!MINE.has(id)) continue;
          expect([scene.name, text]).toEqual([
            scene.name,
            expect.not.stringMatching(/undefined|NaN|Infinity|-\d+ (ms|us|ns)/),
          ]);
          expect(Object.values(evidence).filter((value) => Number.isNaN(value))).toEqual([]);
          expect(frames.every((frame, index) => frame > (frames[index - 1] ?? 0))).toBe(true);
        }
      }
    }
  });

  it('with thousands of silences and refusals draw a bounded number of findings', () => {
    const writer = new PcapngWriter();
    const index = writer.addInterface({ name: 'x', linkType: 1 });
    let time = 0;
    const put = (bytes: Uint8Array): void => {
      time += 2_000;
      writer.packet(index, bytes, 0, bytes.length, 10, time);
    };
    const frame = (host: number, attempt: number): Uint8Array =>
      roceFrame({
        from: station(host & 0xff, 4, `10.1.${host >> 8}.${host & 0xff}`),
        to: station(2),
        opcode: Op.SendOnly,
        destQpn: 0x100 + host,
        psn: 5,
        ipId: 1 + attempt,
      });
    for (let attempt = 0; attempt < 4; attempt++) for (let host = 0; host < 600; host++) put(frame(host, attempt));
    for (let host = 0; host < 300; host++) {
      const to = station(host & 0xff, 4, `10.2.${host >> 8}.${host & 0xff}`);
      const headers = aeth(0x62, 1);
      put(roceFrame({ from: station(2), to, opcode: Op.Acknowledge, destQpn: 0x100 + host, psn: 5, headers }));
    }
    const { findings } = analyze(writer.take());
    const count = (id: string): number => findings.filter((finding) => finding.id === id).length;
    expect([count('no-reply'), count('remote-access-error')]).toEqual([50, 50]);
  });
});
