/**
 * Goal: profile `paper` does what ref:dcqcn#1 says, to the digit where ref:dcqcn#5.5 and ref:dcqcn#5.6 have closed
 * forms, and differs from the known implementations where ref:dcqcn#3 says so. Method: one flow, told when what
 * happens.
 */
import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../../packets/errors.ts';
import { PaperReactionPoint } from '../../../transport/congestion/dcqcn-paper.ts';
import type { PaperParameters } from '../../../transport/congestion/dcqcn-parameters.ts';

const LINE = 40e9;
const US = 1_000;
const ROUND = 55 * US;
/** No byte counter: what these laws are written for. */
const TIMER_ONLY: Partial<PaperParameters> = { byteCounterBytes: 0 };

const flow = (parameters: Partial<PaperParameters> = TIMER_ONLY, line = LINE) =>
  new PaperReactionPoint(parameters, line);

describe('a flow that was never notified', () => {
  it('has no limit, starts at the line rate with alpha 1, and counts nothing', () => {
    const controller = flow({});
    controller.sent(5, 1e9);
    expect(controller.rateBps(1e12)).toBe(Infinity);
    expect(controller).toMatchObject({ currentRateBps: LINE, targetRateBps: LINE, alpha: 1 });
    controller.notified(1e12);
    controller.sent(1e12, 9_999_999); // one byte less than a round
    expect(controller.rateBps(1e12)).toBe(LINE / 2);
  });
});

describe('a notification', () => {
  it('at the line rate with alpha 1 leaves half, and the line rate as target', () => {
    const controller = flow();
    controller.notified(7);
    expect(controller.rateBps(7)).toBe(20e9);
    expect(controller).toMatchObject({ currentRateBps: 20e9, targetRateBps: LINE, alpha: 1 });
  });

  it('cuts by the alpha of before, and raises alpha then (ns3-rdma: the other way round)', () => {
    const controller = flow({ ...TIMER_ONLY, g: 1 / 2 });
    controller.notified(0);
    controller.rateBps(ROUND); // alpha 1/2, rate 30
    controller.notified(ROUND);
    expect(controller).toMatchObject({ currentRateBps: 30e9 * (1 - 1 / 4), targetRateBps: 30e9, alpha: 3 / 4 });
  });

  it('cuts each time, however close (mlx: at most once in 4 us), and always moves the target (mlx: only after an increase)', () => {
    const controller = flow();
    controller.notified(0);
    controller.notified(0);
    controller.notified(1);
    expect(controller).toMatchObject({ currentRateBps: 5e9, targetRateBps: 10e9 });
  });

  it("starts alpha's timer, the rate timer, the byte counter and the rounds anew", () => {
    const controller = flow({ byteCounterBytes: 10_000, fastRecoveryStages: 1 });
    controller.notified(0);
    controller.sent(0, 9_999);
    controller.rateBps(ROUND); // one round of fast recovery: the next would be additive
    controller.notified(ROUND + 54 * US);
    const { currentRateBps, targetRateBps } = controller;
    controller.sent(ROUND + 54 * US, 9_999);
    controller.rateBps(2 * ROUND + 54 * US - 1);
    expect(controller).toMatchObject({ currentRateBps, targetRateBps });
    controller.rateBps(2 * ROUND + 54 * US);
    expect(controller).toMatchObject({ currentRateBps: (currentRateBps + targetRateBps) / 2, targetRateBps });
  });

  it('at the moment when a timer is due comes after the timer', () => {
    const controller = flow();
    controller.notified(0);
    controller.notified(ROUND);
    expect(controller.targetRateBps).toBe(30e9);
    expect(controller.currentRateBps).toBe(30e9 * (1 - 255 / 512));
  });

  it('repeated 100,000 times takes a flow to the minimum and no further', () => {
    const controller = flow({ minRateBps: 123e6 });
    for (let now = 0; now < 100_000; now++) {
      controller.notified(now);
      if (controller.currentRateBps < 123e6) expect(controller.currentRateBps).toBe(123e6);
    }
    expect(controller).toMatchObject({ currentRateBps: 123e6, targetRateBps: 123e6, alpha: 1 });
    expect(controller.rateBps(100_000)).toBe(123e6);
  });
});

