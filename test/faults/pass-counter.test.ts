/**
 * Goal: the count of passes is that of a plain map, for as long as its memory reaches. Method: random walks against a
 * map.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PassCounter } from '../../src/faults/pass-counter.ts';

/** Steps as a sender makes them: on, back by a few, far on. */
const walk = fc.array(fc.oneof({ weight: 6, arbitrary: fc.constant(1) }, fc.integer({ min: -12, max: 3 })), {
  maxLength: 200,
});

function countAll(start: number, steps: readonly number[]): { counted: number[]; expected: number[] } {
  const counter = new PassCounter();
  const map = new Map<number, number>();
  const counted: number[] = [];
  const expected: number[] = [];
  let at = start;
  for (const step of steps) {
    const count = (map.get(at) ?? 0) + 1;
    map.set(at, count);
    expected.push(count);
    counted.push(counter.pass(at));
    at += step;
  }
  return { counted, expected };
}

describe('PassCounter', () => {
  it('counts 1 for the first pass, 2 for the second, through a go-back and past it', () => {
    const counter = new PassCounter();
    const passes = [0, 1, 2, 3, 2, 3, 4, 2, 3, 4, 5].map((value) => counter.pass(value));
    expect(passes).toEqual([1, 1, 1, 1, 2, 2, 1, 3, 3, 2, 1]);
    expect(counter.next).toBe(6);
  });

  it('counts what was left out as not passed', () => {
    const counter = new PassCounter();
    expect([0, 1, 5, 3, 2, 3, 4, 5, -2, -1, -2].map((value) => counter.pass(value))).toEqual([
      1, 1, 1, 1, 1, 2, 1, 2, 1, 1, 2,
    ]);
  });

  it('counts as a map does', () => {
    fc.assert(
      fc.property(fc.integer({ min: -5, max: 5 }), walk, (start, steps) => {
        const { counted, expected } = countAll(start, steps);
        expect(counted).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  it('keeps its memory bounded, forgets what is furthest back first, and still counts right where it remembers', () => {
    const counter = new PassCounter();
    // Every other number: two runs each, far more than are kept.
    for (let value = 0; value < 100_000; value += 2) expect(counter.pass(value)).toBe(1);
    expect(counter.pass(99_998)).toBe(2);
    expect(counter.pass(99_997)).toBe(1);
    expect(counter.pass(2)).toBe(1);
  });

  it('counts as a map does among the newest, however often it has had to forget', () => {
    const counter = new PassCounter();
    for (let value = 0; value < 20_000; value += 2) {
      expect(counter.pass(value)).toBe(1);
      if (value % 1000 !== 998) continue;
      const newest = Array.from({ length: 50 }, (_, i) => value - i);
      const passes = (number: number) => (number % 2 === 0 ? 2 : 1);
      expect(newest.map((number) => counter.pass(number))).toEqual(newest.map(passes));
      expect(newest.map((number) => counter.pass(number))).toEqual(newest.map((number) => passes(number) + 1));
    }
  });

  it('remembers what is far back through any number of go-backs: they leave no run behind', () => {
    const counter = new PassCounter();
    for (let value = 0; value < 1000; value++) counter.pass(value);
    expect(counter.pass(5)).toBe(2);
    for (let round = 2; round < 1000; round++)
      for (let value = 980; value < 1000; value++) expect(counter.pass(value)).toBe(round);
    expect([5, 4, 979, 980].map((value) => counter.pass(value))).toEqual([3, 2, 2, 1000]);
  });

  it('counts a go-back over a million numbers without looking at each again', () => {
    const counter = new PassCounter();
    for (let value = 0; value < 1_000_000; value++) counter.pass(value);
    expect([500_000, 500_001, 499_999, 1_000_000].map((value) => counter.pass(value))).toEqual([2, 2, 2, 1]);
  });
});
