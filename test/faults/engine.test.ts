/**
 * Goal: the engine decides the same for the same seed, and a path carries out exactly what was decided, in order,
 * within its bounds. Method: made frames through an engine and a path with time as a number; arbitrary rules, seeds and
 * times for the properties.
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ipv4ChecksumMatches } from '../../packets/checksum.ts';
import { defined } from '../../packets/defined.ts';
import { type Frame, Medium } from '../../packets/frame.ts';
import { Op } from '../../packets/opcode.ts';
import { FaultEngine, type FaultEngineOptions } from '../../src/faults/engine.ts';
import { FaultPath, type FaultPathOptions } from '../../src/faults/path.ts';
import type { WireFaults, WireRule } from '../../src/faults/rule.ts';
import { FrameAction } from '../../src/faults/verdict.ts';
import { batchOf, Collector, frame as otherFrame, tagOf } from '../sim/support.ts';
import { A_TO_B, acknowledge, packet, parse } from './support.ts';

type Parts = Omit<FaultEngineOptions, 'medium'> & Partial<FaultPathOptions>;

/** Frames from a to b: in at a time, out in order. */
class Wire {
  readonly engine: FaultEngine;
  readonly path: FaultPath;
  readonly out = new Collector();
  /** Frames the far end takes before it says stop. */
  credit = Infinity;

  constructor({ maxFrameBytes = 1522, capacity, observer, ...options }: Parts) {
    this.engine = new FaultEngine({ medium: Medium.Ethernet, ...options });
    this.path = new FaultPath(this.engine, A_TO_B, { maxFrameBytes, capacity, observer });
  }

  enter(now: number, ...frames: readonly Uint8Array[]): void {
    const batch = batchOf(...frames);
    this.path.enter(now, batch, 0, batch.count);
    this.flush(now);
  }

  flush(now: number, until = now): boolean {
    const take = (batch: Parameters<Collector['receive']>[0], from: number): number => {
      const taken = Math.min(this.credit, batch.count - from);
      this.credit -= taken;
      const rest = batchOf(
        ...Array.from({ length: taken }, (_, i) => {
          const start = batch.starts[from + i] ?? 0;
          return batch.bytes.slice(start, start + (batch.lengths[from + i] ?? 0));
        }),
      );
      if (taken > 0) this.out.receive(rest);
      return taken;
    };
    return this.path.flush(now, take, until);
  }

  /** Lets time pass until nothing waits. */
  drain(): void {
    for (let steps = 0; this.path.waiting > 0 && steps < 10_000; steps++) {
      const deadline = this.path.nextDeadline();
      if (deadline === Infinity) return;
      this.flush(deadline);
    }
  }
}

const tagged = (count: number, from = 0) => Array.from({ length: count }, (_, tag) => otherFrame(1, 2, from + tag));
const write = (psn: number, trafficClass = 0) =>
  packet({ direction: A_TO_B, opcode: Op.WriteMiddle, qpn: 0x22, psn, payloadBytes: 64, trafficClass });
const any = (rule: Omit<WireRule, 'on'>, nth?: number): WireRule => ({
  on: { opcode: 'any', ...defined({ nth }) },
  ...rule,
});

