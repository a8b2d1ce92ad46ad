/**
 * Goal: a report is one file that shows what the result has, fetches nothing, and lets nothing in the data become a
 * part of the page. Method: reports of small runs, taken apart; the page's script run against stand-ins for a browser
 * and for uPlot.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { runInNewContext, Script } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { escapeHtml, jsonForHtml, reportHtml } from '../../../tools/sim/report/html.ts';
import { decimate, type Plot } from '../../../tools/sim/report/plot.ts';
import { runPlots } from '../../../tools/sim/report/run-plots.ts';
import { runReport } from '../../../tools/sim/report/run-report.ts';
import { sweepReport } from '../../../tools/sim/report/sweep-report.ts';
import { execute } from '../../../tools/sim/run/execute.ts';
import { planRuns } from '../../../tools/sim/run/plan.ts';
import { flow, jobOf, outcome, small } from './support.ts';

const EVIL = '</script><script>alert(1)</script><img src=x onerror=alert(1)> & "quotes" \u2028';

function report(title = 'Two to one') {
  const json = small({
    title,
    compare: { one: {}, two: { loss: 0.001 } },
    expect: [{ figure: 'dropped', operator: '==', value: 0, why: EVIL }],
  });
  const { record, details = { variants: [], fluid: [] } } = execute(jobOf(json, { details: true }), () => {});
  const input = { title, about: EVIL, record, details, json, command: `roce sim '${EVIL}'` };
  return { html: reportHtml(runReport(input)), details };
}

/** Text of the elements of a kind, as a parser of HTML sees scripts: up to the first end tag. */
function elements(html: string, name: string): { readonly attributes: string; readonly text: string }[] {
  return [...html.matchAll(new RegExp(`<${name}\\b([^>]*)>([\\s\\S]*?)</${name}>`, 'g'))].map(
    ([, attributes = '', text = '']) => ({ attributes, text }),
  );
}

function dataOf(html: string): { readonly plots: readonly Plot[] } {
  return JSON.parse(elements(html, 'script').find(({ attributes }) => attributes.includes('json'))?.text ?? '');
}

