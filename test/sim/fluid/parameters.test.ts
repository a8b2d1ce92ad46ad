/**
 * Goal: nonsense is refused by name, and units are right. Method: one bad value at a time; a case computed by hand.
 */
import { describe, expect, it } from 'vitest';
import {
  checkFluidParameters,
  convergenceBound,
  type FluidParameters,
  fixedPoint,
  inPackets,
  integrate,
  PAPER_FLUID,
  phaseMargin,
} from '../../../src/sim/fluid/index.ts';
import { paperWith } from './support.ts';

const BAD: Readonly<Record<keyof FluidParameters, readonly number[]>> = {
  capacityBps: [0, -1, Infinity, Number.NaN],
  packetBits: [0, -8, Infinity, Number.NaN],
  flows: [0, -1, 1.5, Infinity, Number.NaN],
  byteCounterBytes: [0, -1, Number.NaN],
  timerNs: [0, -1, Infinity, Number.NaN],
  alphaTimerNs: [0, -1, Infinity, Number.NaN],
  cnpTimerNs: [0, -1, Infinity, Number.NaN],
  fastRecoveryStages: [0, -1, 2.5, Number.NaN],
  g: [0, 1, -0.1, Number.NaN],
  aiRateBps: [0, -1, Infinity, Number.NaN],
  kminBytes: [-1, Number.NaN],
  kmaxBytes: [5000, 4999, 0, -1, Infinity, Number.NaN],
  pmax: [0, -0.1, 1.01, Number.NaN],
  feedbackDelayNs: [-1, Infinity, Number.NaN],
};

describe('parameters of the fluid model', () => {
  it('of the paper are in range', () => {
    expect(() => checkFluidParameters(PAPER_FLUID)).not.toThrow();
  });

  it('may do without byte counter, delay and lower threshold', () => {
    const least = paperWith({ byteCounterBytes: Infinity, feedbackDelayNs: 0, kminBytes: 0, pmax: 1, flows: 1 });
    expect(() => checkFluidParameters(least)).not.toThrow();
  });

  for (const [name, values] of Object.entries(BAD))
    it(`refuses a ${name} out of range, and names it`, () => {
      for (const value of values)
        expect(() => checkFluidParameters({ ...PAPER_FLUID, [name]: value })).toThrow(
          expect.objectContaining({
            code: 'ERR_ROCE_ARGUMENT',
            message: expect.stringMatching(name === 'kminBytes' ? /^km..Bytes is / : `^${name} is .*, not ${value}$`),
          }),
        );
    });

  it('are checked by everything that takes them', () => {
    const bad = paperWith({ flows: 0 });
    const refused = expect.objectContaining({ code: 'ERR_ROCE_ARGUMENT' });
    expect(() => fixedPoint(bad)).toThrow(refused);
    expect(() => convergenceBound(bad)).toThrow(refused);
    expect(() => phaseMargin(bad)).toThrow(refused);
    expect(() => integrate(bad, { durationNs: 1e6, sampleNs: 1e6 })).toThrow(refused);
  });

  it('become packets of 1000 bytes and seconds', () => {
    expect(inPackets(PAPER_FLUID)).toEqual({
      capacity: 5e6,
      fairShare: 2.5e6,
      flows: 2,
      byteCounter: 10_000,
      timer: 55e-6,
      alphaTimer: 55e-6,
      cnpTimer: 50e-6,
      stages: 5,
      g: 1 / 256,
      aiRate: 5000,
      kmin: 5,
      kmax: 200,
      pmax: 0.01,
      delay: 4e-6,
    });
  });
});
