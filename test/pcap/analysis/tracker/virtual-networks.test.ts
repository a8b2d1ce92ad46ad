/**
 * Goal: tenants that use the same addresses and queue pairs in virtual networks of their own are conversations of their
 * own, and one conversation stays one whatever carries its directions. Method: scripts within tunnels, merged by time.
 */
import { describe, expect, it } from 'vitest';
import { ipv4HeaderChecksum } from '../../../../packets/checksum.ts';
import { Op } from '../../../../packets/opcode.ts';
import { Analyzer } from '../../../../pcap/analysis/analyzer.ts';
import { MutableFacts } from '../../../../pcap/analysis/tracker/mutable-facts.ts';
import { VirtualNetworks } from '../../../../pcap/analysis/tracker/virtual-networks.ts';
import type { Analysis } from '../../../../pcap/analysis/types.ts';
import { dissect } from '../../../../pcap/dissection.ts';
import { readCapture } from '../../../../pcap/reader.ts';
import type { CapturedPacket } from '../../../../pcap/types.ts';
import { play } from '../../../../tools/symptoms/scene.ts';
import { toHex } from '../../../packets/support.ts';
import { ethernet, ipv4, udp } from '../../tunnels/wrappings.ts';
import { captured } from './observed-world.ts';
import { Script } from './script.ts';

type Wrap = (frame: Uint8Array) => Uint8Array;

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
/** Offsets in a frame within VXLAN. */
const VNI_AT = 46;
const INNER_IP_AT = 64;
const plain: Wrap = (frame) => frame;
const vxlan =
  (vni: number): Wrap =>
  (frame) =>
    ethernet('0800', ipv4(17, udp(4789, `08000000 ${hex(vni, 6)}00 ${toHex(frame)}`)));
const geneve =
  (vni: number): Wrap =>
  (frame) =>
    ethernet('0800', ipv4(17, udp(6081, `00006558 ${hex(vni, 6)}00 ${toHex(frame)}`)));
const gre =
  (key: number): Wrap =>
  (frame) =>
    ethernet('0800', ipv4(47, `20006558 ${hex(key, 8)} ${toHex(frame)}`));
const erspan =
  (session: number): Wrap =>
  (frame) =>
    ethernet('0800', ipv4(47, `100088be 00000001 1001${hex(0x1800 | session, 4)} 00000000 ${toHex(frame)}`));

/** A sends `count` SENDs, each with its answer. @param from PSN of the first */
function exchange(script: Script, there: Wrap, back: Wrap, count: number, from = 0): Script {
  for (let psn = from; psn < from + count; psn++) {
    script.see(there(script.fromA(Op.SendOnly, psn)));
    script.see(back(script.fromB(Op.Acknowledge, psn, { msn: psn - from + 1 })));
  }
  return script;
}

function analyze(...scripts: readonly { readonly packets: readonly CapturedPacket[] }[]): Analysis {
  const analyzer = new Analyzer();
  const at = ({ seconds, nanoseconds }: CapturedPacket) => seconds * 1e9 + nanoseconds;
  const all = scripts.flatMap(({ packets }) => packets).sort((a, b) => at(a) - at(b));
  all.forEach((packet, i) => void analyzer.packet({ ...packet, number: i + 1 }));
  return analyzer.finish();
}

const told = ({ findings, limits, conversations, events }: Analysis) => ({
  findings: findings.map(({ id }) => id),
  limits: limits.map(({ kind }) => kind),
  events: events.map(({ kind }) => kind),
  conversations: conversations.map(({ ends }) => ends.map(({ network, packets }) => `${network} ${packets}`.trim())),
});

const quiet = { findings: [], limits: [], events: [] };