describe('a report of a run', () => {
  const { html, details } = report(EVIL);

  it('has the plots of the result as its data, and a place for each', () => {
    const { plots } = dataOf(html);
    expect(plots).toEqual(JSON.parse(JSON.stringify(runPlots(details.variants, details.fluid))));
    expect(plots.map(({ title }) => title)).toEqual([
      'Rates',
      'Target rates',
      'Alpha',
      'Queue depth',
      'Congestion notifications',
      'Pause frames',
      'Flow completion times',
    ]);
    expect(html.match(/data-plot="\d+"/g)).toEqual(plots.map((_, index) => `data-plot="${index}"`));
  });

  it('keeps texts of the scenario texts', () => {
    const scripts = elements(html, 'script');
    expect(scripts.map(({ attributes }) => attributes)).toEqual([
      ' type="application/json" id="data"',
      '',
      ' type="module"',
    ]);
    expect(html).not.toContain('<img');
    expect(html).not.toContain('alert(1)<');
    expect(html).toContain('&#60;img src=x onerror=alert(1)&#62;');
  });

  it('has scripts that parse, and a policy that lets these run and nothing else', () => {
    const scripts = elements(html, 'script').filter(({ attributes }) => !attributes.includes('json'));
    const [, policy = ''] = /Content-Security-Policy" content="([^"]*)"/.exec(html) ?? [];
    for (const { text } of [...scripts, ...elements(html, 'style')])
      expect(policy).toContain(createHash('sha256').update(text).digest('base64'));
    for (const { text } of scripts) expect(() => new Script(text)).not.toThrow();
    expect(policy).toMatch(/^default-src 'none';/);
    expect(policy).not.toContain('unsafe');
  });

  it('asks for nothing from anywhere', () => {
    const withoutLibrary = html.replace(/<script>[\s\S]*?<\/script>/, '');
    expect(withoutLibrary).not.toMatch(/https?:|url\(|@import|<link|src=["']/);
  });

  it('fits narrow and dark screens by its styles', () => {
    const [style] = elements(html, 'style');
    expect(html).toContain('name="viewport" content="width=device-width, initial-scale=1"');
    expect(style?.text).toContain('prefers-color-scheme: dark');
    expect(style?.text).toContain('overflow-x: auto');
  });

  it('is drawn by its script: every plot, all its lines, at the width of its place, again in the dark', () => {
    const drawn = drawnBy(html, 390);
    const { plots } = dataOf(html);
    expect(drawn.charts).toHaveLength(plots.length);
    drawn.charts.forEach(({ options, data }, index) => {
      expect(options.width).toBe(390);
      expect(options.series).toHaveLength((plots[index]?.lines.length ?? 0) + 1);
      expect(data).toHaveLength(plots[index]?.lines.length ?? 0);
    });
    drawn.goDark();
    expect(drawn.charts).toHaveLength(2 * plots.length);
  });
});

interface Chart {
  readonly options: { readonly width: number; readonly series: readonly unknown[] };
  readonly data: readonly unknown[];
}

/** What the page's own script asks uPlot for, in a window as wide as this. */
function drawnBy(html: string, width: number): { readonly charts: readonly Chart[]; goDark(): void } {
  const charts: Chart[] = [];
  const dark = {
    matches: false,
    change: (): void => {},
    addEventListener: (_: string, then: () => void): void => {
      dark.change = then;
    },
  };
  const places = [...html.matchAll(/data-plot="(\d+)"/g)].map(([, plot]) => ({
    dataset: { plot },
    clientWidth: width,
  }));
  class StandIn {
    static readonly paths = { stepped: () => 'stepped' };
    static join = (tables: readonly unknown[]): readonly unknown[] => tables;
    constructor(options: Chart['options'], data: Chart['data']) {
      charts.push({ options, data });
    }
    destroy(): void {}
  }
  const data = elements(html, 'script').find(({ attributes }) => attributes.includes('json'));
  runInNewContext(elements(html, 'script').find(({ attributes }) => attributes.includes('module'))?.text ?? '', {
    document: {
      getElementById: () => ({ textContent: data?.text }),
      querySelectorAll: () => places,
      documentElement: {},
    },
    window: { matchMedia: () => dark },
    getComputedStyle: () => ({ getPropertyValue: () => ' #123456' }),
    ResizeObserver: class {
      observe(): void {}
    },
    uPlot: StandIn,
  });
  return { charts, goDark: () => dark.change() };
}

describe('plots', () => {
  it('show mean, least and greatest of flows where there are too many to tell apart', () => {
    const series = Array.from({ length: 20 }, (_, of) => ({
      kind: 'rateBps' as const,
      of,
      times: [0, 10],
      values: [of * 1e9, 1e9],
    }));
    const [plot] = runPlots([{ name: 'x', outcome: outcome({ series, endNs: 1e6 }) }], []);
    expect(plot?.lines.map(({ label, y }) => [label, ...y])).toEqual([
      ['mean of 20', 9.5, 1],
      ['least of 20', 0, 1],
      ['greatest of 20', 19, 1],
    ]);
  });

  it('show slowdown by size when there are sizes', () => {
    const flows = [1, 2, 3, 4, 5].map((size) => flow({ bytes: size * 1000, slowdown: size }));
    const titles = runPlots([{ name: 'x', outcome: outcome({ flows }) }], []).map(({ title }) => title);
    expect(titles).toEqual(['Slowdown by size of flow', 'Flow completion times']);
  });

  it('lose no peak when points are left out', () => {
    const x = Array.from({ length: 100_000 }, (_, at) => at);
    const y = x.map((at) => (at === 77_777 ? 1000 : at === 5 ? -1 : 0));
    const thin = decimate(x, y, 1000);
    expect(thin.x.length).toBeLessThanOrEqual(1002);
    expect(Math.max(...thin.y)).toBe(1000);
    expect(Math.min(...thin.y)).toBe(-1);
    expect(thin.x).toEqual([...thin.x].sort((a, b) => a - b));
    expect(thin.x[thin.y.indexOf(1000)]).toBe(77_777);
  });
});

describe('a report of many runs', () => {
  const records = planRuns([], [{ path: ['traffic', 0, 'bytes'], values: [10_000, 400_000] }], [1, 2]).map(
    (run) => execute({ ...jobOf(small({ loss: 0.001 })), run, runs: 4 }, () => {}).record,
  );
  const html = reportHtml(sweepReport({ title: 'Sweep', about: ['About.'], records, command: 'roce sim' }));

  it('draws figures over what was swept: the median of the seeds, the least and the greatest', () => {
    const plot = dataOf(html).plots.find(({ title }) => title === 'fctNs.mean');
    expect(plot?.x).toBe('traffic[0].bytes');
    expect(plot?.y).toBe('fctNs.mean (µs)');
    expect(plot?.logX).toBe(true);
    expect(plot?.lines.map(({ label, x }) => [label, x])).toEqual([
      ['small', [10_000, 400_000]],
      ['small · least', [10_000, 400_000]],
      ['small · greatest', [10_000, 400_000]],
    ]);
  });

  it('has a row for each run', () => {
    expect(elements(html, 'tbody')[0]?.text.match(/<tr>/g)).toHaveLength(4);
  });
});

describe('escaping', () => {
  it('leaves nothing that HTML could take for its own', () => {
    expect(escapeHtml(EVIL)).not.toMatch(/[<>"']/);
    expect(jsonForHtml({ EVIL })).not.toMatch(/[<\u2028]/);
    expect(JSON.parse(jsonForHtml({ EVIL }))).toEqual({ EVIL });
  });

  it('has nothing to end a script in the library it inlines', () => {
    const library = readFileSync(
      new URL('../../../node_modules/uplot/dist/uPlot.iife.min.js', import.meta.url),
      'utf8',
    );
    expect(library).not.toMatch(/<\/script|<!--/i);
  });
});
