/**
 * Goal: phase margin and motion tell the same story, and neither time nor a finer step changes it. Method: push the
 * networks of ref:dcqcn#5.4 away from rest by 5 % and watch whether the swing dies; ten times as long and four times as
 * fine for the three famous cases.
 */
import { describe, expect, it } from 'vitest';
import { type FluidParameters, fixedPoint, integrate, phaseMargin } from '../../../src/sim/fluid/index.ts';
import { coefficientOfVariation, LONG_RED, paperWith } from './support.ts';

const MS = 1e6;

const NETWORKS: readonly (readonly [string, Partial<FluidParameters>])[] = [
  ['40G', LONG_RED],
  ['100G', { ...LONG_RED, capacityBps: 100e9 }],
  ['R_AI 10M', { ...LONG_RED, aiRateBps: 10e6 }],
  ['R_AI 10M, a fifth of the slope', { kmaxBytes: 9_755_000, pmax: 0.1, aiRateBps: 10e6 }],
];

describe('phase margin and motion', () => {
  for (const [title, changed] of NETWORKS)
    for (const flows of [2, 4, 10, 20, 50])
      for (const delayUs of [4, 50, 85, 100]) {
        const parameters = paperWith({ ...changed, flows, feedbackDelayNs: delayUs * 1000 });
        const margin = phaseMargin(parameters);
        if (margin > 0)
          it(`${title}, ${flows} flows, ${delayUs} us: a push dies away`, () => expectSettling(parameters));
        if (margin < -12) it(`${title}, ${flows} flows, ${delayUs} us: a push grows`, () => expectSwinging(parameters));
      }
});

describe('two seconds in steps of 250 ns', () => {
  it('change nothing for 2, 10 and 64 flows with 4 us, nor for ten with 85 us', () => {
    for (const [flows, delayNs, swings] of [
      [2, 4000, false],
      [10, 4000, false],
      [64, 4000, false],
      [10, 85_000, true],
      [64, 85_000, false],
    ] as const) {
      const parameters = paperWith({ ...LONG_RED, flows, feedbackDelayNs: delayNs });
      const { queueBytes } = integrate(parameters, { durationNs: 2000 * MS, sampleNs: 0.05 * MS, stepNs: 250 });
      const variation = coefficientOfVariation(queueBytes.slice(-2000));
      if (swings) expect(variation).toBeGreaterThan(0.5);
      else expect(variation).toBeLessThan(1e-9);
    }
  });
});

function expectSettling(parameters: FluidParameters): void {
  const [early, late] = swing(parameters);
  expect(late < 1e-9 || late < early / 3).toBe(true);
}

function expectSwinging(parameters: FluidParameters): void {
  const [early, late] = swing(parameters);
  expect(early).toBeGreaterThan(0.2);
  expect(late).toBeGreaterThan(0.2);
}

/** How much the queue swings from 100 to 150 ms and from 350 to 400 ms after a push. */
function swing(parameters: FluidParameters): readonly [early: number, late: number] {
  const { rateBps, targetRateBps, alpha, queueBytes = 0 } = fixedPoint(parameters);
  const pushed = { rateBps: rateBps * 1.05, targetBps: targetRateBps * 1.05, alpha };
  const { queueBytes: queues } = integrate(parameters, {
    durationNs: 400 * MS,
    sampleNs: 0.05 * MS,
    initial: pushed,
    initialQueueBytes: queueBytes,
  });
  return [coefficientOfVariation(queues.slice(2000, 3000)), coefficientOfVariation(queues.slice(7000))];
}
