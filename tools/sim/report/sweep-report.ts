/**
 * The report of many runs: how figures depend on what was swept, each point the median of its seeds with the least and
 * the greatest. Owns which figures are drawn over which parameter.
 */
import { failureText, figureNames, shown, sweptNames } from '../output/text.ts';
import { figureText, withoutGroup } from '../output/words.ts';
import { percentile, sorted } from '../run/measure.ts';
import type { RunRecord } from '../run/record.ts';
import { aboutFigure, parseFigure, unitOf } from '../scenario/figures.ts';
import type { Report, ReportTable, Section, TableCell } from './html.ts';
import { type Plot, type PlotLine, rounded } from './plot.ts';
import { footer, verdictTable } from './run-report.ts';

export interface SweepReportInput {
  readonly title: string;
  readonly about: readonly string[];
  readonly records: readonly RunRecord[];
  readonly command: string;
}

export function sweepReport({ title, about, records, command }: SweepReportInput): Report {
  const swept = sweptNames(records);
  const sections: Section[] = [
    { kind: 'text', paragraphs: [...about, failureText(records) ?? 'All runs are as expected.'] },
  ];
  const plots = sweepPlots(records, swept);
  if (plots.length > 0) sections.push({ kind: 'plots', heading: 'Plots', plots });
  sections.push({ kind: 'table', heading: 'Runs', table: runTable(records, swept) });
  const failed = records.flatMap(({ verdicts }) => verdicts.filter(({ passed }) => !passed));
  if (failed.length > 0)
    sections.push({
      kind: 'table',
      heading: 'What did not hold',
      table: verdictTable({ verdicts: failed.slice(0, MAX_ROWS) }),
    });
  sections.push({ kind: 'code', heading: 'Run it again', text: command });
  const [first] = records;
  return {
    title,
    sections,
    footer: footer(`${records.length} runs of ${first?.scenario ?? ''}`, first?.version ?? ''),
  };
}

/** Each figure over the parameter with the most values, or over the seed where nothing was swept. */
export function sweepPlots(records: readonly RunRecord[], swept: readonly string[]): Plot[] {
  const numeric = swept.filter((name) => valuesOf(records, name).every((value) => typeof value === 'number'));
  const axis = numeric.reduce<string | undefined>(
    (best, name) =>
      best === undefined || valuesOf(records, name).length > valuesOf(records, best).length ? name : best,
    undefined,
  );
  const place = (record: RunRecord): number => (axis === undefined ? record.seed : Number(record.parameters[axis]));
  if (new Set(records.map(place)).size < 2) return [];
  const others = swept.filter((name) => name !== axis);
  const xs = records.map(place);
  return drawn(records).map((figure) => ({
    title: figure,
    about: `${aboutFigure(parseFigure(withoutGroup(figure)))} ${axis === undefined ? 'Each seed.' : 'Median of all seeds; dotted: the least and the greatest.'}`,
    x: axis ?? 'seed',
    y: `${figure} ${unit(figure)}`.trim(),
    logX: axis !== undefined && Math.min(...xs) > 0 && Math.max(...xs) / Math.min(...xs) >= 16,
    lines: lines(records, figure, place, others),
  }));
}

function drawn(records: readonly RunRecord[]): string[] {
  const names = figureNames(records).filter((name) => PLOTTED.includes(withoutGroup(name)));
  return names.filter((name) =>
    records.some(({ variants }) => variants.some(({ figures }) => (figures[name] ?? 0) !== 0)),
  );
}

/** A line for each variant and each value of the other parameters. */
function lines(
  records: readonly RunRecord[],
  figure: string,
  place: (record: RunRecord) => number,
  others: readonly string[],
): PlotLine[] {
  const of = new Map<string, Map<number, number[]>>();
  for (const record of records) {
    for (const { name, figures } of record.variants) {
      const value = figures[figure];
      if (value === undefined) continue;
      const label = [name, ...others.map((other) => `${other} = ${shown(record.parameters[other])}`)].join(' · ');
      const points = of.get(label) ?? new Map<number, number[]>();
      of.set(label, points);
      points.set(place(record), [...(points.get(place(record)) ?? []), value]);
    }
  }
  const divisor = DIVISORS[baseUnit(figure)]?.[0] ?? 1;
  return [...of].flatMap(([label, points], colour) => {
    const x = sorted([...points.keys()]);
    const at = (pick: (ascending: readonly number[]) => number): number[] =>
      rounded(x.map((key) => pick(sorted(points.get(key) ?? [])) / divisor));
    const median: PlotLine = { label, colour, dash: 0, points: true, x, y: at((all) => percentile(all, 50)) };
    if ([...points.values()].every((all) => all.length === 1)) return [median];
    const least: PlotLine = { label: `${label} · least`, colour, dash: 2, x, y: at((all) => all[0] ?? 0) };
    const most: PlotLine = { label: `${label} · greatest`, colour, dash: 2, x, y: at((all) => all.at(-1) ?? 0) };
    return [median, least, most];
  });
}

function runTable(records: readonly RunRecord[], swept: readonly string[]): ReportTable {
  const figures = drawn(records);
  const headings = ['run', ...swept, 'seed', 'variant', ...figures, 'expectations'];
  const rows = records.slice(0, MAX_ROWS).flatMap((record) =>
    record.variants.map(({ name, figures: all }): TableCell[] => {
      const own = record.verdicts.filter(({ variant }) => variant === name);
      const passed = own.filter((verdict) => verdict.passed).length;
      const verdict: TableCell =
        own.length === 0
          ? ''
          : { text: `${passed} of ${own.length}`, verdict: passed === own.length ? 'pass' : 'fail' };
      const lead = [
        String(record.index),
        ...swept.map((parameter) => shown(record.parameters[parameter])),
        String(record.seed),
        name,
      ];
      return [...lead, ...figures.map((figure) => figureText(figure, all[figure])), verdict];
    }),
  );
  const failed = records.filter(({ error }) => error !== undefined).slice(0, MAX_ROWS);
  const errors = failed.map(({ index, seed, error = '' }): TableCell[] => [
    String(index),
    ...swept.map(() => ''),
    String(seed),
    { text: error, verdict: 'fail' },
    ...figures.map(() => ''),
    '',
  ]);
  return { headings, numbers: headings.map((heading) => figures.includes(heading)), rows: [...rows, ...errors] };
}

function valuesOf(records: readonly RunRecord[], name: string): unknown[] {
  const seen = new Map(records.map(({ parameters }) => [JSON.stringify(parameters[name]), parameters[name]]));
  return [...seen.values()];
}

function baseUnit(figure: string): string {
  return unitOf(parseFigure(withoutGroup(figure)));
}

function unit(figure: string): string {
  const name = DIVISORS[baseUnit(figure)]?.[1];
  return name === undefined ? '' : `(${name})`;
}

const DIVISORS: Readonly<Record<string, readonly [number, string]>> = {
  ns: [1e3, 'µs'],
  'bit/s': [1e9, 'Gb/s'],
  bytes: [1e3, 'KB'],
};
const PLOTTED: readonly string[] = [
  'fctNs.mean',
  'fctNs.p99',
  'fctNs.max',
  'slowdown.p50',
  'slowdown.p99',
  'throughputBps',
  'goodputBps.mean',
  'windowBps.jain',
  'queueBytes.mean',
  'queueBytes.p95',
  'queueBytes.max',
  'dropped',
  'marked',
  'cnps',
  'pauses',
  'retransmitted',
];
const MAX_ROWS = 500;
