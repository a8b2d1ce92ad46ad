/**
 * The plots of one run: what was sampled over time, variants laid over each other, the fluid model beside them where it
 * was asked for; and how long flows took. Owns which lines are drawn when there are too many.
 */

import { slowdownBySize, sorted } from '../run/measure.ts';
import type { OutcomeSeries, OutcomeSeriesKind, RunOutcome } from '../run/outcome.ts';
import { decimate, INK, type Plot, type PlotLine, rounded, timeUnit } from './plot.ts';

/** One variant and what it gave. */
export interface VariantOutcome {
  readonly name: string;
  readonly outcome: RunOutcome;
}

/** A curve of the fluid model. */
export interface FluidCurve {
  readonly variant: string;
  readonly kind: Extract<OutcomeSeriesKind, 'queueBytes' | 'rateBps' | 'targetRateBps' | 'alpha'>;
  /** Of which flow it is, where they differ. */
  readonly flow?: number;
  readonly timesNs: readonly number[];
  readonly values: readonly number[];
}

export function runPlots(variants: readonly VariantOutcome[], fluid: readonly FluidCurve[]): Plot[] {
  const endNs = Math.max(1, ...variants.map(({ outcome }) => outcome.endNs));
  const overTime = KINDS.map((kind) => timePlot(kind, variants, fluid, endNs)).filter((plot) => plot.lines.length > 0);
  return [...overTime, ...flowPlots(variants)];
}

function timePlot(
  kind: KindOfPlot,
  variants: readonly VariantOutcome[],
  fluid: readonly FluidCurve[],
  endNs: number,
): Plot {
  const unit = timeUnit(endNs);
  const lines: PlotLine[] = [];
  const add = (label: string, colour: number, dash: number, times: readonly number[], values: readonly number[]) => {
    const thin = decimate(times, values);
    const x = rounded(thin.x.map((time) => time / unit.ns));
    lines.push({ label, colour, dash, x, y: rounded(thin.y.map((value) => value / kind.divisor)) });
  };
  variants.forEach(({ name, outcome }, place) => {
    const series = outcome.series.filter((one) => one.kind === kind.kind);
    const alone = variants.length === 1;
    const drawn = series.length * variants.length <= MAX_LINES ? series.map(named(outcome)) : crowd(series, kind.parts);
    drawn.forEach(({ label, times, values }, at) => {
      const text = [alone ? '' : name, label].filter((part) => part !== '').join(' · ') || name;
      add(text, alone ? at : place, alone ? 0 : at, times, values);
    });
    for (const curve of fluid.filter((one) => one.variant === name && one.kind === kind.kind)) {
      const own = curve.flow === undefined ? '' : `flow ${curve.flow}`;
      const label = [alone ? '' : name, 'fluid model', own].filter((part) => part !== '').join(' · ');
      add(label, alone ? INK : place, 1, curve.timesNs, curve.values);
    }
  });
  const { title, about, y, stepped } = kind;
  return { title, about, x: `time, ${unit.name}`, y, ...(stepped ? { stepped } : {}), lines };
}

interface DrawnSeries {
  readonly label: string;
  readonly times: readonly number[];
  readonly values: readonly number[];
}

function named({ flows }: RunOutcome): (series: OutcomeSeries) => DrawnSeries {
  return ({ of, times, values }) => {
    const flow = typeof of === 'number' ? flows[of] : undefined;
    const own = of === 'all' ? '' : String(of);
    const label = flow === undefined ? own : `${flow.src}→${flow.dst} #${of}`;
    return { label, times, values };
  };
}

/** Too many to tell apart: mean, least and greatest of them all; or their sum, of what is counted. */
function crowd(series: readonly OutcomeSeries[], parts: KindOfPlot['parts']): DrawnSeries[] {
  const at = new Map<number, number[]>();
  for (const { times, values } of series)
    times.forEach((time, index) => {
      const list = at.get(time);
      const value = values[index] ?? 0;
      if (list === undefined) at.set(time, [value]);
      else list.push(value);
    });
  const times = sorted([...at.keys()]);
  const made = (label: string, of: (values: readonly number[]) => number): DrawnSeries => ({
    label: `${label} of ${series.length}`,
    times,
    values: times.map((time) => of(at.get(time) ?? [0])),
  });
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  if (parts === 'add up') return [made('sum', sum)];
  return [
    made('mean', (values) => sum(values) / values.length),
    made('least', (values) => values.reduce((a, b) => Math.min(a, b), Infinity)),
    made('greatest', (values) => values.reduce((a, b) => Math.max(a, b), -Infinity)),
  ];
}