describe('two tenants with the same addresses and queue pairs', () => {
  it.each([
    ['VXLAN', vxlan(10), vxlan(20), 'VXLAN 10', 'VXLAN 20'],
    ['Geneve', geneve(10), geneve(20), 'Geneve 10', 'Geneve 20'],
    ['GRE with keys', gre(10), gre(20), 'GRE 10', 'GRE 20'],
    ['VXLAN and none', vxlan(10), plain, 'VXLAN 10', ''],
    ['mirrored VXLAN', (f: Uint8Array) => erspan(1)(vxlan(10)(f)), vxlan(20), 'VXLAN 10', 'VXLAN 20'],
  ])('are two conversations: %s', (_name, one, two, first, second) => {
    const analysis = analyze(
      exchange(new Script(), one, one, 40),
      exchange(new Script({ ids: 'random' }).wait(300), two, two, 40, 5000),
    );
    const conversation = (network: string) => [`${network} 40`.trim(), `${network} 40`.trim()];
    expect(told(analysis)).toEqual({ ...quiet, conversations: [conversation(first), conversation(second)] });
    expect(analysis.conversations.map(({ sameAs }) => sameAs)).toEqual([0, 0]);
  });

  it('are two though PSNs, identifications and payloads are the same', () => {
    const analysis = analyze(
      exchange(new Script(), vxlan(10), vxlan(10), 40),
      exchange(new Script().wait(300), vxlan(20), vxlan(20), 40),
    );
    expect(told(analysis)).toEqual({
      ...quiet,
      conversations: [
        ['VXLAN 10 40', 'VXLAN 10 40'],
        ['VXLAN 20 40', 'VXLAN 20 40'],
      ],
    });
  });

  it('are two where the other end asks in the second', () => {
    const other = new Script().wait(300);
    for (let psn = 0; psn < 40; psn++) {
      other.see(vxlan(20)(other.fromB(Op.SendOnly, 700 + psn)));
      other.see(vxlan(20)(other.fromA(Op.Acknowledge, 700 + psn, { msn: psn + 1 })));
    }
    const { findings, events, conversations } = told(analyze(exchange(new Script(), vxlan(10), vxlan(10), 40), other));
    expect({ findings, events, conversations: conversations.length }).toEqual({
      ...{ findings: [], events: [] },
      conversations: 2,
    });
  });

  it('are two where the capture begins with an answer of the second', () => {
    const late = exchange(new Script().wait(-700), vxlan(20), vxlan(20), 40, 5000);
    late.packets.shift();
    const { findings, events, conversations } = told(analyze(exchange(new Script(), vxlan(10), vxlan(10), 40), late));
    expect({ findings, events }).toEqual({ findings: [], events: [] });
    expect(conversations).toEqual([
      ['VXLAN 10 40', 'VXLAN 10 40'],
      ['VXLAN 20 40', 'VXLAN 20 39'],
    ]);
  });
});

it('more tenants than are told apart by their directions keep their packets, though one has answers only', () => {
  const answers = new Script();
  for (let psn = 0; psn < 40; psn++) answers.wait(2000).see(vxlan(9999)(answers.fromB(Op.Acknowledge, psn)));
  const tenants = Array.from({ length: 300 }, (_, i) =>
    exchange(new Script().wait(137 * i), vxlan(i), vxlan(i), 3, 100 * i),
  );
  const { findings, limits, conversations } = told(analyze(answers, ...tenants));
  expect({ findings, limits, conversations: conversations.length }).toEqual({
    ...{ findings: [], limits: [] },
    conversations: 301,
  });
  expect(conversations.filter((packets) => new Set(packets).size > 1)).toEqual([['VXLAN 9999 40', '0']]);
});

it('networks between two addresses are bounded: the directions of what comes later are not put together', () => {
  const tenants = Array.from({ length: 256 }, (_, i) => exchange(new Script(), vxlan(i), vxlan(i), 1, 100 * i));
  const late = () => exchange(new Script().wait(1e6), vxlan(8000), vxlan(9000), 40);
  expect(told(analyze(...tenants.slice(0, 254), late())).conversations.at(-1)).toEqual([
    'VXLAN 8000 40',
    'VXLAN 9000 40',
  ]);
  expect(told(analyze(...tenants, late())).conversations.slice(-2)).toEqual([
    ['VXLAN 8000 40', '0'],
    ['VXLAN 9000 40', '0'],
  ]);
});

