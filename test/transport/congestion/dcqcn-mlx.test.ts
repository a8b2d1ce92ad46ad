/**
 * Goal: profile `mlx` does what the Mellanox column of ref:dcqcn#3 says, in the order of events of the HPCC simulator,
 * to the digit where ref:dcqcn#5.6 has closed forms. Method: one flow, told when what happens; each difference from the
 * paper is a test.
 */
import { describe, expect, it } from 'vitest';
import { MlxReactionPoint } from '../../../transport/congestion/dcqcn-mlx.ts';
import { hpccParameters, type MlxParameters } from '../../../transport/congestion/dcqcn-parameters.ts';

const LINE = 100e9;
const US = 1_000;
const INCREASE = 300 * US;
/** g a half and alpha 1 at the start, so that numbers stay readable; no byte counter. */
const READABLE: Partial<MlxParameters> = { rpgByteResetBytes: 0, initialAlphaValue: 1024, dceTcpG: 512 };

const flow = (parameters: Partial<MlxParameters> = READABLE, line = LINE) => new MlxReactionPoint(parameters, line);
const hpcc = (timers: 'mlx' | 'paper' = 'mlx') => flow(hpccParameters(LINE, timers));

/** Notifications each 500 ns, from the one after `from` until `until`. */
function mark(controller: MlxReactionPoint, from: number, until: number): void {
  for (let now = from + 500; now <= until; now += 500) controller.notified(now);
}

describe('the first notification', () => {
  it('sets alpha and changes no rate: the cut comes a monitor period and a nanosecond later', () => {
    const controller = flow();
    controller.notified(70);
    expect(controller.rateBps(70)).toBe(Infinity);
    expect(controller.alpha).toBe(1);
    expect(controller.rateBps(70 + 4 * US)).toBe(Infinity);
    expect(controller.rateBps(70 + 4 * US + 1)).toBe(LINE * (1 - (1 / 2) ** 4 / 2)); // alpha went first, four times
    expect(controller.targetRateBps).toBe(LINE);
  });

  it('does not count as one that raises alpha', () => {
    const controller = flow();
    controller.notified(0);
    controller.rateBps(1 * US);
    expect(controller.alpha).toBe(1 / 2);
  });

  it("takes alpha from INITIAL_ALPHA_VALUE: the firmware's 1023 is not quite 1", () => {
    const controller = flow({});
    controller.notified(0);
    expect(controller.alpha).toBe(1023 / 1024);
  });

  it('sets both rates where RATE_TO_SET_ON_FIRST_CNP says so, once, and nothing rises before the cut', () => {
    const controller = flow({ ...READABLE, rateToSetOnFirstCnpBps: 10e9, rpgByteResetBytes: 1_000 });
    controller.notified(0);
    controller.sent(1, 50_000);
    expect(controller.rateBps(1)).toBe(10e9);
    expect(controller.targetRateBps).toBe(10e9);
    expect(controller.rateBps(4 * US + 1)).toBe(10e9 * (1 - 1 / 32));
    expect(controller.rateBps(1e12)).toBe(Infinity);
    controller.notified(1e12);
    expect(controller.rateBps(1e12)).toBe(Infinity);
  });
});

describe('alpha', () => {
  it('is (1019/1024)^k after k us without a notification, half of it after 141.6', () => {
    const controller = flow({ initialAlphaValue: 1024 });
    controller.notified(0);
    for (const k of [1, 2, 100, 141, 142, 1000]) {
      controller.rateBps(k * US - 1);
      expect(controller.alpha).toBeCloseTo((1019 / 1024) ** (k - 1), 14);
      controller.rateBps(k * US);
      expect(controller.alpha).toBeCloseTo((1019 / 1024) ** k, 14);
    }
    expect(Math.log(1 / 2) / Math.log(1019 / 1024)).toBeCloseTo(141.6, 0);
  });

  it('goes up once at the end of a period, however many notifications it had, and not before', () => {
    const controller = flow();
    controller.notified(0);
    controller.rateBps(3 * US); // 1/8
    for (const at of [3_000, 3_001, 3_999]) controller.notified(at);
    expect(controller.alpha).toBe(1 / 8);
    controller.rateBps(4 * US);
    expect(controller.alpha).toBe(1 / 16 + 1 / 2);
    controller.rateBps(5 * US);
    expect(controller.alpha).toBe(1 / 32 + 1 / 4);
  });

  it('does not wait for the notification before: its clock runs on (paper: restarts with each)', () => {
    const controller = flow();
    controller.notified(0);
    controller.notified(900);
    controller.rateBps(1 * US);
    expect(controller.alpha).toBe(1);
    controller.rateBps(2 * US);
    expect(controller.alpha).toBe(1 / 2);
  });
});