describe('alpha', () => {
  it('is (255/256)^k after k quiet periods, half of it after 177.1', () => {
    const controller = flow();
    controller.notified(0);
    for (const k of [1, 2, 5, 100, 177, 178, 1000]) {
      controller.rateBps(k * ROUND - 1);
      expect(controller.alpha).toBeCloseTo((255 / 256) ** (k - 1), 14);
      controller.rateBps(k * ROUND);
      expect(controller.alpha).toBeCloseTo((255 / 256) ** k, 14);
    }
    expect(Math.log(1 / 2) / Math.log(255 / 256)).toBeCloseTo(177.1, 1);
    expect((177.1 * ROUND) / 1e6).toBeCloseTo(9.74, 2);
  });

  it('of two flows with the same notifications dT periods apart comes closer by (1-g)^dT each time', () => {
    const dT = 17;
    const [one, other] = [flow(), flow()];
    one.notified(0);
    other.notified(0);
    other.notified(200 * ROUND);
    one.notified(201 * ROUND - 1);
    let gap = Number.NaN;
    for (let cycle = 0; cycle < 20; cycle++) {
      const now = 300 * ROUND + cycle * (dT * ROUND - 1); // dT - 1 quiet periods, and the one that the notification ends
      one.notified(now);
      other.notified(now);
      const before = gap;
      gap = Math.abs(one.alpha - other.alpha);
      if (cycle > 0) expect(gap / before).toBeCloseTo((255 / 256) ** dT, 9);
    }
    expect(gap).toBeGreaterThan(0);
  });
});

describe('recovery by the timer', () => {
  it('is C (1 - 2^-(k+1)): 20, 30, 35, 37.5, 38.75, 39.375 Gb/s', () => {
    const controller = flow();
    controller.notified(0);
    const ladder = [0, 1, 2, 3, 4, 5].map((k) => controller.rateBps(k * ROUND) / 1e9);
    expect(ladder).toEqual([20, 30, 35, 37.5, 38.75, 39.375]);
    expect(5 * ROUND).toBe(275 * US);
  });

  it('leaves 1/32 of the gap after five rounds, and grows after them', () => {
    const controller = flow();
    controller.notified(0);
    controller.notified(0); // 10 of 20
    controller.rateBps(5 * ROUND);
    expect(controller).toMatchObject({ targetRateBps: 20e9, currentRateBps: 20e9 - 10e9 / 32 });
    controller.rateBps(6 * ROUND);
    expect(controller).toMatchObject({ targetRateBps: 20.04e9, currentRateBps: 20.02e9 - 10e9 / 64 });
  });

  it('ends in a gap of R_AI between target and rate', () => {
    const controller = flow();
    for (let k = 0; k < 4; k++) controller.notified(0);
    controller.rateBps(105 * ROUND);
    expect(controller.targetRateBps).toBe(5e9 + 100 * 40e6);
    expect(controller.targetRateBps - controller.currentRateBps).toBeCloseTo(40e6, 3);
  });

  it('without a byte counter is never hyper: one of the two counters stays below F', () => {
    const controller = flow({ ...TIMER_ONLY, haiRateBps: 4e9 });
    for (let k = 0; k < 4; k++) controller.notified(0);
    controller.rateBps(25 * ROUND);
    expect(controller.targetRateBps).toBe(5e9 + 20 * 40e6);
  });

  it('is no limit any more at the line rate, which the target never passes', () => {
    const controller = flow();
    controller.notified(0);
    controller.rateBps(30 * ROUND);
    expect(controller.targetRateBps).toBe(LINE);
    expect(controller.rateBps(33 * ROUND)).toBeLessThan(LINE);
    // 20 Gb/s halved 35 times is less than a bit a second.
    expect(controller.rateBps(34 * ROUND)).toBeLessThan(LINE);
    expect(controller.rateBps(35 * ROUND)).toBe(Infinity);
    expect(controller).toMatchObject({ currentRateBps: LINE, targetRateBps: LINE });
  });

  it('costs nothing for an hour of silence: a timer of a nanosecond and a target that would take 10^12 rounds', () => {
    const controller = flow({ ...TIMER_ONLY, cnpTimerNs: 0, alphaTimerNs: 1, rateTimerNs: 1, aiRateBps: 1e-3 });
    for (let k = 0; k < 4; k++) controller.notified(0);
    const hour = 3_600 * 1e9;
    expect(controller.rateBps(hour)).toBeCloseTo(5e9 + (hour - 5) * 1e-3, 1);
    expect(controller.alpha).toBe(0);
    expect(controller.rateBps(11 * hour)).toBe(Infinity);
  });

  it('never happens without a timer and without bytes', () => {
    const controller = flow({ ...TIMER_ONLY, rateTimerNs: Infinity });
    controller.notified(0);
    expect(controller.rateBps(1e15)).toBe(20e9);
  });
});

