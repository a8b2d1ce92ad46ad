/**
 * Goal: marks are made as a switch makes them: only on ECN-capable packets, with a right checksum, and without harm to
 * the ICRC.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../packets/address.ts';
import { writeBth } from '../../packets/bth.ts';
import { ipv4ChecksumMatches, ipv4HeaderChecksum } from '../../packets/checksum.ts';
import { RoceError } from '../../packets/errors.ts';
import { Frame, FrameStatus, Medium, parseFrame } from '../../packets/frame.ts';
import { FrameWriter } from '../../packets/frame-writer.ts';
import { HeaderTemplate } from '../../packets/header-template.ts';
import { icrcMatches } from '../../packets/icrc.ts';
import { Op } from '../../packets/opcode.ts';
import { checkFaultSpec, Fate } from '../../src/faults/fault-spec.ts';
import { Wire } from '../../src/faults/wire.ts';
import { congestionBits, markCongestion } from '../../src/ground/ecn.ts';
import { Prng } from '../../src/ground/prng.ts';
import { SimulatedNetwork } from '../../src/sim/network.ts';
import { Collector, mac } from '../sim/support.ts';

interface Kind {
  readonly version: 4 | 6;
  readonly vlan: boolean;
  readonly medium: Medium;
}

const KINDS: readonly Kind[] = [
  { version: 4, vlan: false, medium: Medium.Ethernet },
  { version: 6, vlan: false, medium: Medium.Ethernet },
  { version: 4, vlan: true, medium: Medium.Ethernet },
  { version: 6, vlan: false, medium: Medium.Ip },
  { version: 4, vlan: false, medium: Medium.Ip },
];

/** A SEND of 60 bytes with the given traffic class. */
function roceFrame({ version, vlan, medium }: Kind, trafficClass: number): FrameWriter {
  const template = new HeaderTemplate({
    medium,
    sourceMac: mac(1),
    destMac: mac(2),
    ...(vlan ? { vlanTci: 5 } : {}),
    source: IpAddress.parse(version === 4 ? '10.0.0.1' : 'fe80::1'),
    destination: IpAddress.parse(version === 4 ? '10.0.0.2' : 'fe80::2'),
    trafficClass,
    hopLimit: 64,
    flowLabel: 0xa_bc_de,
    sourcePort: 0xc0_00,
  });
  const writer = new FrameWriter(1, 256);
  const bth = writer.begin(template);
  writeBth(writer.view, bth, Op.SendOnly, 0, 0, 0, 0xff_ff, 17, 1, 100);
  writer.bytes.fill(7, bth + 12, bth + 72);
  writer.end(template, bth + 72);
  return writer;
}

function parse(writer: FrameWriter, medium: Medium): Frame {
  const frame = new Frame();
  expect(parseFrame(writer.bytes, writer.view, 0, writer.lengths[0] ?? 0, medium, frame)).toBe(FrameStatus.Ok);
  return frame;
}

