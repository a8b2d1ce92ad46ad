/**
 * Goal: computing on demand is the same as running every timer, and no history leaves the bounds. Method: properties
 * over random parameters and histories, whose periods are a few nanoseconds so that clocks meet often, against an
 * event-driven model (support/eager.ts).
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MlxReactionPoint } from '../../../transport/congestion/dcqcn-mlx.ts';
import { PaperReactionPoint } from '../../../transport/congestion/dcqcn-paper.ts';
import type { MlxParameters, PaperParameters } from '../../../transport/congestion/dcqcn-parameters.ts';
import type { RateController } from '../../../transport/congestion/rate-controller.ts';
import { EagerMlx, type EagerModel, EagerPaper } from './support/eager.ts';

interface Step {
  readonly afterNs: number;
  readonly kind: 'notified' | 'sent' | 'idle';
  readonly bytes: number;
}

const LINE = 40e9;

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    afterNs: fc.oneof(
      fc.integer({ min: 0, max: 6 }),
      fc.integer({ min: 0, max: 60 }),
      fc.integer({ min: 0, max: 1500 }),
    ),
    kind: fc.constantFrom('notified', 'sent', 'idle'),
    bytes: fc.integer({ min: 1, max: 9000 }),
  }),
  { maxLength: 60 },
);

const period = fc.integer({ min: 2, max: 14 });
/** Long enough that bytes raise the rate before time does. */
const increasePeriod = fc.oneof(period, fc.integer({ min: 15, max: 400 }));
const growth = fc.oneof(
  fc.constant(0),
  fc.double({ min: 1, max: 1e8, noNaN: true }),
  fc.double({ min: 1e8, max: 3e10, noNaN: true }),
);
const byteCounter = fc.oneof(fc.constant(0), fc.integer({ min: 64, max: 20_000 }));
const minimum = fc.constantFrom(1, 1e6, 1e9, 19e9, LINE);

const paper: fc.Arbitrary<PaperParameters> = fc.record({
  cnpTimerNs: fc.constant(0),
  alphaTimerNs: period,
  rateTimerNs: fc.oneof(increasePeriod, fc.constant(Infinity)),
  byteCounterBytes: byteCounter,
  fastRecoveryStages: fc.integer({ min: 0, max: 6 }),
  g: fc.constantFrom(1, 1 / 2, 1 / 16, 1 / 256),
  aiRateBps: growth,
  haiRateBps: growth,
  minRateBps: minimum,
});

const mlx: fc.Arbitrary<MlxParameters> = fc.record({
  clampTgtRate: fc.boolean(),
  clampTgtRateAfterTimeInc: fc.boolean(),
  rpgTimeResetNs: increasePeriod,
  rpgByteResetBytes: byteCounter,
  rpgThreshold: fc.integer({ min: 0, max: 6 }),
  rpgMaxRateBps: fc.constantFrom(0, LINE, 50e9),
  rpgMinRateBps: minimum,
  rpgAiRateBps: growth,
  rpgHaiRateBps: growth,
  rpgGd: fc.constantFrom(10, 11),
  rpgMinDecFac: fc.integer({ min: 0, max: 100 }),
  rateToSetOnFirstCnpBps: fc.constantFrom(0, 5e9, LINE),
  dceTcpG: fc.constantFrom(0, 512, 1019, 1020),
  dceTcpRttNs: period,
  rateReduceMonitorPeriodNs: period,
  initialAlphaValue: fc.integer({ min: 1, max: 1024 }),
});

/** One step told to a controller. */
function tell(controller: RateController, now: number, step: Step): void {
  if (step.kind === 'notified') controller.notified(now);
  else if (step.kind === 'sent') controller.sent(now, step.bytes);
  else controller.rateBps(now);
}

function compare(controller: RateController, model: EagerModel, history: readonly Step[], floorBps: number): void {
  let now = 0;
  for (const step of history) {
    now += step.afterNs;
    tell(controller, now, step);
    model.advance(now);
    if (step.kind === 'notified') model.notified();
    if (step.kind === 'sent') model.sent(step.bytes);
    expect(Math.abs(controller.currentRateBps - model.rate)).toBeLessThan(TOLERANCE_BPS);
    expect(Math.abs(controller.targetRateBps - model.target)).toBeLessThan(TOLERANCE_BPS);
    expect(Math.abs(controller.alpha - model.alpha)).toBeLessThan(1e-9);
    bounded(controller, now, floorBps);
  }
}

function bounded(controller: RateController, now: number, floorBps: number): void {
  const { currentRateBps, targetRateBps, alpha } = controller;
  expect(currentRateBps).toBeGreaterThanOrEqual(floorBps);
  expect(currentRateBps).toBeLessThanOrEqual(targetRateBps);
  expect(targetRateBps).toBeLessThanOrEqual(LINE);
  expect(alpha).toBeGreaterThanOrEqual(0);
  expect(alpha).toBeLessThanOrEqual(1);
  expect(controller.rateBps(now)).toBe(currentRateBps === LINE ? Infinity : currentRateBps);
}

describe('a controller that computes on demand', () => {
  it('is the paper algorithm with an event for each timer', () => {
    fc.assert(
      fc.property(paper, steps, (parameters, history) =>
        compare(
          new PaperReactionPoint(parameters, LINE),
          new EagerPaper(parameters, LINE),
          history,
          parameters.minRateBps,
        ),
      ),
      { numRuns: 400 },
    );
  });

  it('is the mlx algorithm with an event for each timer, in the order an event queue gives them', () => {
    fc.assert(
      fc.property(mlx, steps, (parameters, history) =>
        compare(
          new MlxReactionPoint(parameters, LINE),
          new EagerMlx(parameters, LINE),
          history,
          parameters.rpgMinRateBps,
        ),
      ),
      { numRuns: 400 },
    );
  });

  it('gives the same answers, to the bit, however often it is asked in between', () => {
    fc.assert(
      fc.property(paper, mlx, steps, fc.integer({ min: 1, max: 5 }), (paperOf, mlxOf, history, every) => {
        const makers = [() => new PaperReactionPoint(paperOf, LINE), () => new MlxReactionPoint(mlxOf, LINE)];
        for (const make of makers) {
          const seldom = make();
          const often = make();
          let now = 0;
          for (const step of history) {
            for (let at = now; at < now + step.afterNs; at += every) often.rateBps(at);
            now += step.afterNs;
            tell(seldom, now, step);
            tell(often, now, step);
          }
          expect(snapshot(often, now)).toEqual(snapshot(seldom, now));
        }
      }),
    );
  });

  it('never slows a flow that nobody complains about', () => {
    fc.assert(
      fc.property(paper, mlx, fc.array(fc.integer({ min: 0, max: 40 })), (paperOf, mlxOf, gaps) => {
        for (const controller of [new PaperReactionPoint(paperOf, LINE), new MlxReactionPoint(mlxOf, LINE)]) {
          controller.notified(0);
          let now = mlxOf.rateReduceMonitorPeriodNs + 1; // the one cut of mlx
          let before = controller.rateBps(now);
          for (const gap of gaps) {
            now += gap;
            controller.sent(now, 1500);
            const rate = controller.rateBps(now);
            expect(rate).toBeGreaterThanOrEqual(before);
            before = rate;
          }
        }
      }),
    );
  });
});

function snapshot(controller: RateController, now: number): readonly number[] {
  return [controller.rateBps(now), controller.currentRateBps, controller.targetRateBps, controller.alpha];
}

/**
 * Rounding differs between one closed form and many steps, and the moment of release by one halving of less than two
 * bits a second.
 */
const TOLERANCE_BPS = 4;
