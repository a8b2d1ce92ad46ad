/**
 * Goal: gate C3 of ref:dcqcn#8, the phase margin within 0.1 degree of the published values. Method: every cell of
 * ref:dcqcn#5.4, also against the value this formula is known to give; H(s) computed once more with complex numbers at
 * each crossing that is found.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  approximateMarking,
  type FluidParameters,
  gainCrossings,
  inPackets,
  phaseMargin,
} from '../../../src/sim/fluid/index.ts';
import { fcRuns } from '../../transport/support/peer.ts';
import { paperWith, sensibleParameters } from './support.ts';

const COLUMNS: readonly (readonly [string, Partial<FluidParameters>])[] = [
  ['no delay', { feedbackDelayNs: 0 }],
  ['1 us', { feedbackDelayNs: 1000 }],
  ['50 us', { feedbackDelayNs: 50_000 }],
  ['100 us', { feedbackDelayNs: 100_000 }],
  ['100 us, R_AI 10M', { feedbackDelayNs: 100_000, aiRateBps: 10e6 }],
  ['100 us, 100G', { feedbackDelayNs: 100_000, capacityBps: 100e9 }],
];

/** N; then published value and this formula's for each column: ref:dcqcn#5.4. */
const TABLE: readonly (readonly [number, ...(readonly [number, number])[]])[] = [
  [2, [26.624, 26.59], [26.257, 26.22], [8.2626, 8.24], [-10.099, -10.12], [19.902, 19.9], [-57.292, -57.29]],
  [4, [13.407, 13.4], [13.124, 13.12], [-0.752, -0.76], [-14.912, -14.91], [24.618, 24.62], [-40.707, -40.71]],
  [10, [4.7564, 4.71], [4.5296, 4.48], [-6.5844, -6.62], [-17.925, -17.96], [4.246, 4.24], [-32.642, -32.65]],
  [20, [9.6336, 9.62], [9.4219, 9.41], [-0.951, -0.96], [-11.536, -11.54], [-2.498, -2.5], [-33.594, -33.6]],
  [50, [35.126, 35.12], [34.874, 34.87], [22.546, 22.54], [9.965, 9.96], [5.287, 5.29], [-30.048, -30.05]],
  [100, [56.48, 56.48], [56.147, 56.15], [39.811, 39.81], [23.142, 23.14], [20.181, 20.18], [-18.34, -18.34]],
];

/** Ten flows: what differs, and the published value: ref:dcqcn#5.4. */
const OTHERS: readonly (readonly [string, Partial<FluidParameters>, number])[] = [
  ['10 us', { feedbackDelayNs: 10_000 }, 2.488],
  ['25 us', { feedbackDelayNs: 25_000 }, -0.914],
  ['R_AI 10M', { feedbackDelayNs: 0, aiRateBps: 10e6 }, 20.979],
  ['R_AI 10M, 50 us', { feedbackDelayNs: 50_000, aiRateBps: 10e6 }, 12.613],
  ['R_AI 10M, Kmax 1000', { feedbackDelayNs: 0, aiRateBps: 10e6, kmaxBytes: 1e6 }, 63.6],
  ['R_AI 10M, Kmax 1000, 50 us', { feedbackDelayNs: 50_000, aiRateBps: 10e6, kmaxBytes: 1e6 }, 53.724],
  ['R_AI 10M, Kmax 1000, 100 us', { feedbackDelayNs: 100_000, aiRateBps: 10e6, kmaxBytes: 1e6 }, 43.849],
  ['100G', { feedbackDelayNs: 0, capacityBps: 100e9 }, 12.363],
  ['100G, 50 us', { feedbackDelayNs: 50_000, capacityBps: 100e9 }, -10.139],
];