describe('markCongestion', () => {
  it.each(KINDS)('marks an ECN-capable packet and leaves checksum and ICRC right: %j', (kind) => {
    for (const trafficClass of [0xfd, 0x02, 0x03]) {
      const writer = roceFrame(kind, trafficClass);
      expect(markCongestion(writer.view, 0, writer.lengths[0] ?? 0, kind.medium)).toBe(true);
      const frame = parse(writer, kind.medium);
      expect(frame.trafficClass).toBe(trafficClass | 3);
      expect(icrcMatches(frame)).toBe(true);
    }
  });

  it.each(KINDS)('leaves alone what is not ECN-capable: %j', (kind) => {
    const writer = roceFrame(kind, 0xfc);
    const before = writer.bytes.slice();
    expect(markCongestion(writer.view, 0, writer.lengths[0] ?? 0, kind.medium)).toBe(false);
    expect(writer.bytes).toEqual(before);
  });

  it('does not make the checksum of a damaged header right, nor that of a right one wrong', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 255 }), fc.nat(0xff_ff), fc.nat(19), fc.nat(255), (tos, id, at, damage) => {
        const writer = roceFrame({ version: 4, vlan: false, medium: Medium.Ip }, tos);
        const { view } = writer;
        view.setUint16(4, id);
        view.setUint16(10, ipv4HeaderChecksum(view, 0));
        // What says whether it is a header, and whether it may be marked, stays.
        if (at > 1) view.setUint8(at, view.getUint8(at) ^ damage);
        const right = ipv4ChecksumMatches(view, 0);
        const marked = markCongestion(view, 0, writer.lengths[0] ?? 0, Medium.Ip);
        expect([marked, view.getUint8(1)]).toEqual([(tos & 3) !== 0, marked ? tos | 3 : tos]);
        expect(ipv4ChecksumMatches(view, 0)).toBe(right);
        if (right) expect(view.getUint16(10)).toBe(ipv4HeaderChecksum(view, 0));
        expect(congestionBits(view, 0, writer.lengths[0] ?? 0, Medium.Ip)).toBe(view.getUint8(1) & 3);
      }),
    );
  });

  it('takes any bytes of any length and stays inside them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), fc.constantFrom(Medium.Ethernet, Medium.Ip), (bytes, medium) => {
        const padded = new Uint8Array(bytes.length + 16).fill(0xa5);
        padded.set(bytes, 8);
        markCongestion(new DataView(padded.buffer), 8, 8 + bytes.length, medium);
        expect([...padded.subarray(0, 8), ...padded.subarray(8 + bytes.length)]).toEqual(new Array(16).fill(0xa5));
      }),
    );
  });
});

describe('marking on the wire', () => {
  it('marks all at probability one, and flips a bit of a marked packet without hiding it', () => {
    for (const corrupt of [0, 1]) {
      const network = new SimulatedNetwork({ faults: { ceMark: 1, corrupt } });
      const [a, b] = [network.attach('a'), network.attach('b')];
      const sink = new Collector();
      void b.start(sink);
      const writer = roceFrame({ version: 4, vlan: false, medium: Medium.Ethernet }, 2);
      a.send(writer, 0);
      network.deliverDue(1e6);
      const [bytes = new Uint8Array()] = sink.frames;
      const frame = new Frame();
      const status = parseFrame(bytes, new DataView(bytes.buffer), 0, bytes.length, Medium.Ethernet, frame);
      expect(bytes).not.toEqual(writer.bytes.slice(0, bytes.length));
      if (corrupt === 0) expect([status, frame.trafficClass, icrcMatches(frame)]).toEqual([FrameStatus.Ok, 3, true]);
    }
  });

  it('marks by the length of the queue: never below kmin, always above kmax, and in between on a ramp', () => {
    const share = (backlogBytes: number): number => {
      const spec = { rateBps: 8e9, ecn: { kminBytes: 10_000, kmaxBytes: 20_000, pmax: 0.5 } };
      const wire = new Wire('receive', spec, 0, new Prng(3));
      const bytes = new Uint8Array(100);
      wire.exitTime(0, backlogBytes);
      expect(wire.backlogBytes(0)).toBe(backlogBytes);
      let marked = 0;
      for (let i = 0; i < 4000; i++) {
        const fate = wire.decide(0, bytes, new DataView(bytes.buffer), 0, 100, Medium.Ethernet);
        if ((fate & Fate.Marked) !== 0) marked++;
      }
      return marked / 4000;
    };
    expect([share(0), share(10_000), share(20_001)]).toEqual([0, 0, 1]);
    expect(share(15_000)).toBeCloseTo(0.25, 1);
    expect(share(20_000)).toBeCloseTo(0.5, 1);
  });

  it('refuses a profile that makes no sense', () => {
    const ecn = { kminBytes: 2000, kmaxBytes: 1000, pmax: 0.1 };
    expect(() => checkFaultSpec({ rateBps: 1e9, ecn })).toThrow(RoceError);
    expect(() => checkFaultSpec({ rateBps: 1e9, ecn: { ...ecn, kmaxBytes: 3000, pmax: 2 } })).toThrow(/pmax/);
    expect(() => checkFaultSpec({ rateBps: 0 })).toThrow(/rateBps/);
    expect(() => checkFaultSpec({ delayNs: Number.NaN })).toThrow(/delayNs/);
  });
});
