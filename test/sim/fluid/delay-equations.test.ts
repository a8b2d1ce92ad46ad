/**
 * Goal: gate C4 of ref:dcqcn#8: with a short loop delay the equations come to rest at the fixed point, and ten flows
 * with 85 us do not. Method: integrate from line rate, compare with the root of the fixed-point equation; a second,
 * naive integration of the printed equations; the order of the method by halving its step; the paper's story of a third
 * flow.
 */
import { describe, expect, it } from 'vitest';
import {
  convergenceBound,
  type FluidParameters,
  fixedPoint,
  type IntegrationOptions,
  inPackets,
  integrate,
  PAPER_FLUID,
} from '../../../src/sim/fluid/index.ts';
import { coefficientOfVariation, LONG_RED, paperWith, relativeError } from './support.ts';

const MS = 1e6;
/** In steps of 4 us, against the default of 1 us, to be quick: the swings looked for take milliseconds. */
const QUARTER_SECOND: IntegrationOptions = { durationNs: 250 * MS, sampleNs: 0.1 * MS, stepNs: 4000 };
/** Samples of the last 100 ms of that. */
const LAST = 1000;

describe('fluid model in motion', () => {
  const settling: readonly (readonly [string, Partial<FluidParameters>])[] = [
    ['2 flows', { flows: 2 }],
    ['10 flows', { flows: 10 }],
    // With the paper's RED 64 flows have no fixed point: p* is 5.9 %, Pmax 1 %.
    ['64 flows, Pmax 10 %', { flows: 64, pmax: 0.1 }],
    ['64 flows, Pmax 10 % at 1955 KB', { flows: 64, ...LONG_RED }],
  ];
  for (const [title, changed] of settling)
    it(`comes to rest at the fixed point: ${title}, 4 us, from line rate`, () => {
      const parameters = paperWith({ ...changed, feedbackDelayNs: 4000 });
      const trace = integrate(parameters, QUARTER_SECOND);
      const point = fixedPoint(parameters);
      for (const rate of trace.rateBps.slice(-LAST)) expect(relativeError(rate, point.rateBps)).toBeLessThan(0.01);
      for (const queue of trace.queueBytes.slice(-LAST))
        expect(relativeError(queue, point.queueBytes ?? 0)).toBeLessThan(0.02);
      expect(relativeError(trace.targetBps.at(-1) ?? 0, point.targetRateBps)).toBeLessThan(1e-6);
      expect(relativeError(trace.alpha.at(-1) ?? 0, point.alpha)).toBeLessThan(1e-6);
    });

  it('does not come to rest with 10 flows and 85 us: the queue runs empty and beyond Kmax again and again', () => {
    const swinging = lastQueues({ flows: 10, feedbackDelayNs: 85_000 });
    const settled = lastQueues({ flows: 10, feedbackDelayNs: 4000 });
    expect(coefficientOfVariation(swinging)).toBeGreaterThan(1);
    expect(coefficientOfVariation(settled)).toBeLessThan(1e-3);
    expect(Math.min(...swinging)).toBe(0);
    expect(Math.max(...swinging)).toBeGreaterThan(PAPER_FLUID.kmaxBytes);
    expect(
      swinging.filter((queue, index) => queue > 100_000 && (swinging[index - 1] ?? queue) <= 100_000).length,
    ).toBeGreaterThan(10);
  });

  it('swings with 10 flows and 85 us and not with 2 and 64, where RED goes on to 10 %', () => {
    const [two = 1, ten = 0, many = 1] = [2, 10, 64].map((flows) =>
      coefficientOfVariation(lastQueues({ ...LONG_RED, flows, feedbackDelayNs: 85_000 })),
    );
    expect(ten).toBeGreaterThan(0.5);
    expect(two).toBeLessThan(0.05);
    expect(many).toBeLessThan(1e-3);
  });

  it('swings about Kmax where p* is above Pmax, for there is nothing between 1 % and all', () => {
    const queues = lastQueues({ flows: 64, feedbackDelayNs: 4000 });
    expect(Math.min(...queues)).toBeLessThan(0.75 * PAPER_FLUID.kmaxBytes);
    expect(Math.max(...queues)).toBeGreaterThan(PAPER_FLUID.kmaxBytes);
    expect(coefficientOfVariation(queues)).toBeGreaterThan(0.1);
  });

  it('stays at the fixed point when it starts there', () => {
    for (const feedbackDelayNs of [0, 700, 4000, 20_000]) {
      const parameters = paperWith({ flows: 4, feedbackDelayNs });
      const { initial, initialQueueBytes } = atRest(parameters);
      const trace = integrate(parameters, { durationNs: 5 * MS, sampleNs: MS, initial, initialQueueBytes });
      for (const queue of trace.queueBytes) expect(relativeError(queue, initialQueueBytes)).toBeLessThan(1e-9);
      for (const rate of trace.rateBps) expect(relativeError(rate, 10e9)).toBeLessThan(1e-9);
    }
  });

  it('holds rates at the line rate when asked to', () => {
    const parameters = paperWith({ flows: 1, feedbackDelayNs: 85_000 });
    const options: IntegrationOptions = { durationNs: 20 * MS, sampleNs: 0.1 * MS };
    expect(Math.max(...integrate(parameters, options).targetBps)).toBeGreaterThan(40e9);
    const { targetBps, rateBps } = integrate(parameters, { ...options, maxRateBps: 40e9 });
    expect(Math.max(...targetBps, ...rateBps)).toBeLessThanOrEqual(40e9);
  });
});