describe('phase margin', () => {
  for (const [flows, ...cells] of TABLE)
    cells.forEach(([published, known], index) => {
      const [title = '', changed = {}] = COLUMNS[index] ?? [];
      it(`of ${flows} flows, ${title}, is the published one`, () => {
        const margin = phaseMargin(paperWith({ ...changed, flows }));
        expect(Math.abs(margin - published)).toBeLessThan(0.1);
        expect(Math.abs(margin - known)).toBeLessThan(0.01);
      });
    });

  for (const [title, changed, published] of OTHERS)
    it(`of 10 flows, ${title}, is the published one`, () => {
      expect(Math.abs(phaseMargin(paperWith({ ...changed, flows: 10 })) - published)).toBeLessThan(0.1);
    });

  it('falls by the same angle with each microsecond of delay, also when that is more than a turn', () => {
    const [crossing] = gainCrossings(paperWith({ feedbackDelayNs: 0 }));
    const perMicrosecond = ((crossing?.radiansPerSecond ?? 0) * 1e-6 * 180) / Math.PI;
    for (const us of [1, 10, 100, 1000, 10_000])
      expect(phaseMargin(paperWith({ feedbackDelayNs: us * 1000 }))).toBeCloseTo(
        (crossing?.marginDegrees ?? 0) - us * perMicrosecond,
        6,
      );
  });

  it('is that of the smallest magnitude where the gain crosses 1 three times', () => {
    const parameters = paperWith(THREE_CROSSINGS);
    const margins = gainCrossings(parameters).map(({ marginDegrees }) => marginDegrees);
    expect(margins.map((margin) => Math.round(margin))).toEqual([-7, 9, 84]);
    expect(phaseMargin(parameters)).toBe(margins[0]);
  });

  it('belongs to a frequency at which H, as printed, has magnitude 1 and that phase', () => {
    fc.assert(
      fc.property(sensibleParameters(), (parameters) => {
        fc.pre(approximateMarking(parameters) < 0.9);
        const crossings = gainCrossings(parameters);
        expect(crossings.length % 2).toBe(1);
        for (const { radiansPerSecond, marginDegrees } of crossings) {
          const [re, im] = printedH(parameters, [0, radiansPerSecond]);
          expect(Math.abs(Math.hypot(re, im) - 1)).toBeLessThan(1e-6);
          const turns = (marginDegrees - 180 - (Math.atan2(im, re) * 180) / Math.PI) / 360;
          expect(Math.abs(turns - Math.round(turns))).toBeLessThan(1e-6);
        }
      }),
      { numRuns: fcRuns(200) },
    );
  });
});

/** Few bytes between Kmin and Kmax, slow alpha. */
const THREE_CROSSINGS: Partial<FluidParameters> = {
  capacityBps: 1.457e9,
  flows: 5,
  byteCounterBytes: 339_890,
  timerNs: 22_238,
  alphaTimerNs: 398_288,
  cnpTimerNs: 1085,
  fastRecoveryStages: 3,
  g: 0.00139,
  aiRateBps: 1.022e6,
  kminBytes: 1901,
  kmaxBytes: 22_907,
  pmax: 0.00197,
};

type Complex = readonly [re: number, im: number];
const plus = (...terms: readonly Complex[]): Complex => terms.reduce(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
const times = (...factors: readonly Complex[]): Complex =>
  factors.reduce(([a, b], [c, d]) => [a * c - b * d, a * d + b * c], [1, 0]);
const over = (left: Complex, [c, d]: Complex): Complex => times(left, [c / (c * c + d * d), -d / (c * c + d * d)]);

/** H(s) of ref:dcqcn#5.4, line by line. */
function printedH(parameters: FluidParameters, s: Complex): Complex {
  const units = inPackets(parameters);
  const {
    capacity: C,
    flows: N,
    byteCounter: B,
    timer: T,
    stages: F,
    g,
    cnpTimer: tau,
    alphaTimer,
    aiRate: AI,
  } = units;
  const p = approximateMarking(parameters);
  const R = C / N;
  const A = 1 / B + 1 / (T * R);
  const h = 1 / 2 + A / 4;
  const k = (N * units.pmax) / (units.kmax - units.kmin);
  const ln = Math.log1p(-p);
  const a = -Math.expm1(tau * R * ln);
  const c = (Math.exp(F * B * ln) * p) / Math.expm1(-B * ln);
  const e = (Math.exp(F * T * R * ln) * p) / Math.expm1(-T * R * ln);
  const alpha = -Math.expm1(alphaTimer * R * ln);
  const RT = R * (1 + ((c + e) * tau * AI) / a);
  const u = (A * R) / 2 - h * p * R;
  const v = (1 + 2 * F + A / 2) * AI;
  const X1 = (h * R * R - h * R * RT - (R * R * alpha) / 2) * k;
  const X2 = h * p * R - (A * R) / 2 - (p * R * alpha) / 2;
  const X3 = h * p * (R - RT) + (A * (RT - R)) / 2 - (p * R * alpha) / 2;
  const X4 = (-p * R * R * g * C * k) / 2;
  const Y1 = u * (p * R + A * AI);
  const Y2 = u * (p * R - p * RT + A * AI - v * p);
  const Y3 = u * (R * R - R * RT - v * R) * k;
  const L = plus(times([N, 0], s), [g * C, 0]);
  const M = plus(s, [p * R, 0]);
  const top = plus(
    times(L, M, plus([X1, 0], times(s, [X2, 0]))),
    times(M, [X4, 0]),
    times(L, s, [Y2, 0]),
    times(L, [Y3, 0]),
  );
  const bottom = times(s, L, plus(times(M, plus([X3, 0], times([-1, 0], s))), [Y1, 0]));
  const angle = -s[1] * units.delay;
  return times(over(top, bottom), [Math.cos(angle), Math.sin(angle)]);
}
