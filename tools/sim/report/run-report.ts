/**
 * The report of one run: what it was about, whether it came out as expected, plots, figures, and all that is needed to
 * run it again.
 */

import { figureNames } from '../output/text.ts';
import { digits, figureText } from '../output/words.ts';
import type { Details } from '../run/execute.ts';
import type { RunRecord } from '../run/record.ts';
import type { Json } from '../scenario/json.ts';
import type { Report, ReportTable, Section } from './html.ts';
import { runPlots } from './run-plots.ts';

export interface RunReportInput {
  readonly title: string;
  readonly about: string;
  readonly source?: string;
  readonly record: RunRecord;
  readonly details: Details;
  /** The file with settings, as it was run. */
  readonly json: Json;
  /** What is typed to get this file again. */
  readonly command: string;
}

export function runReport({ title, about, source, record, details, json, command }: RunReportInput): Report {
  const { verdicts, version, seed, scenario, digest } = record;
  const passed = verdicts.filter((verdict) => verdict.passed).length;
  const summary = verdicts.length === 0 ? [] : [`${passed} of ${verdicts.length} expectations hold.`];
  const sections: Section[] = [
    { kind: 'text', paragraphs: [about, ...(source === undefined ? [] : [`Source: ${source}`]), ...summary] },
  ];
  if (verdicts.length > 0) sections.push({ kind: 'table', heading: 'Verdicts', table: verdictTable(record) });
  sections.push({ kind: 'plots', heading: 'Plots', plots: runPlots(details.variants, details.fluid) });
  sections.push({ kind: 'table', heading: 'Figures', table: figureTable(record) });
  sections.push(...slowdownSections(record));
  sections.push({ kind: 'code', heading: 'Run it again', text: command });
  sections.push({
    kind: 'code',
    heading: 'The scenario, as it was run',
    text: JSON.stringify(json, null, 2),
    folded: true,
  });
  return { title, sections, footer: footer(`${scenario}, seed ${seed}, file ${digest}`, version) };
}

/** What every report ends with. */
export function footer(what: string, version: string): string {
  return `${what}; rocev2 ${version}. Plots: uPlot, MIT license, by Leon Sorokin.`;
}

/** Verdicts with figures; of one run, or of many. */
export function verdictTable({ verdicts }: Pick<RunRecord, 'verdicts'>): ReportTable {
  return {
    headings: ['verdict', 'figure', 'of', 'found', 'wanted', 'what it shows'],
    numbers: [false, false, false, true, true, false],
    rows: verdicts.map(({ passed, figure, variant, operator, found, wanted, terms, why }) => [
      { text: passed ? 'pass' : 'FAIL', verdict: passed ? 'pass' : 'fail' },
      figure,
      variant,
      figureText(figure, found),
      `${operator} ${figureText(figure, wanted)}`,
      [why ?? '', terms === '' ? '' : `(${terms})`].filter((part) => part !== '').join(' '),
    ]),
  };
}

function figureTable(record: RunRecord): ReportTable {
  const { variants } = record;
  return {
    headings: ['figure', ...variants.map(({ name }) => name)],
    numbers: [false, ...variants.map(() => true)],
    rows: figureNames([record]).map((name) => [
      name,
      ...variants.map(({ figures }) => figureText(name, figures[name])),
    ]),
  };
}

function slowdownSections({ variants }: RunRecord): Section[] {
  const tables = variants.filter(({ slowdown }) => slowdown.length > 1);
  return tables.map(({ name, slowdown }) => ({
    kind: 'table',
    heading: `Slowdown by size of flow: ${name}`,
    table: {
      headings: ['from, bytes', 'to, bytes', 'flows', 'p50', 'p95', 'p99'],
      numbers: [true, true, true, true, true, true],
      rows: slowdown.map(({ fromBytes, toBytes, flows, p50, p95, p99 }) =>
        [fromBytes, toBytes, flows, p50, p95, p99].map(digits),
      ),
    },
  }));
}