describe('recovery by bytes', () => {
  it('has a round each 10 MB: 2.0 ms at 40G', () => {
    const controller = flow({ rateTimerNs: Infinity });
    controller.notified(0);
    const frame = 1_000;
    const frameNs = (frame * 8 * 1e9) / LINE;
    let rounds = 0;
    let rate = controller.rateBps(0);
    for (let frames = 1; frames <= 30_000; frames++) {
      const now = frames * frameNs;
      controller.sent(now, frame);
      if (controller.rateBps(now) === rate) continue;
      rate = controller.rateBps(now);
      expect(now).toBe(++rounds * 2e6);
      expect(rate).toBe(LINE * (1 - 2 ** -(rounds + 1)));
    }
    expect(rounds).toBe(3);
  });

  it('takes several rounds at once when more has left than one needs, and keeps the rest', () => {
    const controller = flow({ rateTimerNs: Infinity, byteCounterBytes: 1_000 });
    controller.notified(0);
    controller.sent(0, 2_500);
    expect(controller.rateBps(0)).toBe(35e9);
    controller.sent(0, 499);
    expect(controller.rateBps(0)).toBe(35e9);
    controller.sent(0, 1);
    expect(controller.rateBps(0)).toBe(37.5e9);
  });

  it('is additive as soon as either counter is at F, and hyper, by the flat R_HAI, when both are past it', () => {
    const controller = flow({ byteCounterBytes: 1_000, fastRecoveryStages: 2, haiRateBps: 400e6 });
    for (let k = 0; k < 4; k++) controller.notified(0); // target 5 Gb/s
    controller.rateBps(2 * ROUND); // time 2, bytes 0: fast until here
    expect(controller.targetRateBps).toBe(5e9);
    const byteRounds = [1, 2, 3].map(() => {
      controller.sent(2 * ROUND, 1_000);
      return controller.targetRateBps;
    });
    expect(byteRounds).toEqual([5.04e9, 5.08e9, 5.12e9]); // time stands at 2, which is not past
    controller.rateBps(3 * ROUND); // bytes 3, time 2 before this round
    expect(controller.targetRateBps).toBeCloseTo(5.16e9, 3);
    controller.rateBps(4 * ROUND);
    expect(controller.targetRateBps).toBeCloseTo(5.56e9, 3);
    controller.sent(4 * ROUND, 1_000);
    expect(controller.targetRateBps).toBeCloseTo(5.96e9, 3);
  });
});

describe('two flows', () => {
  it('with the same alpha differ by (1 - alpha/2) of what they did, after a notification for both', () => {
    const [fast, slow] = [flow(), flow()];
    fast.notified(0);
    slow.notified(0);
    slow.notified(0);
    const gap = fast.rateBps(3 * ROUND) - slow.rateBps(3 * ROUND);
    const alpha = fast.alpha;
    expect(slow.alpha).toBe(alpha);
    fast.notified(3 * ROUND);
    slow.notified(3 * ROUND);
    expect((fast.currentRateBps - slow.currentRateBps) / gap).toBeCloseTo(1 - alpha / 2, 12);
  });
});

it('A controller whose time goes back is our own mistake', () => {
  const controller = flow();
  controller.rateBps(10);
  expect(() => controller.sent(9, 1)).toThrow(InvariantError);
});
