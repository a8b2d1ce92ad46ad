/**
 * Goal: a path carries out exactly what was decided, in order, within its bounds, and marks by what waits in it.
 * Method: made frames through an engine and a path, with time as a number.
 */
import { describe, expect, it } from 'vitest';
import type { WireRule } from '../../src/faults/rule.ts';
import { frame as otherFrame } from '../sim/support.ts';
import { any, tagged, Wire, write } from './made-wire.ts';
import { parse } from './support.ts';

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
