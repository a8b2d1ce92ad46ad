/**
 * Lines of several shards put together: sorted by index, each once, and what is missing named. Owns the reading of such
 * files and of folders of results; what is made of the records is `outputs.ts`.
 */
import { readFileSync, statSync } from 'node:fs';
import { RoceError } from 'rocev2/packets';
import { type CaseResult, readResults } from '../cases/results.ts';
import { type RunRecord, recordSchema } from './run/record.ts';
import { issuesOf } from './scenario/issues.ts';
import { pathText } from './scenario/json.ts';

export interface MergedRecords {
  readonly records: readonly RunRecord[];
  /** The lines themselves, byte for byte, in the same order. */
  readonly lines: readonly string[];
  /** Indices of runs that no file has. */
  readonly missing: readonly number[];
}

interface ReadLine {
  readonly record: RunRecord;
  readonly line: string;
  readonly where: string;
}

/**
 * @throws RoceError ERR_ROCE_ARGUMENT for a line that is none, or is of another scenario, version or plan than the
 * others
 */
export function mergeFiles(paths: readonly string[]): MergedRecords {
  const all = paths.flatMap((path) =>
    statSync(path).isDirectory() ? resultsOf(path) : linesOf(path, readFileSync(path, 'utf8')),
  );
  return mergeLines(all);
}

/**
 * The record that a file of one result holds.
 * @throws RoceError ERR_ROCE_ARGUMENT for one that holds none, or that of another run
 */
export function parseResult({ index, line, where }: CaseResult): RunRecord {
  const record = parseLine(line, where);
  if (record.index !== index)
    throw new RoceError('ERR_ROCE_ARGUMENT', `${where}: run ${record.index} is in the file of run ${index}`);
  return record;
}

function resultsOf(path: string): ReadLine[] {
  return readResults(path).results.map((result) => ({ ...result, record: parseResult(result) }));
}

function mergeLines(all: readonly ReadLine[]): MergedRecords {
  const [first] = all;
  if (first === undefined) throw new RoceError('ERR_ROCE_ARGUMENT', 'there is no line in these files');
  const byIndex = new Map<number, ReadLine>();
  for (const one of all) {
    checkSame(one, first);
    const other = byIndex.get(one.record.index);
    if (other !== undefined && other.line !== one.line)
      throw new RoceError(
        'ERR_ROCE_ARGUMENT',
        `${one.where}: run ${one.record.index} is another one at ${other.where}`,
      );
    byIndex.set(one.record.index, one);
  }
  const sorted = [...byIndex.values()].sort((a, b) => a.record.index - b.record.index);
  const missing = Array.from({ length: first.record.runs }, (_, index) => index).filter((index) => !byIndex.has(index));
  return { records: sorted.map(({ record }) => record), lines: sorted.map(({ line }) => line), missing };
}

function linesOf(path: string, text: string): ReadLine[] {
  return text.split('\n').flatMap((line, at) => {
    if (line === '') return [];
    const where = `${path}:${at + 1}`;
    return [{ record: parseLine(line, where), line, where }];
  });
}

function parseLine(line: string, where: string): RunRecord {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new RoceError('ERR_ROCE_ARGUMENT', `${where}: ${error.message.replace(/\s+/g, ' ')}`);
  }
  const parsed = recordSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = issuesOf(parsed.error);
  throw new RoceError(
    'ERR_ROCE_ARGUMENT',
    `${where}: ${pathText(issue?.path ?? [])}: ${issue?.message ?? 'no record'}`,
  );
}

function checkSame(one: ReadLine, first: ReadLine): void {
  for (const key of ['scenario', 'digest', 'version', 'runs'] as const) {
    const [here, there] = [one.record[key], first.record[key]];
    if (here !== there)
      throw new RoceError(
        'ERR_ROCE_ARGUMENT',
        `${one.where}: ${key} is ${here}, but ${there} at ${first.where}: these are not parts of one sweep`,
      );
  }
  if (one.record.index >= one.record.runs)
    throw new RoceError('ERR_ROCE_ARGUMENT', `${one.where}: run ${one.record.index} of ${one.record.runs} cannot be`);
}
