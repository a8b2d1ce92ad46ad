/**
 * Goal: figures are what their names say, and verdicts follow from them. Method: outcomes made by hand, figures
 * computed by hand.
 */
import { describe, expect, it } from 'vitest';
import { judge } from '../../../tools/sim/run/judge.ts';
import { measure, slowdownBySize, summary } from '../../../tools/sim/run/measure.ts';
import type { FigureExpectation, Selection } from '../../../tools/sim/scenario/expect.ts';
import { parseFigure } from '../../../tools/sim/scenario/figures.ts';
import { loadScenario } from '../../../tools/sim/scenario/load.ts';
import { flow, outcome, SMALL } from './support.ts';

const TIMES = [1, 2, 3, 4].map((fct) => flow({ fctNs: fct * 1000 }));

function figure(name: string, of = outcome({ flows: TIMES }), selection: Selection = {}): number | undefined {
  return measure(of, parseFigure(name), selection);
}

describe('a figure', () => {
  it.each([
    ['fctNs.mean', 2500],
    ['fctNs.min', 1000],
    ['fctNs.max', 4000],
    ['fctNs.sum', 10_000],
    ['fctNs.p50', 2000],
    ['fctNs.p75', 3000],
    ['fctNs.p99.9', 4000],
    ['fctNs.p0', 1000],
    ['fctNs.jitter', 2000],
    ['fctNs.stddev', Math.sqrt(1.25e6)],
    ['fctNs.cv', Math.sqrt(1.25e6) / 2500],
    ['fctNs.jain', 1e8 / (4 * 30e6)],
    ['flows', 4],
    ['completed', 4],
    ['failed', 0],
    ['lastFctNs', 4000],
    ['throughputBps', (4000 * 8 * 1e9) / 4000],
  ])('%s', (name, value) => expect(figure(name)).toBeCloseTo(value, 9));

  it('of nothing is undefined, never 0', () => {
    const { fctNs: _, ...running } = flow({ status: 'running' });
    const none = outcome({ flows: [running] });
    expect(figure('fctNs.mean', none)).toBeUndefined();
    expect(figure('lastFctNs', none)).toBeUndefined();
    expect(figure('queueBytes.mean', none)).toBeUndefined();
    expect(figure('dropped', none)).toBeUndefined();
    expect(Object.keys(summary(none))).not.toContain('fctNs.mean');
  });

  it('counts a flow that ended badly as failed, and one that was stopped not', () => {
    const flows = ['done', 'running', 'stopped', 'waiting', 'RetryExcErr'].map((status) => flow({ status }));
    expect(figure('failed', outcome({ flows }))).toBe(1);
  });

  it('is of a group, of sizes, of a time, of a queue', () => {
    const series = [
      { kind: 'queueBytes', of: 'switch0:1', times: [0, 10, 20], values: [100, 200, 300] },
      { kind: 'queueBytes', of: 'switch0:2', times: [0, 10, 20], values: [0, 0, 0] },
      { kind: 'rateBps', of: 0, times: [0, 10, 20], values: [4, 8, 8] },
      { kind: 'rateBps', of: 1, times: [0, 10, 20], values: [8, 2, 2] },
    ] as const;
    const flows = [flow({ group: 'a', bytes: 10, fctNs: 1 }), flow({ group: 'b', bytes: 1000, fctNs: 9 })];
    const all = outcome({ flows, series });
    expect(figure('fctNs.mean', all, { group: 'b' })).toBe(9);
    expect(figure('fctNs.mean', all, { maxBytes: 100 })).toBe(1);
    expect(figure('fctNs.mean', all, { minBytes: 11 })).toBe(9);
    expect(figure('queueBytes.mean', all, { queue: 'switch0:1', fromNs: 10 })).toBe(250);
    expect(figure('queueBytes.max', all, { queue: 'switch0:1', toNs: 20 })).toBe(200);
    expect(figure('rateBps.min', all, { fromNs: 10 })).toBe(2);
    expect(figure('rateBps.mean', all, { group: 'a', fromNs: 10 })).toBe(8);
  });

  it('of queues is taken from the many looks of the run where no time is asked for, of the longest queue', () => {
    const looks = { stddev: 1, p5: 2, p50: 3, p95: 4, max: 5 };
    const queues = [
      { port: 'switch0:1', mean: 10, ...looks },
      { port: 'switch0:2', mean: 20, ...looks, max: 50 },
    ];
    const all = outcome({ queues, series: [{ kind: 'queueBytes', of: 'switch0:1', times: [0], values: [7] }] });
    expect(figure('queueBytes.mean', all)).toBe(20);
    expect(figure('queueBytes.max', all)).toBe(50);
    expect(figure('queueBytes.p95', all, { queue: 'switch0:1' })).toBe(4);
    expect(figure('queueBytes.cv', all)).toBe(1 / 20);
    expect(figure('queueBytes.mean', all, { fromNs: 0 })).toBe(7);
    expect(figure('queueBytes.p90', all)).toBe(7);
  });

  it('has a line for each group in the summary where there are several', () => {
    const flows = [flow({ group: 'a', fctNs: 1 }), flow({ group: 'b', fctNs: 9 })];
    expect(summary(outcome({ flows }))).toMatchObject({ 'fctNs.mean': 5, 'a:fctNs.mean': 1, 'b:fctNs.mean': 9 });
    expect(Object.keys(summary(outcome()))).not.toContain('incast:fctNs.mean');
  });
});