describe('a path', () => {
  it('hands over at once, in order, when nothing is to be done', () => {
    const wire = new Wire({});
    wire.enter(5, ...tagged(150));
    expect(wire.out.tags).toEqual(Array.from({ length: 150 }, (_, tag) => tag));
    expect([wire.path.waiting, wire.path.nextDeadline(), wire.engine.idle]).toEqual([0, Infinity, true]);
  });

  it('drops, duplicates, delays and reorders by rule', () => {
    const wire = new Wire({
      rules: [
        any({ do: 'drop' }, 2),
        any({ do: 'duplicate', copies: 2, delayNs: 10 }, 3),
        any({ do: 'delay', delayNs: 50 }, 4),
        any({ do: 'reorder', behind: 2 }, 5),
      ],
    });
    wire.enter(100, ...tagged(9));
    expect(wire.out.tags).toEqual([0, 2, 5, 6, 4, 7, 8]);
    expect(wire.path.nextDeadline()).toBe(110);
    wire.flush(120);
    expect(wire.out.tags.slice(7)).toEqual([2, 2]);
    wire.flush(149);
    expect(wire.out.tags.length).toBe(9);
    wire.flush(150);
    expect(wire.out.tags.slice(9)).toEqual([3]);
    expect(wire.path.counters).toMatchObject({
      frames: 9,
      forwarded: 10,
      dropped: 1,
      duplicated: 1,
      delayed: 1,
      reordered: 1,
    });
  });

  it('holds a reordered frame no longer than it was told', () => {
    const wire = new Wire({ rules: [any({ do: 'reorder', behind: 5, delayNs: 1000 }, 1)] });
    wire.enter(0, ...tagged(2));
    expect([wire.out.tags, wire.path.nextDeadline()]).toEqual([[1], 1000]);
    wire.flush(1000);
    expect(wire.out.tags).toEqual([1, 0]);
  });

  it('hands over everything without waiting, when told to', () => {
    const wire = new Wire({ rules: [any({ do: 'delay', delayNs: 1e12 }, 1), any({ do: 'reorder' }, 3)] });
    wire.enter(0, ...tagged(3));
    expect(wire.flush(5, Infinity)).toBe(true);
    expect(wire.out.tags.toSorted()).toEqual([0, 1, 2]);
    expect(wire.path.waiting).toBe(0);
  });

  it('waits for a far end that says stop, keeps the order, and drops what it has no room for', () => {
    const wire = new Wire({ capacity: 10 });
    wire.credit = 3;
    wire.enter(0, ...tagged(8));
    wire.enter(0, ...tagged(4, 8));
    expect([wire.path.blocked, wire.path.room, wire.path.nextDeadline()]).toEqual([true, 0, Infinity]);
    expect(wire.path.counters).toMatchObject({ overflow: 2, dropped: 2, forwarded: 3 });
    wire.credit = Infinity;
    expect(wire.flush(1)).toBe(true);
    expect(wire.out.tags).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('drops what is longer than the far end carries', () => {
    const wire = new Wire({ maxFrameBytes: 100 });
    wire.enter(0, otherFrame(1, 2, 1, 101), otherFrame(1, 2, 2, 100));
    expect(wire.out.tags).toEqual([2]);
    expect(wire.path.counters).toMatchObject({ oversize: 1, dropped: 1 });
  });

  it('sends at the rate, marks by what waits behind a frame as it leaves, and drops at its tail', () => {
    const ecn = { kminBytes: 500, kmaxBytes: 1000, pmax: 1 };
    // 8e9 bits a second: a byte a nanosecond.
    const wire = new Wire({ faults: { aToB: { rateBps: 8e9, queueBytes: 1500, ecn } } });
    const frames = Array.from({ length: 20 }, (_, psn) => write(psn, 2));
    const { length } = frames[0] ?? [];
    wire.enter(0, ...frames);
    expect(wire.path.nextDeadline()).toBe(length);
    wire.drain();
    const passed = Math.ceil(1500 / length);
    expect(wire.out.frames.length).toBe(passed);
    expect(wire.path.counters).toMatchObject({ overflow: 20 - passed, dropped: 20 - passed });
    const ecnBits = wire.out.frames.map((bytes) => parse(bytes).frame.trafficClass & 3);
    const behind = Array.from(ecnBits, (_, i) => (passed - 1 - i) * length);
    for (const [i, bits] of ecnBits.entries()) {
      if ((behind[i] ?? 0) > 1000) expect(bits).toBe(3);
      if ((behind[i] ?? 0) <= 500) expect(bits).toBe(2);
    }
    expect([ecnBits[0], ecnBits.at(-1)]).toEqual([3, 2]);
    expect(wire.path.counters).toMatchObject({
      marked: ecnBits.filter((bits) => bits === 3).length,
      peakQueueBytes: passed * length,
    });
  });

  it('leaves alone in its queue what is not ECN-capable, and does not count what is marked already', () => {
    const ecn = { kminBytes: 0, kmaxBytes: 0, pmax: 1 };
    const wire = new Wire({ faults: { aToB: { rateBps: 8e9, ecn } }, rules: [{ on: { nth: 4 }, do: 'mark-ce' }] });
    wire.enter(0, write(1, 0), write(2, 1), write(3, 3), write(4, 2), write(5, 2));
    wire.drain();
    expect(wire.out.frames.map((bytes) => parse(bytes).frame.trafficClass & 3)).toEqual([0, 3, 3, 3, 2]);
    expect(wire.path.counters.marked).toBe(2);
  });

  it('marks a damaged packet without making it whole, and every copy of one that comes twice', () => {
    const ecn = { kminBytes: 0, kmaxBytes: 0, pmax: 1 };
    const rules: WireRule[] = [any({ do: 'corrupt' }, 1), any({ do: 'duplicate', delayNs: 500 }, 2)];
    const wire = new Wire({ faults: { aToB: { rateBps: 8e9, ecn } }, rules });
    wire.enter(0, write(1, 2), write(2, 2), write(3, 2));
    wire.drain();
    const seen = wire.out.frames.map((bytes) => parse(bytes));
    expect(seen.map(({ frame }) => [frame.psn, frame.trafficClass & 3])).toEqual([
      [1, 3],
      [2, 3],
      [3, 2],
      [2, 3],
    ]);
    expect(seen.map(({ icrcOk }) => icrcOk)).toEqual([false, true, true, true]);
    expect(wire.path.counters.marked).toBe(2);
  });

  it('tells its observer of a mark before the frame leaves, and how much waited', () => {
    const lines: string[] = [];
    const wire = new Wire({
      faults: { aToB: { rateBps: 8e9, ecn: { kminBytes: 0, kmaxBytes: 0, pmax: 1 } } },
      observer: {
        entered: (_now, _path, serial) => lines.push(`in ${serial}`),
        left: (_now, _path, serial) => lines.push(`out ${serial}`),
        marked: (_now, _path, serial, behindBytes) => lines.push(`marked ${serial}: ${behindBytes / write(1).length}`),
      },
    });
    wire.enter(0, write(1, 2), write(2, 2), write(3, 2));
    wire.drain();
    expect(lines).toEqual(['in 1', 'in 2', 'in 3', 'marked 1: 2', 'out 1', 'marked 2: 1', 'out 2', 'out 3']);
  });

  it('bounds the queue for a rate even when nobody says how long it is', () => {
    const wire = new Wire({ faults: { aToB: { rateBps: 1000 } } });
    for (let batch = 0; batch < 10; batch++) wire.enter(0, ...tagged(500));
    expect(wire.path.waiting).toBe(0x4_00_00 / 64);
  });
});

describe('what is done to the bytes', () => {
  it('a corrupted packet fails its ICRC, and passes it when that is repaired', () => {
    const rules = (fixIcrc: boolean): WireRule[] => [{ on: { opcode: 'write' }, do: 'corrupt', bit: 12 * 8, fixIcrc }];
    for (const fixIcrc of [false, true]) {
      const wire = new Wire({ rules: rules(fixIcrc) });
      wire.enter(0, write(1));
      const seen = parse(wire.out.frames[0] ?? new Uint8Array(0));
      expect([seen.icrcOk, seen.frame.bytes[seen.frame.payloadOffset]]).toEqual([fixIcrc, 0x80]);
    }
  });

  it('a bit drawn by seed is one that the ICRC covers, and neither in the opcode nor in the pad count', () => {
    const wire = new Wire({ rules: [{ on: {}, do: 'corrupt' }] });
    for (let psn = 0; psn < 300; psn++) wire.enter(0, write(psn), acknowledge(A_TO_B, 9, psn));
    for (const bytes of wire.out.frames) {
      const { frame, status, icrcOk } = parse(bytes);
      expect([status, icrcOk]).toEqual([0, false]);
      expect([Op.WriteMiddle, Op.Acknowledge]).toContain(frame.opcode);
    }
  });

  it('a bit beyond the frame is impossible, and the frame passes', () => {
    const wire = new Wire({ rules: [{ on: {}, do: 'corrupt', bit: 100_000 }] });
    wire.enter(0, write(1));
    expect(parse(wire.out.frames[0] ?? new Uint8Array(0)).icrcOk).toBe(true);
    expect(wire.engine.rules[0]).toMatchObject({ matches: 1, applied: 0, impossible: 1 });
    expect(wire.path.counters.corrupted).toBe(0);
  });

  it('a frame that is not RoCE is damaged behind its Ethernet header', () => {
    const wire = new Wire({ rules: [any({ do: 'corrupt', bit: 0 }, 1)] });
    wire.enter(0, otherFrame(1, 2, 5));
    expect(tagOf(wire.out.frames[0] ?? new Uint8Array(0))).toBe(0x80_00_00_05);
  });

  it('a mark is for ECN-capable packets, and the header checksum stays right', () => {
    const wire = new Wire({ rules: [{ on: {}, do: 'mark-ce' }] });
    wire.enter(0, write(1, 1), write(2, 0));
    const [marked, plain] = wire.out.frames.map((bytes) => parse(bytes));
    expect([marked?.frame.trafficClass, plain?.frame.trafficClass]).toEqual([3, 0]);
    expect([marked?.icrcOk, plain?.icrcOk]).toEqual([true, true]);
    expect(wire.engine.rules[0]).toMatchObject({ applied: 1, impossible: 1 });
  });

  const REWRITES = [
    ['ip.ecn', 3],
    ['ip.dscp', 46],
    ['ip.ttl', 1],
    ['bth.opcode', Op.WriteLast],
    ['bth.solicited', 1],
    ['bth.migReq', 1],
    ['bth.padCount', 3],
    ['bth.pkey', 0x1234],
    ['bth.fecn', 1],
    ['bth.becn', 1],
    ['bth.destQpn', 0xab_cd_ef],
    ['bth.ackReq', 1],
    ['bth.psn', 0xff_ff_ff],
  ] as const;

  it.each([4, 6] as const)('a rewritten field is there, and every checksum is right, over IPv%i', (ipVersion) => {
    for (const [name, value] of REWRITES) {
      const wire = new Wire({ rules: [{ on: {}, do: 'rewrite', set: { [name]: value } }] });
      wire.enter(0, packet({ direction: A_TO_B, opcode: Op.WriteMiddle, qpn: 2, psn: 3, payloadBytes: 32, ipVersion }));
      const { frame, status, icrcOk } = parse(wire.out.frames[0] ?? new Uint8Array(0));
      expect([name, status, icrcOk]).toEqual([name, 0, true]);
      const [header, field] = name.split('.');
      const read = new Map(Object.entries({ ...frame, ...ipFields(frame) }));
      expect([header, read.get(field ?? '')]).toEqual([header, value]);
      if (ipVersion === 4) expect(ipv4ChecksumMatches(frame.view, frame.ipOffset)).toBe(true);
    }
  });

  it('fields of extended headers are rewritten where they are, and impossible where not', () => {
    const set = { 'aeth.syndrome': 0x63, 'aeth.msn': 7 };
    const wire = new Wire({ rules: [{ on: {}, do: 'rewrite', set }] });
    wire.enter(0, acknowledge(A_TO_B, 1, 2), write(3));
    const { frame, icrcOk } = parse(wire.out.frames[0] ?? new Uint8Array(0));
    expect([frame.view.getUint32(frame.bthOffset + 12), icrcOk]).toEqual([0x63_00_00_07, true]);
    expect(wire.engine.rules[0]).toMatchObject({ applied: 1, impossible: 1 });
  });

  it('an address of 64 bits and an offset to the PSN are rewritten too, and the ICRC stays wrong on demand', () => {
    const set = { 'reth.va': 0x1_2345_6789_abcd, 'reth.rkey': 0xffff_ffff, 'reth.length': 9, 'bth.psnOffset': -4 };
    const wire = new Wire({ rules: [{ on: {}, do: 'rewrite', set, fixIcrc: false }] });
    wire.enter(0, packet({ direction: A_TO_B, opcode: Op.ReadRequest, qpn: 1, psn: 2 }));
    const { frame, icrcOk } = parse(wire.out.frames[0] ?? new Uint8Array(0));
    const reth = frame.bthOffset + 12;
    expect([frame.view.getBigUint64(reth), frame.view.getUint32(reth + 8)]).toEqual([0x1_2345_6789_abcdn, 0xffff_ffff]);
    expect([frame.psn, frame.view.getUint32(reth + 12), icrcOk]).toEqual([0xff_ff_fe, 9, false]);
  });

  it('a UDP checksum that is there is made right', () => {
    const bytes = packet({ direction: A_TO_B, opcode: Op.WriteMiddle, qpn: 2, psn: 3, payloadBytes: 32, ipVersion: 6 });
    new DataView(bytes.buffer).setUint16(14 + 40 + 6, 0x1234);
    const wire = new Wire({ rules: [{ on: {}, do: 'rewrite', set: { 'bth.psn': 9 } }] });
    wire.enter(0, bytes);
    const out = wire.out.frames[0] ?? new Uint8Array(0);
    // Pseudo-header and all of UDP sum to ones; by hand, not with the code under test.
    let sum = 17 + (out.length - 54);
    for (let at = 14 + 8; at < out.length; at += 2) sum += ((out[at] ?? 0) << 8) | (out[at + 1] ?? 0);
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
    expect(sum).toBe(0xffff);
  });

  it('several rules act on one frame together, and a drop wins over all', () => {
    const wire = new Wire({
      rules: [
        { name: 'one', on: { nth: 1 }, do: 'duplicate' },
        { name: 'two', on: { nth: 1 }, do: 'rewrite', set: { 'bth.psn': 77 } },
        { name: 'three', on: { opcode: 'write', nth: 2 }, do: 'corrupt' },
        { name: 'four', on: { opcode: 'write', nth: 2 }, do: 'drop' },
      ],
    });
    wire.enter(0, write(1));
    expect(wire.engine.verdict.describe()).toBe('duplicated (1 more) by "one", rewritten (bth.psn = 77) by "two"');
    wire.enter(0, write(2));
    expect(wire.engine.verdict.describe()).toBe('dropped by "four"');
    expect(wire.out.frames.map((bytes) => parse(bytes).frame.psn)).toEqual([77, 77]);
    expect(wire.engine.rules.map(({ applied }) => applied)).toEqual([1, 1, 0, 1]);
  });
});

function ipFields({ trafficClass, hopLimit }: Frame) {
  return { ecn: trafficClass & 3, dscp: trafficClass >>> 2, ttl: hopLimit };
}

/** Everything that a run with these faults does, as text. */
function trace(seed: number, rules: readonly WireRule[], faults: WireFaults): string {
  const lines: string[] = [];
  const wire = new Wire({
    seed,
    rules,
    faults,
    observer: {
      entered: (now, path, serial) => lines.push(`${now} in ${serial} ${path.engine.verdict.describe()}`),
      left: (now, _path, serial, bytes, start, end) =>
        lines.push(`${now} out ${serial} ${Buffer.from(bytes.subarray(start, end)).toString('hex')}`),
    },
  });
  for (let psn = 0; psn < 60; psn++) wire.enter(psn * 100, write(psn, 2));
  wire.drain();
  return lines.join('\n');
}

const share = fc.constantFrom(0, 0.05, 0.3, 1);
const RAMP = { kminBytes: 200, kmaxBytes: 2000, pmax: 0.5 };
const anyFaults: fc.Arbitrary<WireFaults> = fc
  .record({
    loss: share,
    duplicate: share,
    reorder: share,
    corrupt: share,
    ceMark: share,
    delayNs: fc.nat(500),
    jitterNs: fc.nat(500),
    duplicateDelayNs: fc.nat(300),
    queue: fc.constantFrom(
      {},
      { rateBps: 8e9 },
      { rateBps: 4e9, queueBytes: 3000, ecn: RAMP },
      { rateBps: 2e10, ecn: RAMP },
    ),
  })
  .map(({ queue, ...chances }) => ({ aToB: { ...chances, ...queue } }));
const anyRule: fc.Arbitrary<WireRule> = fc.oneof(
  fc.record({ on: fc.record({ probability: share }), do: fc.constantFrom('drop', 'corrupt', 'mark-ce', 'duplicate') }),
  fc.record({
    on: fc.record({ every: fc.integer({ min: 1, max: 5 }) }),
    do: fc.constant('delay'),
    delayNs: fc.nat(900),
  }),
  fc.record({ on: fc.record({ psn: fc.nat(60) }), do: fc.constant('reorder'), behind: fc.integer({ min: 1, max: 9 }) }),
);

describe('properties', () => {
  it('the same seed gives the same decisions, bytes and times', () => {
    fc.assert(
      fc.property(fc.nat(), fc.array(anyRule, { maxLength: 4 }), anyFaults, (seed, rules, faults) => {
        expect(trace(seed, rules, faults)).toBe(trace(seed, rules, faults));
      }),
      { numRuns: 50 },
    );
    const faults = { aToB: { loss: 0.5 } };
    expect(trace(1, [], faults)).not.toBe(trace(2, [], faults));
  });

  it('every frame leaves once, and once more for each copy, unless it was dropped', () => {
    fc.assert(
      fc.property(fc.nat(), fc.array(anyRule, { maxLength: 4 }), anyFaults, (seed, rules, faults) => {
        const due = new Map<number, number>();
        const wire = new Wire({
          seed,
          rules,
          faults,
          observer: {
            entered: (_now, { engine: { verdict } }, serial) =>
              due.set(serial, (verdict.did & FrameAction.Dropped) === 0 ? 1 + verdict.copies : 0),
            left: (_now, _path, serial) => due.set(serial, (due.get(serial) ?? 0) - 1),
          },
        });
        for (let psn = 0; psn < 80; psn++) wire.enter(psn * 50, write(psn, 1));
        wire.drain();
        expect(wire.path.waiting).toBe(0);
        expect(new Set(due.values())).toEqual(new Set([0]));
        const { frames, dropped, duplicated } = wire.path.counters;
        expect([frames, due.size]).toEqual([80, 80]);
        expect(wire.path.counters.forwarded).toBeGreaterThanOrEqual(frames - dropped + duplicated);
      }),
      { numRuns: 100 },
    );
  });

  it('takes any bytes for a frame', () => {
    const wire = new Wire({
      rules: [
        any({ do: 'corrupt' }),
        any({ do: 'mark-ce' }),
        any({ do: 'rewrite', set: { 'bth.psn': 1, 'ip.ttl': 3 } }),
      ],
      faults: { aToB: { corrupt: 0.5, ceMark: 0.5 } },
    });
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), fc.boolean(), (bytes, ipv4) => {
        if (ipv4 && bytes.length > 14) bytes.set([8, 0], 12);
        wire.enter(0, bytes);
        expect(wire.out.frames.at(-1)?.length).toBe(bytes.length);
        wire.out.batches.length = 0;
      }),
      { numRuns: 1000 },
    );
  });
});
