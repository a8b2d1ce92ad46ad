/** Where results of runs go: files, standard output. Owns the choice by flags; texts are made elsewhere. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ToolOutput } from '../output.ts';
import type { OutputFlags } from './flags.ts';
import { flowsCsv, runsCsv, seriesCsv } from './output/csv.ts';
import { runsText } from './output/text.ts';
import { type Report, reportHtml } from './report/html.ts';
import type { Details } from './run/execute.ts';
import { type RunRecord, recordLine } from './run/record.ts';

export interface Results {
  readonly records: readonly RunRecord[];
  /** Of the only run. */
  readonly details?: Details;
  /** Asked for where a report is wanted. */
  readonly report: () => Report;
}

/** Whether the outputs need more than records. */
export function needsDetails({ out, json, report }: OutputFlags): boolean {
  return out !== undefined || report !== undefined || json === true;
}

/** Everything but JSON lines, which are written as runs end. */
export function writeResults({ records, details, report }: Results, flags: OutputFlags, terminal: ToolOutput): void {
  const { out, csv, json } = flags;
  if (out !== undefined) {
    writeFileSync(join(out, 'runs.csv'), runsCsv(records));
    writeFileSync(join(out, 'report.html'), reportHtml(report()));
    if (details !== undefined) {
      writeFileSync(join(out, 'flows.csv'), flowsCsv(details.variants));
      writeFileSync(join(out, 'series.csv'), seriesCsv(details.variants));
      writeFileSync(join(out, 'result.json'), `${resultJson(records, details)}\n`);
    }
  }
  if (flags.report !== undefined) writeFileSync(flags.report, reportHtml(report()));
  if (csv !== undefined && csv !== '-') writeFileSync(csv, runsCsv(records));
  if (csv === '-') terminal.line(runsCsv(records).trimEnd());
  if (json === true) terminal.line(resultJson(records, details));
  if (!takesStandardOutput(flags) && flags.quiet !== true) for (const line of runsText(records)) terminal.line(line);
}

/** Before the first run, so that what cannot be written is known before work is done. */
export function prepareFolder({ out }: OutputFlags): void {
  if (out !== undefined) mkdirSync(out, { recursive: true });
}

/** Whether tables for people would stand between lines for programs. */
function takesStandardOutput({ json, csv, jsonl }: OutputFlags): boolean {
  return json === true || csv === '-' || jsonl === '-';
}

/** Sinks for lines: what `--jsonl` and `--out` say. */
export function lineFiles({ jsonl, out }: OutputFlags): string[] {
  const files = out === undefined ? [] : [join(out, 'runs.jsonl')];
  return jsonl === undefined || jsonl === '-' ? files : [...files, jsonl];
}

function resultJson(records: readonly RunRecord[], details: Details | undefined): string {
  const [only] = records;
  if (details === undefined || only === undefined) return JSON.stringify({ records });
  return JSON.stringify({ record: JSON.parse(recordLine(only)), ...details });
}