describe('a cut', () => {
  it('comes at most once in 4 us, and keeps the target until the rate was raised (paper: always moves it)', () => {
    const controller = hpcc();
    controller.notified(0);
    mark(controller, 0, 20_000); // alpha stays 1
    expect(controller.currentRateBps).toBe(LINE / 16); // cut at 4,001, 8,001, 12,001 and 16,001
    controller.rateBps(20_001);
    expect(controller).toMatchObject({ currentRateBps: LINE / 32, targetRateBps: LINE, alpha: 1 });
  });

  it('at the nanosecond of a notification comes first, and the notification asks for the next one', () => {
    const controller = hpcc();
    controller.notified(0);
    controller.notified(4_001);
    expect(controller.currentRateBps).toBe(LINE * (1 - (255 / 256) ** 4 / 2));
    const before = controller.currentRateBps;
    expect(controller.rateBps(8_000)).toBe(before);
    expect(controller.rateBps(8_001)).toBeLessThan(before);
    const cut = controller.currentRateBps;
    expect(controller.rateBps(12_001)).toBe(cut); // nobody asked for a third
  });

  it('keeps to the clock of the first notification after an hour of silence', () => {
    const controller = hpcc();
    controller.notified(0);
    const hour = 3_600 * 1e9;
    controller.notified(hour + 3_999);
    controller.notified(hour + 4_000);
    const until = hour + 4_001;
    expect(controller.rateBps(until - 1)).toBe(Infinity);
    // Alpha is next to nothing, raised by g four ns before: one period ended since, at hour + 4,000, with the flag of
    // hour + 3,999.
    expect(controller.rateBps(until)).toBe(LINE * (1 - 1 / 512));
  });

  it('moves the target after an increase by the timer, unless CLAMP_TGT_RATE_AFTER_TIME_INC is off', () => {
    const cutTwice = (parameters: Partial<MlxParameters>) => {
      const controller = flow({ ...hpccParameters(LINE, 'mlx'), ...parameters });
      controller.notified(0);
      mark(controller, 0, 4_000);
      controller.notified(4_001 + INCREASE); // one round
      controller.rateBps(8_001 + INCREASE);
      return controller.targetRateBps / 1e9;
    };
    const raised = cutTwice({});
    expect(raised).toBe(75); // 50, back half way to 100
    expect(cutTwice({ clampTgtRateAfterTimeInc: false })).toBe(100);
    expect(cutTwice({ clampTgtRateAfterTimeInc: false, clampTgtRate: true })).toBe(75);
  });

  it('moves the target after an increase by bytes in any case', () => {
    const controller = flow({ ...READABLE, clampTgtRateAfterTimeInc: false, rpgByteResetBytes: 10_000 });
    controller.notified(0);
    controller.rateBps(4_001);
    controller.sent(4_001, 9_999);
    controller.notified(4_001);
    controller.rateBps(8_001);
    expect(controller.targetRateBps).toBe(LINE);
    controller.sent(8_001, 10_000);
    const raised = controller.currentRateBps;
    controller.notified(8_001);
    controller.rateBps(12_001);
    expect(controller.targetRateBps).toBe(raised);
  });

  it('moves the target each time with CLAMP_TGT_RATE', () => {
    const controller = flow({ ...hpccParameters(LINE, 'mlx'), clampTgtRate: true });
    controller.notified(0);
    mark(controller, 0, 8_000);
    controller.rateBps(8_001);
    expect(controller).toMatchObject({ currentRateBps: LINE / 4, targetRateBps: LINE / 2 });
  });

  it('leaves RPG_MIN_DEC_FAC percent at least, and takes alpha/2 with RPG_GD 11, alpha with 10', () => {
    const left = (parameters: Partial<MlxParameters>) => {
      const controller = flow({ ...hpccParameters(LINE, 'mlx'), ...parameters });
      controller.notified(0);
      mark(controller, 0, 4_000);
      controller.rateBps(4_001);
      return controller.currentRateBps / LINE;
    };
    expect(left({})).toBe(1 / 2);
    expect(left({ rpgGd: 10 })).toBe(1 / 2);
    expect(left({ rpgGd: 10, rpgMinDecFac: 25 })).toBe(1 / 4);
    expect(left({ rpgMinDecFac: 75 })).toBe(3 / 4);
    expect(left({ rpgMinDecFac: 100 })).toBe(1);
    expect(left({ rpgGd: 10, rpgMinDecFac: 0 })).toBe(1e9 / LINE); // nothing is left but the minimum
  });

  it('never takes a flow below the minimum, and 100,000 notifications cut as often as the monitor looks', () => {
    const controller = hpcc();
    let cuts = 0;
    let before = LINE;
    for (let now = 0; now < 100_000; now++) {
      controller.notified(now);
      if (controller.currentRateBps !== before) cuts++;
      before = controller.currentRateBps;
    }
    expect(controller.rateBps(100_000)).toBe(1e9);
    expect(cuts).toBe(7); // 50, 25, 12.5, 6.25, 3.125, 1.5625 and the minimum; the other 17 cut nothing
    expect(controller.targetRateBps).toBe(LINE);
  });
});

