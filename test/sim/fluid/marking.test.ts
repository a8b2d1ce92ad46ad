/**
 * Goal: the terms of ref:dcqcn#5.1 are right, also where p is tiny or 1. Method: limits known in closed form, series
 * for tiny p, the formulas as they are printed for ordinary p.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  additiveIncreasesPerPacket,
  increasesPerPacket,
  inPackets,
  markedWithin,
  markingExponent,
  markingProbability,
  markingTerms,
  PAPER_FLUID,
  redProbability,
} from '../../../src/sim/fluid/index.ts';
import { fcRuns } from '../../transport/support/peer.ts';
import { relativeError, spread } from './support.ts';

const UNITS = inPackets(PAPER_FLUID);

describe('RED', () => {
  it('marks nothing up to Kmin, Pmax at Kmax, everything beyond, and half of Pmax in the middle', () => {
    expect(redProbability(0, UNITS)).toBe(0);
    expect(redProbability(UNITS.kmin, UNITS)).toBe(0);
    expect(redProbability((UNITS.kmin + UNITS.kmax) / 2, UNITS)).toBeCloseTo(0.005, 15);
    expect(redProbability(UNITS.kmax, UNITS)).toBe(0.01);
    expect(redProbability(UNITS.kmax + 1e-9, UNITS)).toBe(1);
  });
});

describe('marking terms', () => {
  it('are those of the printed formulas for ordinary p', () => {
    const ordinary = fc.record({ p: spread(1e-3, 0.3), rate: spread(1e5, 5e6) });
    fc.assert(
      fc.property(ordinary, ({ p, rate }) => {
        const { a, b, c, d, e, alpha } = markingTerms(markingExponent(p), rate, UNITS);
        const { byteCounter: B, timer: T, stages: F, cnpTimer, alphaTimer } = UNITS;
        expect(relativeError(a, 1 - (1 - p) ** (cnpTimer * rate))).toBeLessThan(1e-9);
        expect(relativeError(alpha, 1 - (1 - p) ** (alphaTimer * rate))).toBeLessThan(1e-9);
        const printedB = p / ((1 - p) ** -B - 1);
        const printedD = p / ((1 - p) ** (-T * rate) - 1);
        expect(b).toBeCloseTo(printedB, 12);
        expect(relativeError(d, printedD)).toBeLessThan(1e-9);
        expect(c).toBeCloseTo((1 - p) ** (F * B) * printedB, 12);
        expect(relativeError(e, (1 - p) ** (F * T * rate) * printedD)).toBeLessThan(1e-8);
      }),
      { numRuns: fcRuns(200) },
    );
  });

  it('keep their precision for p = 1e-14, where 1 - p is one of the last doubles before 1', () => {
    const p = 1e-14;
    const x = markingExponent(p);
    expect(relativeError(x, p)).toBeLessThan(1e-13);
    // 1 - (1-p)^n = n p (1 - (n-1) p / 2 + ...), p / ((1-p)^-n - 1) = (1 - (n+1) p / 2 + ...) / n
    expect(relativeError(markedWithin(x, 137.5), 137.5 * p)).toBeLessThan(1e-11);
    expect(relativeError(increasesPerPacket(x, 137.5), 1 / 137.5)).toBeLessThan(1e-11);
    expect(relativeError(additiveIncreasesPerPacket(x, 137.5, 5), 1 / 137.5)).toBeLessThan(1e-10);
  });

  it('without marks have neither CNPs nor alpha, and an increase for every timer and byte counter', () => {
    const { a, b, c, d, e, alpha } = markingTerms(0, 1e6, UNITS);
    expect([a, alpha]).toEqual([0, 0]);
    expect([b, c]).toEqual([1e-4, 1e-4]);
    expect(d).toBeCloseTo(1 / 55, 15);
    expect(e).toBe(d);
  });

  it('with every packet marked have a CNP in every interval and no increase', () => {
    const x = markingExponent(1);
    expect(x).toBe(Infinity);
    expect(markingTerms(x, 1e6, UNITS)).toEqual({ a: 1, b: 0, c: 0, d: 0, e: 0, alpha: 1 });
  });

  it('have no increases by a byte counter that there is not', () => {
    const units = { ...UNITS, byteCounter: Infinity };
    for (const p of [0, 1e-9, 0.5, 1])
      expect(markingTerms(markingExponent(p), 1e6, units)).toMatchObject({ b: 0, c: 0 });
  });

  it('move one way each as p grows', () => {
    const pair = fc.tuple(spread(1e-9, 0.5), fc.double({ min: 1.01, max: 1.9, noNaN: true }), spread(1e3, 5e7));
    fc.assert(
      fc.property(pair, ([p, factor, rate]) => {
        const less = markingTerms(markingExponent(p), rate, UNITS);
        const more = markingTerms(markingExponent(p * factor), rate, UNITS);
        expect(more.a).toBeGreaterThanOrEqual(less.a);
        expect(more.alpha).toBeGreaterThanOrEqual(less.alpha);
        for (const name of ['b', 'c', 'd', 'e'] as const) expect(more[name]).toBeLessThanOrEqual(less[name]);
      }),
      { numRuns: fcRuns(200) },
    );
  });

  it('exponent and probability are inverse to each other', () => {
    fc.assert(
      fc.property(spread(1e-300, 0.99), (p) => {
        expect(relativeError(markingProbability(markingExponent(p)), p)).toBeLessThan(1e-14);
      }),
      { numRuns: fcRuns(200) },
    );
  });
});
