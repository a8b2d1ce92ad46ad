/**
 * Goal: both profiles are the tables of ref:dcqcn#2, the runs of HPCC those of ref:dcqcn#4, and what is out of range is
 * named. Method: the tables once more, in the units of their sources; every parameter at and beyond its ends.
 */
import { describe, expect, it } from 'vitest';
import { RoceError } from '../../../packets/errors.ts';
import {
  hpccParameters,
  MLX_DEFAULTS,
  type MlxParameters,
  mlxParameters,
  PAPER_DEFAULTS,
  type PaperParameters,
  paperParameters,
} from '../../../transport/congestion/dcqcn-parameters.ts';

const US = 1_000;
const MBPS = 1e6;
const LINE = 40e9;

describe('the defaults', () => {
  it('of paper are the files of the authors', () => {
    expect(PAPER_DEFAULTS).toEqual({
      cnpTimerNs: 50 * US,
      alphaTimerNs: 55 * US,
      rateTimerNs: 55 * US,
      byteCounterBytes: 10e6,
      fastRecoveryStages: 5,
      g: 1 / 256,
      aiRateBps: 40 * MBPS,
      haiRateBps: 40 * MBPS,
      minRateBps: 10 * MBPS,
    });
  });

  it("of mlx are the firmware's", () => {
    expect(MLX_DEFAULTS).toEqual({
      clampTgtRate: false,
      clampTgtRateAfterTimeInc: true,
      rpgTimeResetNs: 300 * US,
      rpgByteResetBytes: 2_097_088,
      rpgThreshold: 1,
      rpgMaxRateBps: 0,
      rpgMinRateBps: 1 * MBPS,
      rpgAiRateBps: 5 * MBPS,
      rpgHaiRateBps: 50 * MBPS,
      rpgGd: 11,
      rpgMinDecFac: 50,
      rateToSetOnFirstCnpBps: 0,
      dceTcpG: 1019,
      dceTcpRttNs: 1 * US,
      rateReduceMonitorPeriodNs: 4 * US,
      initialAlphaValue: 1023,
    });
  });

  it('are used for what is not asked for', () => {
    expect(paperParameters({ g: 1 / 16 }, LINE)).toEqual({ ...PAPER_DEFAULTS, g: 1 / 16 });
    expect(mlxParameters({ rpgThreshold: 5 }, LINE)).toEqual({ ...MLX_DEFAULTS, rpgThreshold: 5 });
  });
});

describe('the runs of HPCC', () => {
  it('have at 100G the settings of its mlx run', () => {
    expect(mlxParameters(hpccParameters(100e9, 'mlx'), 100e9)).toEqual({
      ...MLX_DEFAULTS,
      rpgByteResetBytes: 0,
      dceTcpG: 1020,
      initialAlphaValue: 1024,
      rpgMinRateBps: 1e9,
      rpgAiRateBps: 20 * MBPS,
      rpgHaiRateBps: 200 * MBPS,
    });
  });

  it('have other clocks with the timers of the paper, and increments that go with the port', () => {
    expect(hpccParameters(100e9, 'paper')).toEqual({
      ...hpccParameters(100e9, 'mlx'),
      dceTcpRttNs: 50 * US,
      rateReduceMonitorPeriodNs: 50 * US,
      rpgTimeResetNs: 55 * US,
    });
    expect(hpccParameters(25e9, 'mlx')).toMatchObject({ rpgAiRateBps: 5 * MBPS, rpgHaiRateBps: 50 * MBPS });
  });
});

const TIME: readonly [number, number] = [1, 1e15];
const RATE: readonly [number, number] = [0, Number.MAX_SAFE_INTEGER];

const PAPER_RANGES: Readonly<Record<keyof PaperParameters, readonly [number, number]>> = {
  cnpTimerNs: [0, 1e15 - 1],
  alphaTimerNs: [50_001, 1e15],
  rateTimerNs: TIME,
  byteCounterBytes: [64, Number.MAX_SAFE_INTEGER],
  fastRecoveryStages: [0, 31],
  g: [Number.MIN_VALUE, 1],
  aiRateBps: RATE,
  haiRateBps: RATE,
  minRateBps: [1, LINE],
};