it('networks of all addresses together are bounded, whatever a flood makes up', () => {
  const facts = new MutableFacts();
  const script = new Script();
  const request = vxlan(0)(script.fromA(Op.SendOnly, 0));
  const answer = vxlan(0)(script.fromB(Op.Acknowledge, 0));
  /** The place of a packet from 192.0.2.1 to another host, or of one back. */
  const placeOf = (networks: VirtualNetworks, vni: number, host: number, bytes = request): number => {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    view.setUint32(VNI_AT, vni << 8);
    view.setUint16(INNER_IP_AT + (bytes === request ? 18 : 14), host);
    view.setUint16(INNER_IP_AT + 10, 0);
    view.setUint16(INNER_IP_AT + 10, ipv4HeaderChecksum(view, INNER_IP_AT));
    dissect(captured(1, 0, bytes), facts.dissection);
    return networks.placeOf(facts, 0);
  };
  const networks = new VirtualNetworks({ conversations: () => [], mayBelong: () => true });
  const areOne = (host: number) => placeOf(networks, 8000, host) === placeOf(networks, 9000, host, answer);
  const flood = (from: number, to: number) => {
    for (let host = from; host < to; host++) for (let vni = 0; vni < 256; vni++) placeOf(networks, vni, host);
  };
  flood(1, 200);
  expect(areOne(5000)).toBe(true);
  flood(200, 300);
  expect(areOne(5001)).toBe(false);
});

describe('one conversation stays one', () => {
  it.each([
    ['each direction has a VNI of its own', vxlan(10), vxlan(20), ['VXLAN 10 40', 'VXLAN 20 40']],
    ['one direction is captured outside of the tunnel', vxlan(10), plain, ['VXLAN 10 40', '40']],
    ['one direction is captured inside of it', plain, vxlan(10), ['40', 'VXLAN 10 40']],
    ['mirrors of several sessions show it', erspan(1), erspan(2), ['40', '40']],
  ])('where %s', (_name, there, back, ends) => {
    expect(told(analyze(exchange(new Script(), there, back, 40)))).toEqual({ ...quiet, conversations: [ends] });
  });

  it('where both ends ask, and each direction has a VNI of its own', () => {
    const script = new Script();
    for (let psn = 0; psn < 40; psn++) {
      script.see(vxlan(10)(script.fromA(Op.SendOnly, psn))).see(vxlan(20)(script.fromB(Op.SendOnly, psn)));
      script.see(vxlan(20)(script.fromB(Op.Acknowledge, psn, { msn: psn + 1 })));
      script.see(vxlan(10)(script.fromA(Op.Acknowledge, psn, { msn: psn + 1 })));
    }
    expect(told(analyze(script))).toEqual({ ...quiet, conversations: [['VXLAN 10 80', 'VXLAN 20 80']] });
  });

  it('where a mirror shows each frame within the tunnel and without it', () => {
    const script = new Script();
    for (let psn = 0; psn < 40; psn++) {
      const there = script.fromA(Op.SendOnly, psn);
      const back = script.fromB(Op.Acknowledge, psn, { msn: psn + 1 });
      script.see(there).see(vxlan(10)(there)).see(vxlan(10)(back)).see(back);
    }
    const { findings, limits, conversations } = told(analyze(script));
    expect({ findings, limits, conversations }).toEqual({
      ...{ findings: [], limits: ['doubled'] },
      conversations: [['80', 'VXLAN 10 80']],
    });
  });

  it('where a mirror shows one direction within the tunnel as well', () => {
    const script = new Script();
    for (let psn = 0; psn < 40; psn++) {
      const there = script.fromA(Op.SendOnly, psn);
      script.see(vxlan(10)(there)).see(there);
      script.see(script.fromB(Op.Acknowledge, psn, { msn: psn + 1 }));
    }
    const { findings, conversations } = told(analyze(script));
    expect({ findings, conversations }).toEqual({ findings: [], conversations: [['VXLAN 10 80', '40']] });
  });
});

