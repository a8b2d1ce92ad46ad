/**
 * What the tests of the fluid model share: parameters near those of the paper, sensible random ones, and how much a
 * queue swings.
 */
import fc from 'fast-check';
import { type FluidParameters, PAPER_FLUID } from '../../../src/sim/fluid/index.ts';

/** The paper's parameters with these instead. */
export function paperWith(changed: Partial<FluidParameters>): FluidParameters {
  return { ...PAPER_FLUID, ...changed };
}

/**
 * The RED line of the paper, 5 KB to 200 KB at 1 %, drawn on to 1955 KB at 10 %. Same slope, so the same fixed point
 * and phase margin where the short line has one, and one for 64 flows too. ref:dcqcn#5.4 says of its margins what only
 * holds with a line as long as this.
 */
export const LONG_RED: Partial<FluidParameters> = { kmaxBytes: 1_955_000, pmax: 0.1 };

/** Networks somebody could build: a flow has 4 Mb/s or more, every timer a microsecond or more. */
export function sensibleParameters(): fc.Arbitrary<FluidParameters> {
  return fc
    .record({
      capacityBps: spread(1e9, 400e9),
      flows: fc.integer({ min: 1, max: 250 }),
      byteCounterBytes: spread(1e5, 1e8),
      timerNs: spread(5e3, 2e6),
      alphaTimerNs: spread(1e3, 2e6),
      cnpTimerNs: spread(1e3, 1e5),
      fastRecoveryStages: fc.integer({ min: 1, max: 10 }),
      g: spread(1 / 1024, 1 / 8),
      aiRateBps: spread(1e6, 4e8),
      kminBytes: spread(1e3, 1e6),
      aboveKmin: spread(1.1, 100),
      pmax: spread(1e-3, 1),
      feedbackDelayNs: spread(1, 2e5),
    })
    .map(({ aboveKmin, ...rest }) => ({ ...rest, packetBits: 8000, kmaxBytes: rest.kminBytes * aboveKmin }));
}

/** Between `low` and `high`, every power of ten as likely as the next. */
export function spread(low: number, high: number): fc.Arbitrary<number> {
  return fc.double({ min: Math.log(low), max: Math.log(high), noNaN: true }).map(Math.exp);
}

/** |value / expected - 1|. */
export function relativeError(value: number, expected: number): number {
  return Math.abs(value / expected - 1);
}

/** Standard deviation over mean. */
export function coefficientOfVariation(values: readonly number[]): number {
  const mean = values.reduce((total, value) => total + value, 0) / values.length;
  const variance = values.reduce((total, value) => total + (value - mean) ** 2, 0) / values.length;
  return Math.sqrt(variance) / mean;
}