describe('recovery', () => {
  it('runs from the last cut: fast, then additive once, then hyper by a flat R_HAI', () => {
    const controller = hpcc();
    controller.notified(0);
    mark(controller, 0, 20_000); // five cuts, to 3.125 Gb/s with the line rate as target
    const cut = 20_001;
    controller.rateBps(cut);
    expect(controller.rateBps(cut + INCREASE - 1)).toBe(LINE / 32);
    const recovered = controller.rateBps(cut + INCREASE);
    expect(recovered).toBe((LINE + LINE / 32) / 2);
    controller.notified(cut + INCREASE);
    const cutAgain = cut + INCREASE + 4_000;
    controller.rateBps(cutAgain);
    expect(controller.targetRateBps).toBe(recovered);
    const targets = [1, 2, 3, 4].map((k) => {
      controller.rateBps(cutAgain + k * INCREASE);
      return Math.round(controller.targetRateBps - recovered) / 1e6;
    });
    expect(targets).toEqual([0, 20, 220, 420]);
  });

  it('goes before a cut of the same nanosecond, for its clock is the slower one', () => {
    const controller = hpcc(); // 300 us are 75 periods of the monitor
    controller.notified(0);
    controller.rateBps(4_001);
    const afterCut = controller.currentRateBps;
    controller.notified(4_001 + INCREASE - 1);
    controller.rateBps(4_001 + INCREASE);
    expect(controller.targetRateBps).toBe((afterCut + LINE) / 2);
  });

  it('never comes where its clock is not slower than the monitor and each period has a notification', () => {
    const controller = flow({ ...READABLE, rpgTimeResetNs: 4 * US });
    controller.notified(0);
    mark(controller, 0, 400_000);
    expect(controller).toMatchObject({ currentRateBps: 1e6, targetRateBps: LINE });
  });

  it('needs both counters past the threshold for hyper increase where there is a byte counter', () => {
    const controller = flow({ ...hpccParameters(LINE, 'mlx'), rpgByteResetBytes: 1_000_000, clampTgtRate: true });
    controller.notified(0);
    mark(controller, 0, 20_000);
    const cut = 20_001;
    controller.rateBps(cut);
    const base = controller.targetRateBps;
    controller.rateBps(cut + 10 * INCREASE);
    expect(Math.round(controller.targetRateBps - base)).toBe(9 * 20e6);
    controller.sent(cut + 10 * INCREASE, 2_000_000);
    expect(Math.round(controller.targetRateBps - base)).toBe(11 * 20e6);
    controller.rateBps(cut + 11 * INCREASE);
    expect(Math.round(controller.targetRateBps - base)).toBe(11 * 20e6 + 200e6);
  });

  it('ends at RPG_MAX_RATE, where the flow is no longer limited', () => {
    const controller = flow({ ...READABLE, rpgMaxRateBps: 30e9 });
    expect(controller.currentRateBps).toBe(30e9);
    expect(controller.rateBps(0)).toBe(Infinity);
    controller.notified(0);
    expect(controller.rateBps(4_001)).toBe(30e9 * (1 - 1 / 32));
    expect(controller.rateBps(1e9)).toBe(Infinity);
    expect(controller).toMatchObject({ currentRateBps: 30e9, targetRateBps: 30e9 });
  });

  it('costs nothing for an hour of silence: clocks of a nanosecond and a target that would take 10^12 rounds', () => {
    const fastest = { dceTcpRttNs: 1, rateReduceMonitorPeriodNs: 1, rpgTimeResetNs: 1 };
    const controller = flow({ ...READABLE, ...fastest, clampTgtRate: true, rpgAiRateBps: 1e-3, rpgHaiRateBps: 1e-3 });
    for (let now = 0; now < 10; now++) controller.notified(now);
    controller.rateBps(11);
    const base = controller.targetRateBps;
    const hour = 3_600 * 1e9;
    controller.rateBps(hour);
    expect(controller.targetRateBps).toBeCloseTo(base + hour * 1e-3, 0);
    expect(controller.alpha).toBe(0);
  });
});

describe('the HPCC run with the timers of the paper', () => {
  it('estimates and looks each 50 us, raises each 55', () => {
    const controller = hpcc('paper');
    controller.notified(0);
    expect(controller.rateBps(50 * US)).toBe(Infinity);
    const cut = LINE * (1 - 255 / 512);
    expect(controller.rateBps(50 * US + 1)).toBe(cut);
    expect(controller.rateBps(105 * US)).toBe(cut);
    expect(controller.rateBps(105 * US + 1)).toBe((cut + LINE) / 2);
  });
});
