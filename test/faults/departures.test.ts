/**
 * Goal: a queue marks by what waits behind a frame in the moment in which it leaves, however late it is asked.
 * Method: a queue of constant rate written down a second time as plainly as can be, with the whole of time at hand;
 * RED's figures of ref:dcqcn#5.6.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RateQueue } from '../../src/faults/departures.ts';
import { Prng } from '../../src/ground/prng.ts';

interface Arrival {
  readonly came: number;
  readonly bytes: number;
}

interface Departure {
  readonly leaves: number;
  readonly behind: number;
}

const ALL = { kminBytes: -1, kmaxBytes: -1, pmax: 1 };

/** A byte a nanosecond. */
function leavingTimes(arrivals: readonly Arrival[]): number[] {
  let free = 0;
  return arrivals.map(({ came, bytes }) => {
    const leaves = Math.max(free, came);
    free = leaves + bytes;
    return leaves;
  });
}

/** The oracle: who came no later than this frame left, and comes after it. */
function expected(arrivals: readonly Arrival[]): Departure[] {
  const leaving = leavingTimes(arrivals);
  return leaving.map((leaves, i) => ({
    leaves,
    behind: arrivals.slice(i + 1).reduce((sum, { came, bytes }) => sum + (came <= leaves ? bytes : 0), 0),
  }));
}

const arrivals = fc
  .array(fc.record({ gap: fc.integer({ min: 0, max: 300 }), bytes: fc.integer({ min: 1, max: 200 }) }), {
    maxLength: 200,
  })
  .map((list) => {
    let came = 0;
    return list.map(({ gap, bytes }): Arrival => {
      came += gap > 200 ? gap : 0;
      return { came, bytes };
    });
  });

describe('Departures', () => {
  it('finds behind each frame what an oracle finds, whenever it is asked', () => {
    fc.assert(
      fc.property(arrivals, fc.array(fc.nat(40), { minLength: 1, maxLength: 20 }), (list, lateness) => {
        const queue = new RateQueue(ALL, new Prng(1));
        const leaving = leavingTimes(list);
        const found: number[] = [];
        const ask = (until: number): void => {
          for (let name = queue.next(until); name >= 0; name = queue.next(until)) {
            expect(name).toBe(found.length);
            found.push(queue.behindBytes);
          }
        };
        list.forEach(({ came, bytes }, i) => {
          // Up to the arrival everything is known; it is asked about now and then only.
          if ((lateness[i % lateness.length] ?? 0) < 20) ask(came);
          queue.enter(came, leaving[i] ?? 0, bytes, i);
        });
        ask(Infinity);
        expect(found).toEqual(expected(list).map(({ behind }) => behind));
      }),
    );
  });

  it('is not what a frame finds in front of it: the first of a burst is marked and the last is not', () => {
    const queue = new RateQueue({ kminBytes: 300, kmaxBytes: 300, pmax: 1 }, new Prng(1));
    for (let i = 0; i < 10; i++) queue.enter(0, i * 100, 100, i);
    const marked = Array.from({ length: 10 }, () => queue.next(Infinity)).filter((name) => name >= 0);
    // Behind frame i are 9 - i; more than three of them makes a mark.
    expect(marked).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('does not answer for a departure that is not over, as somebody may still come in', () => {
    const queue = new RateQueue(ALL, new Prng(1));
    queue.enter(5, 5, 100, 7);
    expect(queue.next(5)).toBe(-1);
    queue.enter(5, 105, 50, 8);
    expect([queue.next(6), queue.behindBytes]).toEqual([7, 50]);
    expect(queue.next(105)).toBe(-1);
  });

  it('marks half a percent in the middle of a ramp to one percent: 500 of 100,000 within three sigma', () => {
    const queue = new RateQueue({ kminBytes: 5000, kmaxBytes: 200_000, pmax: 0.01 }, new Prng(42));
    const waiting = 102_500 / 1000;
    const packets = 100_000;
    // As many bytes wait behind each frame as the ramp's middle has: one comes whenever one leaves.
    let marked = 0;
    let farthest = 0;
    for (let i = 0; i < packets + waiting; i++) {
      const came = Math.max(0, i - waiting) * 1000;
      queue.enter(came, i * 1000, 1000, i);
      if (i < waiting) continue;
      if (queue.next(Math.floor(i - waiting) * 1000 + 1) >= 0) marked++;
      farthest = Math.max(farthest, Math.abs(queue.behindBytes - 102_500));
    }
    expect(farthest).toBeLessThanOrEqual(1000);
    expect(Math.abs(marked - 500)).toBeLessThanOrEqual(67);
  });
});