function flowPlots(variants: readonly VariantOutcome[]): Plot[] {
  const plots: Plot[] = [];
  const sizes = new Set(variants.flatMap(({ outcome }) => outcome.flows.map(({ bytes }) => bytes)));
  if (sizes.size > 3) plots.push(slowdownPlot(variants));
  const completions = completionPlot(variants);
  if (completions.lines.some(({ x }) => x.length > 1)) plots.push(completions);
  return plots;
}

function slowdownPlot(variants: readonly VariantOutcome[]): Plot {
  const lines = variants.flatMap(({ name, outcome }, colour) => {
    const rows = slowdownBySize(outcome);
    const x = rows.map(({ toBytes }) => toBytes);
    return (['p50', 'p95', 'p99'] as const).map((key, dash) => ({
      label: variants.length === 1 ? key : `${name} · ${key}`,
      colour: variants.length === 1 ? dash : colour,
      dash,
      points: true,
      x,
      y: rounded(rows.map((row) => row[key])),
    }));
  });
  return {
    title: 'Slowdown by size of flow',
    about: 'Completion time over that of the same flow alone on an idle network; percentiles of flows up to this size.',
    x: 'flow size, bytes',
    y: 'slowdown',
    logX: true,
    logY: true,
    lines,
  };
}

function completionPlot(variants: readonly VariantOutcome[]): Plot {
  const times = variants.map(({ outcome }) => sorted(outcome.flows.flatMap(({ fctNs }) => fctNs ?? [])));
  const longest = Math.max(1, ...times.map((list) => list.at(-1) ?? 0));
  const unit = timeUnit(longest);
  const lines = variants.map(({ name }, colour) => {
    const list = times[colour] ?? [];
    const shares = list.map((_, at) => (100 * (at + 1)) / list.length);
    const thin = decimate(list, shares);
    return { label: name, colour, dash: 0, x: rounded(thin.x.map((time) => time / unit.ns)), y: rounded(thin.y) };
  });
  return {
    title: 'Flow completion times',
    about: 'Share of completed flows that took at most so long.',
    x: `completion time, ${unit.name}`,
    y: 'flows, %',
    stepped: true,
    lines: lines.filter(({ x }) => x.length > 0),
  };
}

interface KindOfPlot {
  readonly kind: OutcomeSeriesKind;
  readonly title: string;
  readonly about: string;
  readonly y: string;
  readonly divisor: number;
  readonly stepped?: boolean;
  readonly parts: 'add up' | 'stand alone';
}

const KINDS: readonly KindOfPlot[] = [
  {
    kind: 'rateBps',
    title: 'Rates',
    about: 'What congestion control allows each flow to send.',
    y: 'Gb/s',
    divisor: 1e9,
    parts: 'stand alone',
  },
  {
    kind: 'targetRateBps',
    title: 'Target rates',
    about: 'What the rates recover towards.',
    y: 'Gb/s',
    divisor: 1e9,
    parts: 'stand alone',
  },
  {
    kind: 'alpha',
    title: 'Alpha',
    about: "DCQCN's estimate of how much is marked; half of it is the size of the next cut.",
    y: 'alpha',
    divisor: 1,
    parts: 'stand alone',
  },
  {
    kind: 'queueBytes',
    title: 'Queue depth',
    about: 'Bytes that wait at an egress port.',
    y: 'KB',
    divisor: 1e3,
    parts: 'stand alone',
  },
  {
    kind: 'cnps',
    title: 'Congestion notifications',
    about: 'CNPs that receivers have sent so far.',
    y: 'CNPs',
    divisor: 1,
    stepped: true,
    parts: 'add up',
  },
  {
    kind: 'pauses',
    title: 'Pause frames',
    about: 'PFC pause frames sent so far.',
    y: 'frames',
    divisor: 1,
    stepped: true,
    parts: 'add up',
  },
];

/** More than this and a plot is a tangle. */
const MAX_LINES = 16;
