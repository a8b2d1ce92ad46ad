/**
 * Goal: gate C2 of ref:dcqcn#8, the convergence bound to 5e-6 s. Method: every row of ref:dcqcn#5.3; the equation of
 * alpha* for random parameters; the wrong exponent of the appendix, which must not fit.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { convergenceBound, type FluidParameters, inPackets } from '../../../src/sim/fluid/index.ts';
import { fcRuns } from '../../transport/support/peer.ts';
import { paperWith, relativeError, sensibleParameters } from './support.ts';

/**
 * Case, what differs from the paper's parameters, seconds: ref:dcqcn#5.3. The last three are printed with fewer digits.
 */
const TABLE: readonly (readonly [string, Partial<FluidParameters>, number])[] = [
  ['2 flows', { flows: 2 }, 0.096901],
  ['4 flows', { flows: 4 }, 0.063592],
  ['10 flows', { flows: 10 }, 0.035894],
  ['20 flows', { flows: 20 }, 0.023562],
  ['64 flows', { flows: 64 }, 0.012452],
  ['100 flows', { flows: 100 }, 0.010089],
  ['2 flows, R_AI 10M', { flows: 2, aiRateBps: 10e6 }, 0.35817],
  ['10 flows, R_AI 10M', { flows: 10, aiRateBps: 10e6 }, 0.12137],
  ['2 flows, Kmax 1000', { flows: 2, kmaxBytes: 1e6 }, 0.1027],
  ['2 flows, g 1/16', { flows: 2, g: 1 / 16 }, 0.10007],
];

describe('convergence bound', () => {
  for (const [title, changed, seconds] of TABLE)
    it(`of ${title} is the tabulated one`, () => {
      expect(Math.abs(convergenceBound(paperWith(changed)).seconds - seconds)).toBeLessThan(5e-6);
    });

  it('of two flows is made of alpha* 0.05699 and cycles of 17.00 alpha intervals', () => {
    const { alpha, periodsPerCycle, cycles, seconds } = convergenceBound(paperWith({ flows: 2 }));
    expect(Math.abs(alpha - 0.05699)).toBeLessThan(5.1e-6);
    expect(Math.abs(periodsPerCycle - 17)).toBeLessThan(0.005);
    expect(relativeError(seconds, cycles * periodsPerCycle * 55e-6)).toBeLessThan(1e-12);
    // After so many cycles a difference of twice the fair share, the most two flows can have, is a tenth of it.
    expect(2 * (1 - alpha / 2) ** cycles).toBeCloseTo(0.1, 12);
  });

  it('solves the equation of alpha* for any sensible network, and not the one with the exponent of the appendix', () => {
    fc.assert(
      fc.property(sensibleParameters(), (parameters) => {
        const { alpha, periodsPerCycle } = convergenceBound(parameters);
        const { g } = inPackets(parameters);
        expect(alpha).toBeGreaterThan(0);
        expect(alpha).toBeLessThan(1);
        const raised = (1 - g) * alpha + g;
        expect(relativeError((1 - g) ** (periodsPerCycle - 1) * raised, alpha)).toBeLessThan(1e-9);
        expect(relativeError((1 - g) ** periodsPerCycle * raised, alpha)).toBeGreaterThan(g / 2);
      }),
      { numRuns: fcRuns(300) },
    );
  });

  it('is longer for smaller additive steps', () => {
    fc.assert(
      fc.property(sensibleParameters(), (parameters) => {
        const halved = convergenceBound({ ...parameters, aiRateBps: parameters.aiRateBps / 2 });
        expect(halved.seconds).toBeGreaterThan(convergenceBound(parameters).seconds);
      }),
      { numRuns: fcRuns(200) },
    );
  });
});