describe('flows one by one', () => {
  it('two settle at 20G; a third joins at 0.1 s at line rate and all reach 13G within 100 ms', () => {
    const perFlow = [{}, {}, { startNs: 100 * MS }];
    const trace = integrate(paperWith({ flows: 3 }), { durationNs: 200 * MS, sampleNs: MS, stepNs: 4000, perFlow });
    const at = (ms: number) => trace.flows.map(({ rateBps }) => (rateBps[ms] ?? 0) / 1e9);
    expect(at(0)).toEqual([40, 40, 0]);
    expect(at(99).map((rate) => Math.round(rate * 100) / 100)).toEqual([20, 20, 0]);
    expect(at(100)[2]).toBe(40);
    for (const rate of at(200)) expect(Math.abs(rate - 40 / 3)).toBeLessThan(0.02);
    expect(trace.flows[2]?.alpha.slice(99, 101)).toEqual([0, 1]);
    expect(trace.times[200]).toBe(200 * MS);
  });

  it('are as the one that stands for all when they start alike', () => {
    const parameters = paperWith({ flows: 3, feedbackDelayNs: 10_000 });
    const options: IntegrationOptions = { durationNs: 10 * MS, sampleNs: 0.1 * MS };
    const together = integrate(parameters, options);
    const single = integrate(parameters, { ...options, perFlow: [{}, {}, {}] });
    expect(single.flows.length).toBe(3);
    for (const flow of single.flows) expect(flow).toEqual(single.flows[0]);
    single.queueBytes.forEach((queue, index) => {
      expect(queue).toBeCloseTo(together.queueBytes[index] ?? 0, 3);
    });
  });

  it('of 39G and 1G differ by less than a tenth of the fair share within the convergence bound', () => {
    const parameters = paperWith({ flows: 2 });
    const bound = convergenceBound(parameters).seconds * 1e9;
    const perFlow = [39e9, 1e9].map((rate) => ({ initial: { rateBps: rate, targetBps: rate, alpha: 1 } }));
    const { flows, times } = integrate(parameters, { durationNs: 150 * MS, sampleNs: MS, stepNs: 4000, perFlow });
    const apart = times.filter(
      (_, index) => Math.abs((flows[0]?.rateBps[index] ?? 0) - (flows[1]?.rateBps[index] ?? 0)) >= 2e9,
    );
    expect(apart.at(-1)).toBeLessThan(bound);
    expect(apart.at(-1)).toBeGreaterThan(bound / 10);
  });
});

describe('method of integration', () => {
  it('agrees with Euler steps of 20 ns through the equations as they are printed', () => {
    for (const [flows, feedbackDelayNs] of [
      [2, 4000],
      [10, 85_000],
    ] as const) {
      const parameters = paperWith({ flows, feedbackDelayNs });
      const { rateBps, targetBps, alpha, queueBytes } = integrate(parameters, { durationNs: 3 * MS, sampleNs: 3 * MS });
      const naive = eulerAsPrinted(parameters, 3 * MS, 20);
      expect(relativeError(rateBps.at(-1) ?? 0, naive.rateBps)).toBeLessThan(2e-3);
      expect(relativeError(targetBps.at(-1) ?? 0, naive.targetBps)).toBeLessThan(2e-3);
      expect(relativeError(alpha.at(-1) ?? 0, naive.alpha)).toBeLessThan(2e-3);
      expect(Math.abs((queueBytes.at(-1) ?? 0) - naive.queueBytes)).toBeLessThan(500 + 2e-3 * naive.queueBytes);
    }
  });

  it('is of second order: half the step, a quarter of the error', () => {
    for (const feedbackDelayNs of [0, 4000]) {
      const parameters = paperWith({ feedbackDelayNs });
      const results = [2000, 1000, 500, 250].map((stepNs) => afterPush(parameters, stepNs));
      const changes = results.slice(1).map((result, index) => result - (results[index] ?? 0));
      const ratios = changes.slice(1).map((change, index) => (changes[index] ?? 0) / change);
      for (const ratio of ratios) expect(Math.abs(ratio - 4)).toBeLessThan(0.2);
    }
  });

  it('looks back between its steps as exactly as at them', () => {
    const parameters = paperWith({ feedbackDelayNs: 3700 });
    const fine = afterPush(parameters, 37);
    for (const stepNs of [3000, 1500, 700]) {
      const error = Math.abs(afterPush(parameters, stepNs) - fine) / fine;
      expect(error).toBeLessThan(3e-3 * (stepNs / 3000) ** 2);
    }
  });
});

