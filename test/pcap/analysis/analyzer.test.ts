/**
 * Goal: the analyzer says of any capture what is in it, as plain data, and never throws, whatever the packets. Method:
 * scripts of known content, and the packets of real captures with bytes changed, cut, shuffled, repeated, and with
 * clocks that jump.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Op } from '../../../packets/opcode.ts';
import { Analyzer } from '../../../pcap/analysis/analyzer.ts';
import { Role } from '../../../pcap/analysis/facts.ts';
import { SEVERITIES } from '../../../pcap/analysis/types.ts';
import { type CapturedPacket, readCapture } from '../../../pcap/index.ts';
import { allScenes } from '../../../tools/symptoms/index.ts';
import { toHex } from '../../packets/support.ts';
import { fcRuns } from '../../transport/support/peer.ts';
import { ethernet, ipv4, TUNNEL_WRAPPINGS, udp } from '../tunnels/wrappings.ts';
import { captured } from './tracker/observed-world.ts';
import { damaged, Script } from './tracker/script.ts';

const SAMPLE = fileURLToPath(new URL('../../vectors/rxe-sample.pcap', import.meta.url));
const sample = [...readCapture(readFileSync(SAMPLE))];

describe('Analyzer', () => {
  it('says what a capture is made of', () => {
    const script = new Script().sends(0, 2).ack(2);
    script
      .see(damaged(script.fromA(Op.SendOnly, 3)))
      .see(Uint8Array.of(1, 2, 3))
      .wait(1_000_000);
    const arp = new Uint8Array(60);
    arp.set([0x08, 0x06], 12);
    const pause = new Uint8Array(60);
    pause.set([0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 0x01, 0x01]);
    script.see(arp).see(pause);
    const { capture } = script.analyze();
    expect(capture).toMatchObject({
      packets: 8,
      rocePackets: 5,
      goodIcrc: 4,
      badIcrc: 1,
      cutPackets: 0,
      others: { ARP: 1, PFC: 1, Truncated: 1 },
      opcodes: { 'RC SEND Only': 4, 'RC Acknowledge': 1 },
      startTime: '0.000001000',
      durationNs: 1_007_000,
    });
    expect(capture.bytes).toBe(script.packets.reduce((sum, { bytes }) => sum + bytes.length, 0));
  });

  it('follows what is in tunnels, and counts what cannot be read', () => {
    const script = new Script().sends(0, 2).ack(2);
    const wrap = TUNNEL_WRAPPINGS.find(({ name }) => name === 'VXLAN')?.wrap ?? ((frame: Uint8Array) => frame);
    const analyzer = new Analyzer();
    for (const packet of script.packets) {
      const bytes = wrap(packet.bytes.slice());
      analyzer.packet({ ...packet, bytes, originalLength: bytes.length });
    }
    const [first] = script.packets;
    for (const bytes of [
      ethernet('88e5', '2c00 00000001 0123456789abcdef'),
      ethernet('0800', ipv4(50, '00000001 00000001 0123456789abcdef')),
      ethernet('0800', ipv4(17, udp(9999, `cafe ${toHex(first?.bytes ?? new Uint8Array(0))}`))),
    ])
      if (first !== undefined) analyzer.packet({ ...first, bytes, originalLength: bytes.length });
    const { capture, conversations, findings } = analyzer.finish();
    expect(capture).toMatchObject({
      rocePackets: 4,
      goodIcrc: 4,
      tunnels: { VXLAN: 4 },
      unread: { MACsec: 1, ESP: 1, 'an unknown tunnel with RoCEv2 in it': 1 },
    });
    expect([conversations.length, findings]).toEqual([1, []]);
  });

  it('follows packets that the capture has cut behind their headers, and says that their ICRC is not known', () => {
    const whole = new Script().read(0, 3).answers(0, 2).sends(3, 5).ack(5);
    const analyzer = new Analyzer();
    for (const packet of whole.packets) analyzer.packet({ ...packet, bytes: packet.bytes.subarray(0, 96) });
    const { capture, events, conversations } = analyzer.finish();
    expect(capture.cutPackets).toBeGreaterThan(2);
    expect(capture.badIcrc).toBe(0);
    expect(events).toEqual([]);
    expect(conversations[0]?.ends[0].requester).toMatchObject({ messages: { READ: 1, SEND: 3 }, unansweredPsn: -1 });
    expect(conversations[0]?.ends[0].requester.goodputBytes).toBe(2 * 1024 + 100 + 300);
  });

  it('takes damaged packets for good ones when it is told not to verify', () => {
    const script = new Script({ analyzer: { verifyIcrc: false } });
    script.see(damaged(script.fromA(Op.SendOnly, 0)));
    const { capture, events, conversations } = script.analyze();
    expect(capture).toMatchObject({ goodIcrc: 0, badIcrc: 0, rocePackets: 1 });
    expect(events).toEqual([]);
    expect(conversations).toHaveLength(1);
  });

  it('gives facts of each packet whose conversation has counted it', () => {
    const analyzer = new Analyzer();
    const [request, acknowledge] = new Script().sends(0, 0).ack(0).packets as [CapturedPacket, CapturedPacket];
    const facts = analyzer.packet(request);
    expect(facts).toMatchObject({
      role: Role.Request,
      sender: 0,
      requester: 0,
      relativePsn: 0,
      psnCount: 1,
      timeNs: 0,
    });
    expect(facts.conversation?.ends[0].packets).toBe(1);
    expect(facts.conversation?.ends[0].requester.packets).toBe(1);
    expect(analyzer.packet(acknowledge)).toBe(facts);
    expect(facts).toMatchObject({ role: Role.Response, sender: 1, requester: 0, relativePsn: 0, timeNs: 1000 });
    expect(facts.conversation).toBe(analyzer.conversations[0]);
    expect(facts.conversation?.ends[0].qpn).toBe(0xa1);
  });

  it('is plain data at the end, the same whether asked live or late', () => {
    const analyzer = new Analyzer();
    for (const packet of sample) analyzer.packet(packet);
    const live = JSON.parse(JSON.stringify(analyzer.conversations));
    const analysis = analyzer.finish();
    expect(analyzer.finish()).toBe(analysis);
    expect(JSON.parse(JSON.stringify(analysis))).toEqual(analysis);
    expect(live).toHaveLength(analysis.conversations.length);
  });

  it('puts the most severe findings first, each with what to do', () => {
    const script = new Script().sends(0, 8).nak(5).wait(1e6).sends(5, 8).ack(8);
    for (let i = 0; i < 20; i++) script.see(damaged(script.fromA(Op.SendOnly, 9)));
    const { findings } = script.analyze();
    const ranks = findings.map(({ severity }) => SEVERITIES.indexOf(severity));
    expect(findings.length).toBeGreaterThan(0);
    expect(ranks).toEqual([...ranks].sort((a, b) => a - b));
    for (const { id, text, advice, frames, frameCount } of findings) {
      expect([id, text]).not.toContain('');
      expect(advice.length).toBeGreaterThan(0);
      expect(frameCount).toBeGreaterThanOrEqual(frames.length);
    }
  });

  it('looks at no byte of a packet after its turn', async () => {
    for (const scene of allScenes()) {
      const file = await scene.make();
      const whole = new Analyzer();
      for (const packet of readCapture(file)) whole.packet(packet);
      const wiped = new Analyzer();
      for (const packet of readCapture(file.slice())) {
        wiped.packet(packet);
        packet.bytes.fill(0x5a);
      }
      expect(wiped.finish(), scene.name).toEqual(whole.finish());
    }
  });

  it('has nothing to say of an empty capture', () => {
    const { capture, findings, conversations, events } = new Analyzer().finish();
    expect(capture).toMatchObject({ packets: 0, durationNs: 0, startTime: '0.000000000' });
    expect([findings, conversations, events]).toEqual([[], [], []]);
  });
});

describe('Analyzer, given anything', () => {
  const change = fc.record({
    packet: fc.nat(sample.length - 1),
    at: fc.nat(200),
    value: fc.nat(255),
    cut: fc.oneof(fc.constant(0), fc.nat(120)),
    timeNs: fc.oneof(fc.nat(1000), fc.nat(1e12)),
    interfaceIndex: fc.oneof(fc.constant(0), fc.nat(200)),
  });

  it('never throws, and its figures stay sound', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 200 }), fc.boolean(), (changes, verifyIcrc) => {
        const analyzer = new Analyzer({ verifyIcrc, maxConversations: 20, maxEvents: 50 });
        changes.forEach(({ packet, at, value, cut, timeNs, interfaceIndex }, i) => {
          const bytes = (sample[packet]?.bytes ?? new Uint8Array(0)).slice();
          if (at < bytes.length) bytes[at] = value;
          const whole = captured(i + 1, timeNs, bytes, interfaceIndex);
          const { marks } = analyzer.packet({ ...whole, bytes: bytes.subarray(0, bytes.length - cut) });
          expect(Number.isInteger(marks)).toBe(true);
        });
        const analysis = analyzer.finish();
        expect(analysis.capture.packets).toBe(changes.length);
        expect(analysis.conversations.length).toBeLessThanOrEqual(20);
        expect(analysis.events.length).toBeLessThanOrEqual(50);
        expectSound(JSON.parse(JSON.stringify(analysis)));
      }),
      { numRuns: fcRuns(60) },
    );
  });

  it('never throws when packets of one connection come in any order, any number of times', () => {
    const script = new Script().read(0, 6).answers(0, 5).sends(6, 12).ack(9).nak(10).sends(10, 12).ack(12);
    script.read(13, 2).answers(13, 14).a(Op.FetchAdd, 15).b(Op.AtomicAcknowledge, 15);
    const { packets } = script;
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(packets.length - 1), fc.nat(3e6)), { maxLength: 120 }), (order) => {
        const analyzer = new Analyzer();
        let timeNs = 0;
        order.forEach(([index, waitNs], i) => {
          timeNs += waitNs;
          analyzer.packet(captured(i + 1, timeNs, packets[index]?.bytes ?? new Uint8Array(0)));
        });
        expectSound(JSON.parse(JSON.stringify(analyzer.finish())));
      }),
      { numRuns: fcRuns(100), examples: [[LATE_TWICE]] },
    );
  });
});

/** A packet that counts as lost comes late twice: indexes of packets, and nanoseconds before each. */
const LATE_TWICE: [number, number][] = [
  [7, 0],
  [20, 0],
  [13, 200_000],
  [18, 0],
  [19, 0],
  [18, 0],
];

/** No number is missing or negative that cannot be. */
function expectSound(value: unknown, path = ''): void {
  if (value === null) throw new Error(`${path} is not a number`);
  if (typeof value === 'number' && value < 0 && !MAY_BE_NEGATIVE.test(path)) throw new Error(`${path} is ${value}`);
  if (typeof value !== 'object') return;
  for (const [name, each] of Object.entries(value as object)) expectSound(each, `${path}.${name}`);
}

const MAY_BE_NEGATIVE =
  /qpn|psn|Psn|vlan|flowLabel|migReq|refersTo|durationNs|creditCode|cnpPacingNs|evidence|timeNs|startNs|endNs|paths|heldNs/;
