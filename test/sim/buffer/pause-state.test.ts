/**
 * Goal: a port is silent for as long as it was asked to, per priority, and knows how long that was in all.
 * Method: the times of ref:dcqcn#4 by hand, the life of a pause step by step, and random frames against a naive model
 * that walks through every nanosecond.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RoceError } from '../../../packets/errors.ts';
import { PauseState } from '../../../src/sim/buffer/index.ts';

/** A quantum of 512 bit times is 512 ns. */
const SLOW = 1e9;
const EIGHT = 8;

function only(priority: number, quanta: number): number[] {
  return Array.from({ length: EIGHT }, (_, index) => (index === priority ? quanta : 0));
}

describe('a quantum', () => {
  it.each([
    [100e9, 5.12, 335_539.2],
    [40e9, 12.8, 838_848],
  ])('at %d bit/s lasts %d ns, and 65535 of them are the longest pause', (rateBps, quantumNs, longestNs) => {
    const pauses = new PauseState(rateBps);
    expect(pauses.quantumNs).toBeCloseTo(quantumNs, 9);
    pauses.received(0, 0b1000, only(3, 0xff_ff));
    expect(pauses.resumeTime(3)).toBe(Math.ceil(longestNs));
  });

  it.each([0, -1, Number.NaN, Infinity])('does not exist at a rate of %d', (rateBps) => {
    expect(() => new PauseState(rateBps)).toThrow(RoceError);
  });
});

describe('a pause', () => {
  it('lasts its quanta and ends by itself', () => {
    const pauses = new PauseState(SLOW);
    expect([pauses.isPaused(0, 3), pauses.resumeTime(3), pauses.pausedNs(0, 3)]).toEqual([false, 0, 0]);
    pauses.received(100, 0b1000, only(3, 2));
    expect([99 + 1, 1123, 1124].map((now) => pauses.isPaused(now, 3))).toEqual([true, true, false]);
    expect(pauses.resumeTime(3)).toBe(1124);
    expect([100, 600, 1124, 5000].map((now) => pauses.pausedNs(now, 3))).toEqual([0, 500, 1024, 1024]);
  });

  it('is for the priorities in the enable vector, whatever stands beside them', () => {
    const pauses = new PauseState(SLOW);
    pauses.received(0, 0b1000_0001, [1, 9, 9, 9, 9, 9, 9, 2]);
    expect([0, 1, 2, 3, 4, 5, 6, 7].map((priority) => pauses.resumeTime(priority))).toEqual([
      512, 0, 0, 0, 0, 0, 0, 1024,
    ]);
  });

  it('ends at once with 0 quanta', () => {
    const pauses = new PauseState(SLOW);
    pauses.received(0, 0b1000, only(3, 100));
    pauses.received(700, 0b1000, only(3, 0));
    expect([pauses.isPaused(700, 3), pauses.resumeTime(3), pauses.pausedNs(9000, 3)]).toEqual([false, 700, 700]);
  });

  it('is renewed before it ends, to a later or an earlier end, and counts once', () => {
    const pauses = new PauseState(SLOW);
    pauses.received(0, 0b1000, only(3, 2));
    pauses.received(1000, 0b1000, only(3, 2));
    expect([pauses.resumeTime(3), pauses.pausedNs(1500, 3)]).toEqual([2024, 1500]);
    pauses.received(1500, 0b1000, only(3, 1));
    expect([pauses.resumeTime(3), pauses.pausedNs(9000, 3)]).toEqual([2012, 2012]);
  });

  it('after another one adds its time', () => {
    const pauses = new PauseState(SLOW);
    pauses.received(0, 0b1000, only(3, 1));
    pauses.received(10_000, 0b1000, only(3, 1));
    expect(pauses.pausedNs(10_100, 3)).toBe(612);
    expect(pauses.pausedNs(99_999, 3)).toBe(1024);
  });

  it('of part of a nanosecond is rounded up, so that nobody goes on too early', () => {
    const pauses = new PauseState(100e9);
    pauses.pause(0, 3, 1);
    expect(pauses.resumeTime(3)).toBe(6);
  });

  it('lasts as long as in a model that looks at every nanosecond', () => {
    const frames = fc.array(
      fc.record({
        afterNs: fc.nat({ max: 40 }),
        enableVector: fc.nat({ max: 3 }),
        quanta: fc.tuple(fc.nat({ max: 8 }), fc.nat({ max: 8 })),
      }),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(frames, (list) => {
        const pauses = new PauseState(100e9);
        const until = [0, 0];
        const paused = [0, 0];
        let now = 0;
        const walkTo = (time: number) => {
          for (; now < time; now++) {
            for (const priority of [0, 1])
              if (now < (until[priority] ?? 0)) paused[priority] = (paused[priority] ?? 0) + 1;
          }
        };
        for (const { afterNs, enableVector, quanta } of list) {
          walkTo(now + afterNs);
          pauses.received(now, enableVector, quanta);
          for (const priority of [0, 1] as const) {
            if ((enableVector & (1 << priority)) !== 0) until[priority] = now + Math.ceil(quanta[priority] * 5.12);
            expect(pauses.isPaused(now, priority)).toBe(now < (until[priority] ?? 0));
            expect(pauses.pausedNs(now, priority)).toBe(paused[priority]);
          }
        }
        walkTo(now + 1000);
        expect([pauses.pausedNs(now, 0), pauses.pausedNs(now, 1)]).toEqual(paused);
      }),
    );
  });
});
