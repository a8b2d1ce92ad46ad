/** Rows of the benches as text for a terminal. */
import { formatTable } from '../table.ts';
import type { BenchRow, SkippedBench } from './bench.ts';

/** A table of what was measured, and a line for each bench that was not. */
export function report(rows: readonly (BenchRow | SkippedBench)[]): string[] {
  const measured = rows.filter((row): row is BenchRow => !('skipped' in row));
  const skipped = rows.filter((row): row is SkippedBench => 'skipped' in row);
  const cells = measured.map(({ name, value, unit, peer, peerValue, ratio, goal, met }) => [
    name,
    `${short(value)} ${unit}`,
    short(peerValue),
    peer,
    short(ratio),
    goal,
    met === null ? '' : met ? 'met' : 'MISSED',
  ]);
  const table = formatTable(['bench', 'ours', 'peer', '', 'ratio', 'goal', ''], cells, [
    'left',
    'right',
    'right',
    'left',
    'right',
    'left',
    'left',
  ]);
  const parts = measured.flatMap(({ parts = [], unit }) =>
    parts.map(({ name, value }) => `    ${short(value).padStart(8)} ${unit}  ${name}`),
  );
  return [
    ...(cells.length === 0 ? [] : table),
    ...parts,
    ...skipped.map((row) => `  ${row.name}: skipped, ${row.skipped}`),
  ];
}

/** Three digits that count. */
export function short(value: number): string {
  if (value === 0) return '0';
  if (Math.abs(value) >= 1e6) return `${(value / 1e6).toPrecision(3)} M`;
  if (Math.abs(value) >= 1e4) return `${Math.round(value / 1e3)} k`;
  return value >= 100 ? String(Math.round(value)) : value.toPrecision(3);
}