describe('slowdown by size', () => {
  it('has parts of as many flows each, and flows of one size in one part', () => {
    const flows = [10, 10, 10, 20, 30, 40].map((bytes, at) => flow({ bytes, slowdown: at + 1 }));
    expect(slowdownBySize(outcome({ flows }), 3)).toEqual([
      { fromBytes: 10, toBytes: 10, flows: 3, p50: 2, p95: 3, p99: 3 },
      { fromBytes: 20, toBytes: 20, flows: 1, p50: 4, p95: 4, p99: 4 },
      { fromBytes: 30, toBytes: 40, flows: 2, p50: 5, p95: 6, p99: 6 },
    ]);
  });

  it('is empty when no flow has ended', () => {
    expect(slowdownBySize(outcome({ flows: [] }))).toEqual([]);
  });
});

describe('a verdict', () => {
  const { variants } = loadScenario({ path: 'x', json: { ...SMALL, compare: { a: {}, b: {} } } });
  const run = variants.map(({ name, variant }, at) => ({
    name,
    variant,
    outcome: outcome({ counts: { dropped: at * 10 }, flows: [flow({ fctNs: 1000 * (at + 1) })] }),
  }));
  const expectation = (changes: Partial<FigureExpectation>): FigureExpectation => ({
    figure: 'fctNs.mean',
    operator: '<',
    value: 1500,
    tolerance: 0.1,
    ...changes,
  });
  const passed = (changes: Partial<FigureExpectation>) =>
    judge([expectation(changes)], run).map((verdict) => verdict.passed);

  it('is one for each variant unless one is named', () => {
    expect(passed({})).toEqual([true, false]);
    expect(passed({ variant: 'b' })).toEqual([false]);
  });

  it.each<[FigureExpectation['operator'], number, boolean]>([
    ['<', 2000, false],
    ['<=', 2000, true],
    ['>', 2000, false],
    ['>=', 2000, true],
    ['==', 2000, true],
    ['~', 2200, true],
    ['~', 2300, false],
    ['~', 1800, false],
  ])('2000 %s %d', (operator, value, holds) => expect(passed({ variant: 'b', operator, value })).toEqual([holds]));

  it('can compare with another variant, or another figure', () => {
    expect(passed({ variant: 'b', operator: '==', value: { variant: 'a', times: 2 } })).toEqual([true]);
    expect(passed({ variant: 'b', operator: '==', value: { figure: 'dropped', times: 200 } })).toEqual([true]);
  });

  it('compares the same part of the other variant, unless it names another part', () => {
    const flows = (times: number) => [
      flow({ group: 'x', fctNs: 10 * times }),
      flow({ group: 'y', fctNs: 1000 * times }),
    ];
    const grouped = run.map((one, at) => ({ ...one, outcome: outcome({ flows: flows(at + 1) }) }));
    const wanted = (value: FigureExpectation['value']) =>
      judge([expectation({ variant: 'b', group: 'x', value })], grouped).map((verdict) => verdict.wanted);
    expect(wanted({ variant: 'a', times: 1 })).toEqual([10]);
    expect(wanted({ variant: 'a', group: 'y', times: 1 })).toEqual([1000]);
  });

  it('fails where there is no such figure, and says so', () => {
    const [verdict] = judge([expectation({ figure: 'queueBytes.mean', variant: 'a' })], run);
    expect(verdict).toMatchObject({ passed: false, found: null, wanted: 1500 });
  });
});
