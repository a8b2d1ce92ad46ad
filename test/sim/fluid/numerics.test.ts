/**
 * Goal: the tools under the model are right by themselves: halving, polynomials, the delay line. Method: zeros that
 * were put there, complex arithmetic, a plain list of all past states.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bisect } from '../../../src/sim/fluid/bisect.ts';
import { History } from '../../../src/sim/fluid/history.ts';
import { angleAt, product, signChanges, squaredMagnitude, sum, valueAt } from '../../../src/sim/fluid/polynomial.ts';
import { fcRuns } from '../../transport/support/peer.ts';
import { relativeError, spread } from './support.ts';

describe('bisect', () => {
  it('finds a zero to the last bit, whatever the size of the interval', () => {
    expect(bisect((x) => x * x - 2, 0, 2)).toBe(Math.SQRT2);
    expect(bisect((x) => x - 1e-300, -1e300, 1e300)).toBe(1e-300);
  });

  it('takes infinities for signs, and a zero at an end', () => {
    expect(bisect((x) => Math.log(x) - Math.log(3), 0, 1e300)).toBeCloseTo(3, 12);
    expect(bisect((x) => x - 1, 1, 2)).toBeCloseTo(1, 15);
    expect(bisect((x) => x - 2, 1, 2)).toBe(2);
  });

  it('refuses an interval that need not hold a zero', () => {
    expect(() => bisect((x) => x, 1, 2)).toThrow('enclose a zero');
  });
});

describe('polynomials', () => {
  it('add and multiply coefficient by coefficient', () => {
    expect(sum([1, 2], [3], [0, 0, 5])).toEqual([4, 2, 5]);
    expect(product([1, 1], [1, -1], [2])).toEqual([2, 0, -2]);
    expect(valueAt([1, 2, 3], 10)).toBe(321);
  });

  it('change their sign exactly at the zeros they are made of', () => {
    const zeros = fc.uniqueArray(spread(1e-3, 1e6), { minLength: 1, maxLength: 4, comparator: tooClose });
    fc.assert(
      fc.property(zeros, fc.array(spread(1e-3, 1e3), { maxLength: 2 }), (positive, negative) => {
        const factors = [...positive.map((zero) => [-zero, 1]), ...negative.map((zero) => [zero, 1])];
        const found = signChanges(product(...factors));
        expect(found.length).toBe(positive.length);
        const expected = positive.toSorted((left, right) => left - right);
        found.forEach((zero, index) => {
          expect(relativeError(zero, expected[index] ?? 0)).toBeLessThan(1e-6);
        });
      }),
      { numRuns: fcRuns(200) },
    );
  });

  it('do not change their sign where they touch zero, where they are constant or where all zeros are negative', () => {
    expect(signChanges(product([-2, 1], [-2, 1]))).toEqual([]);
    expect(signChanges([5])).toEqual([]);
    expect(signChanges([])).toEqual([]);
    expect(signChanges([6, 5, 1])).toEqual([]);
    expect(signChanges([-4, 2, 0, 0])).toEqual([2]);
  });

  it('have on the imaginary axis the magnitude and angle that complex arithmetic gives', () => {
    const coefficients = fc.array(fc.double({ min: -10, max: 10, noNaN: true }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(coefficients, fc.double({ min: 0.01, max: 10, noNaN: true }), (polynomial, w) => {
        let [re, im] = [0, 0];
        for (const coefficient of polynomial.toReversed()) [re, im] = [-im * w + coefficient, re * w];
        const scale = 1e-9 * (1 + 10 * w) ** 12;
        expect(Math.abs(valueAt(squaredMagnitude(polynomial), w * w) - (re * re + im * im))).toBeLessThan(scale);
        const size = Math.hypot(re, im);
        fc.pre(size > 1e-3);
        const angle = angleAt(polynomial, w);
        expect(Math.abs(size * Math.cos(angle) - re)).toBeLessThan(scale);
        expect(Math.abs(size * Math.sin(angle) - im)).toBeLessThan(scale);
      }),
      { numRuns: fcRuns(200) },
    );
  });
});

describe('history', () => {
  it('gives what a list of all states gives, straight between two of them and constant before the first', () => {
    const states = fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(states, fc.double({ min: 0, max: 12, noNaN: true }), ([first = 0, ...later], delay) => {
        const history = new History(delay, Float64Array.of(first, 1));
        const all = [first];
        const past = new Float64Array(2);
        for (const value of later) {
          history.record(Float64Array.of(value, 1));
          all.push(value);
          history.read(past);
          const at = all.length - 1 - delay;
          const before = all[Math.max(0, Math.floor(at))] ?? 0;
          const after = all[Math.max(0, Math.ceil(at))] ?? 0;
          expect(past[0]).toBeCloseTo(before + (at - Math.floor(at)) * (after - before), 6);
          expect(past[1]).toBe(1);
        }
      }),
      { numRuns: fcRuns(200) },
    );
  });
});

/** Zeros of nearly the same size cannot be told apart in a polynomial of rounded coefficients. */
function tooClose(left: number, right: number): boolean {
  return Math.abs(Math.log(left / right)) < 0.5;
}