it('a conversation in a tunnel at one interface and outside of it at another is the same', () => {
  const script = new Script();
  for (let psn = 0; psn < 40; psn++) {
    const there = script.fromA(Op.SendOnly, psn);
    const back = script.fromB(Op.Acknowledge, psn, { msn: psn + 1 });
    script.on(0).see(there).on(1).see(vxlan(10)(there)).see(vxlan(10)(back)).on(0).see(back);
  }
  const { conversations } = analyze(script);
  expect(conversations.map(({ sameAs }) => sameAs)).toEqual([0, 1]);
});

it('tenants at two interfaces have their twins in their own networks', () => {
  const tenants = [10, 20].map((vni, i) => {
    const script = new Script().wait(300 * i);
    for (let psn = 5000 * i; psn < 5000 * i + 40; psn++) {
      const there = vxlan(vni)(script.fromA(Op.SendOnly, psn));
      const back = vxlan(vni)(script.fromB(Op.Acknowledge, psn, { msn: psn - 5000 * i + 1 }));
      script.on(0).see(there).on(1).see(there).see(back).on(0).see(back);
    }
    return script;
  });
  const { conversations } = analyze(...tenants);
  const twins = conversations.map(({ id, sameAs, interfaceIndex, ends: [{ network }] }) =>
    interfaceIndex === 0 ? `${id} ${network}` : `${sameAs} ${network}`,
  );
  expect(twins.sort()).toEqual(['1 VXLAN 10', '1 VXLAN 10', '2 VXLAN 20', '2 VXLAN 20']);
});

describe('with connection management, losses and READs', () => {
  const scene = async (seed: number): Promise<CapturedPacket[]> => {
    const capture = await play({ seed }, async (stage) => {
      const [left, right] = [stage.host('A'), stage.host('B')];
      const { a, b } = await stage.connect(left, right, { cm: true, timeout: 10 });
      for (const host of [left, right]) stage.faults(host, { loss: 0.05 });
      for (let i = 0; i < 20; i++) await Promise.all([a.write(b, 5000), b.write(a, 3000), a.read(b, 5000)]);
    });
    return [...readCapture(capture)];
  };
  const within = (packets: readonly CapturedPacket[], there: Wrap, back: Wrap): CapturedPacket[] => {
    const isThere = (bytes: Uint8Array) => bytes[29] === packets[0]?.bytes[29];
    return packets.map((packet) => {
      const bytes = (isThere(packet.bytes) ? there : back)(packet.bytes);
      return { ...packet, bytes, originalLength: bytes.length };
    });
  };
  /** What does not depend on what carries the packets. */
  const figures = ({ conversations, findings }: Analysis) => ({
    findings: findings.map(({ id, severity }) => `${id} ${severity}`),
    conversations: conversations.map(({ learnt, service, ends }) => [
      learnt,
      service,
      ...ends.map(({ packets, requester, address }) => ({ address, packets, requester })),
    ]),
  });

  it('two tenants have the figures that each has alone', async () => {
    const [one, two] = [await scene(3), await scene(4)];
    const both = figures(
      analyze({ packets: within(one, vxlan(10), vxlan(10)) }, { packets: within(two, vxlan(20), vxlan(20)) }),
    );
    expect(both.conversations).toEqual([one, two].flatMap((packets) => figures(analyze({ packets })).conversations));
  });

  it('a conversation whose directions have a VNI each has the figures that it has without', async () => {
    const packets = await scene(3);
    expect(figures(analyze({ packets: within(packets, vxlan(10), geneve(20)) }))).toEqual(
      figures(analyze({ packets })),
    );
  });
});