const MLX_RANGES: Readonly<Record<Exclude<keyof MlxParameters, `clamp${string}`>, readonly [number, number]>> = {
  rpgTimeResetNs: TIME,
  rpgByteResetBytes: [64, Number.MAX_SAFE_INTEGER],
  rpgThreshold: [0, 31],
  rpgMaxRateBps: [0, Number.MAX_SAFE_INTEGER],
  rpgMinRateBps: [1, LINE],
  rpgAiRateBps: RATE,
  rpgHaiRateBps: RATE,
  rpgGd: [10, 11],
  rpgMinDecFac: [0, 100],
  rateToSetOnFirstCnpBps: [0, LINE],
  dceTcpG: [0, 1023],
  dceTcpRttNs: TIME,
  rateReduceMonitorPeriodNs: TIME,
  initialAlphaValue: [1, 1024],
};

/** Next to what is in range, as the knobs count, and far off. */
const beyond = (low: number, high: number): number[] => [-1, Math.ceil(low) - 1, Math.floor(high) + 1, high * 2];

const NOT_NUMBERS = [Number.NaN, undefined, null, '5', {}];

function refusalOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof RoceError && error.code === 'ERR_ROCE_ARGUMENT') return error.message;
  }
  return 'none';
}

describe('a parameter out of range', () => {
  it.each(Object.entries(PAPER_RANGES))(
    '%s of paper is taken from %j, and refused by name beyond',
    (name, [low, high]) => {
      const others = name === 'cnpTimerNs' ? { alphaTimerNs: 1e15 } : {};
      for (const value of [low, high])
        expect(paperParameters({ ...others, [name]: value }, LINE)).toMatchObject({ [name]: value });
      // alphaTimerNs, as long as it can be, is no longer than the largest cnpTimerNs.
      for (const value of [...beyond(low, high), ...NOT_NUMBERS])
        expect(refusalOf(() => paperParameters({ ...others, [name]: value }, LINE))).toMatch(
          new RegExp(`^${name} | longer than ${name} `),
        );
    },
  );

  it.each(Object.entries(MLX_RANGES))('%s of mlx is taken from %j, and refused by name beyond', (name, [low, high]) => {
    for (const value of [low, high])
      expect(mlxParameters({ rpgMaxRateBps: 0, [name]: value }, LINE)).toMatchObject({ [name]: value });
    for (const value of [...beyond(low, high), ...NOT_NUMBERS])
      expect(refusalOf(() => mlxParameters({ [name]: value }, LINE))).toMatch(new RegExp(`^${name} `));
  });

  it('has to be whole where hardware counts', () => {
    expect(refusalOf(() => mlxParameters({ dceTcpG: 1019.5 }, LINE))).toContain(
      'a whole number from 0 to 1023, not 1019.5',
    );
    expect(refusalOf(() => paperParameters({ rateTimerNs: 0.5 }, LINE))).toContain('rateTimerNs');
  });

  it('has to be a flag where it is one', () => {
    expect(refusalOf(() => mlxParameters(JSON.parse('{"clampTgtRate":1}'), LINE))).toContain('clampTgtRate');
    expect(refusalOf(() => mlxParameters(JSON.parse('{"clampTgtRateAfterTimeInc":"yes"}'), LINE))).toContain(
      'AfterTimeInc',
    );
  });

  it('has to have a name that is known', () => {
    expect(refusalOf(() => paperParameters(JSON.parse('{"rpgGd":11}'), LINE))).toBe(
      "the paper profile of DCQCN has no parameter 'rpgGd'",
    );
    expect(refusalOf(() => mlxParameters(JSON.parse('{"__proto__":1,"toString":2}'), LINE))).toContain(
      "no parameter '",
    );
  });

  it('may mean: there is none, for a byte counter and for the timer of paper', () => {
    for (const absent of [0, Infinity]) {
      expect(paperParameters({ byteCounterBytes: absent }, LINE).byteCounterBytes).toBe(absent);
      expect(mlxParameters({ rpgByteResetBytes: absent }, LINE).rpgByteResetBytes).toBe(absent);
    }
    expect(paperParameters({ rateTimerNs: Infinity }, LINE).rateTimerNs).toBe(Infinity);
  });

  it('is one that contradicts another: alpha may not decay between two notifications, the minimum not pass the maximum', () => {
    expect(refusalOf(() => paperParameters({ alphaTimerNs: 50_000 }, LINE))).toBe(
      "alphaTimerNs of DCQCN's paper profile is longer than cnpTimerNs (50000), not 50000",
    );
    expect(refusalOf(() => mlxParameters({ rpgMaxRateBps: 1e9, rpgMinRateBps: 2e9 }, LINE))).toContain('rpgMinRateBps');
  });
});