describe('options of an integration', () => {
  const good: IntegrationOptions = { durationNs: MS, sampleNs: 0.1 * MS };
  const bad: readonly (readonly [string, Partial<IntegrationOptions>])[] = [
    ['durationNs', { durationNs: 0 }],
    ['durationNs', { durationNs: Infinity }],
    ['durationNs', { durationNs: 1e15 }],
    ['sampleNs', { sampleNs: -1 }],
    ['stepNs', { stepNs: 0 }],
    ['stepNs', { stepNs: 4001 }],
    ['maxRateBps', { maxRateBps: 0 }],
    ['initialQueueBytes', { initialQueueBytes: -1 }],
    ['perFlow', { perFlow: [{}] }],
    ['startNs', { perFlow: [{}, { startNs: -1 }] }],
    ['rateBps', { initial: { rateBps: 0, targetBps: 1, alpha: 1 } }],
    ['targetBps', { initial: { rateBps: 1, targetBps: Number.NaN, alpha: 1 } }],
    ['alpha', { initial: { rateBps: 1, targetBps: 1, alpha: 1.1 } }],
  ];
  for (const [name, changed] of bad)
    it(`refuse ${name} out of range: ${JSON.stringify(changed)}`, () => {
      expect(() => integrate(PAPER_FLUID, { ...good, ...changed })).toThrow(
        expect.objectContaining({ code: 'ERR_ROCE_ARGUMENT', message: expect.stringMatching(`^${name} is `) }),
      );
    });

  it('give a sample at 0 and one for each interval', () => {
    const { times, queueBytes, rateBps } = integrate(PAPER_FLUID, good);
    expect(times.map((time) => Math.round(time))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((i) => i * 100_000));
    expect(queueBytes.length).toBe(11);
    expect(rateBps[0]).toBe(40e9);
    expect(queueBytes[0]).toBe(0);
  });
});

function lastQueues(changed: Partial<FluidParameters>): readonly number[] {
  return integrate(paperWith(changed), QUARTER_SECOND).queueBytes.slice(-LAST);
}

function atRest(parameters: FluidParameters) {
  const { rateBps, targetRateBps, alpha, queueBytes = 0 } = fixedPoint(parameters);
  return { initial: { rateBps, targetBps: targetRateBps, alpha }, initialQueueBytes: queueBytes };
}

/** The queue 2 ms after the rates at rest were raised by 2 %: smooth, for it neither empties nor fills. */
function afterPush(parameters: FluidParameters, stepNs: number): number {
  const { initial, initialQueueBytes } = atRest(parameters);
  const pushed = { ...initial, rateBps: initial.rateBps * 1.02 };
  const options = { durationNs: 2 * MS, sampleNs: stepNs, stepNs, initial: pushed, initialQueueBytes };
  return integrate(parameters, options).queueBytes.at(-1) ?? 0;
}

/** ref:dcqcn#5.1 line by line, first order, all history kept. */
function eulerAsPrinted(parameters: FluidParameters, durationNs: number, stepNs: number) {
  const units = inPackets(parameters);
  const { capacity, flows, byteCounter: B, timer: T, stages: F, cnpTimer: tau, alphaTimer, aiRate, g } = units;
  const lag = Math.round(parameters.feedbackDelayNs / stepNs);
  const h = stepNs / 1e9;
  const rates = [capacity];
  const queues = [0];
  let [rate, target, alpha, queue] = [capacity, capacity, 1, 0];
  for (let step = 0; step * stepNs < durationNs; step++) {
    const R = rates[Math.max(0, step - lag)] ?? 0;
    const q = queues[Math.max(0, step - lag)] ?? 0;
    const p = q <= units.kmin ? 0 : q > units.kmax ? 1 : (units.pmax * (q - units.kmin)) / (units.kmax - units.kmin);
    const a = 1 - (1 - p) ** (tau * R);
    const b = p === 0 ? 1 / B : p / ((1 - p) ** -B - 1);
    const d = p === 0 ? 1 / (T * R) : p / ((1 - p) ** (-T * R) - 1);
    const c = (1 - p) ** (F * B) * b;
    const e = (1 - p) ** (F * T * R) * d;
    const rateSlope = (-rate * alpha * a) / (2 * tau) + ((target - rate) / 2) * R * (b + d);
    const targetSlope = (-(target - rate) / tau) * a + aiRate * R * (c + e);
    const alphaSlope = (g / alphaTimer) * (1 - (1 - p) ** (alphaTimer * R) - alpha);
    queue = Math.max(0, queue + h * (flows * rate - capacity));
    rate += h * rateSlope;
    target += h * targetSlope;
    alpha += h * alphaSlope;
    rates.push(rate);
    queues.push(queue);
  }
  const { packetBits } = parameters;
  return { rateBps: rate * packetBits, targetBps: target * packetBits, alpha, queueBytes: (queue * packetBits) / 8 };
}
