/**
 * Tables for other programs (RFC 4180): runs, flows, series. Owns the columns. Numbers are in the units of the figures'
 * names, unrounded.
 */
import type { VariantOutcome } from '../report/run-plots.ts';
import type { RunRecord } from '../run/record.ts';
import type { Json } from '../scenario/json.ts';
import { figureNames, parameterNames } from './text.ts';

/** A line for each variant of each run. */
export function runsCsv(records: readonly RunRecord[]): string {
  const parameters = parameterNames(records);
  const figures = figureNames(records);
  const rows = records.flatMap((record) => {
    const { index, scenario, version, seed, variants, verdicts, error = '' } = record;
    const lead = [index, scenario, version, seed, ...parameters.map((name) => jsonCell(record.parameters[name]))];
    const of = variants.length === 0 ? [{ name: '', figures: {} as Readonly<Record<string, number>> }] : variants;
    return of.map(({ name, figures: all }) => {
      const own = verdicts.filter(({ variant }) => variant === name);
      const failed = own.filter(({ passed }) => !passed).length;
      return [...lead, name, own.length - failed, failed, error, ...figures.map((figure) => all[figure] ?? '')];
    });
  });
  const headings = [
    'index',
    'scenario',
    'version',
    'seed',
    ...parameters,
    'variant',
    'passed',
    'failed',
    'error',
    ...figures,
  ];
  return table(headings, rows);
}

/** A line for each flow. */
export function flowsCsv(variants: readonly VariantOutcome[]): string {
  const headings = [
    'variant',
    'flow',
    'group',
    'src',
    'dst',
    'bytes',
    'startNs',
    'fctNs',
    'slowdown',
    'goodputBps',
    'status',
  ];
  const rows = variants.flatMap(({ name, outcome }) =>
    outcome.flows.map((flow, index) => {
      const { group, src, dst, bytes, startNs, fctNs = '', slowdown = '', goodputBps, status } = flow;
      return [name, index, group, src, dst, bytes, startNs, fctNs, slowdown, goodputBps, status];
    }),
  );
  return table(headings, rows);
}

/** A line for each sample. */
export function seriesCsv(variants: readonly VariantOutcome[]): string {
  const rows = variants.flatMap(({ name, outcome }) =>
    outcome.series.flatMap(({ kind, of, times, values }) =>
      times.map((time, at) => [name, kind, of, time, values[at] ?? ''] as const),
    ),
  );
  return table(['variant', 'kind', 'of', 'timeNs', 'value'], rows);
}

function table(headings: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [headings, ...rows].map((row) => `${row.map(cell).join(',')}\n`).join('');
}

/** A text as it is, everything else as JSON. */
function jsonCell(value: Json | undefined): string {
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
}

function cell(value: string | number): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
