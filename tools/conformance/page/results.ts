/** Verdicts that the page is made from: one JSON file for each device in docs/conformance-results/, kept beside the page. Owns their place. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ResultFile } from '../runner/files.ts';

/** Devices of the page, in the order of its columns. */
export const PAGE_DUTS = ['in-process', 'lab:6.1', 'lab:6.12', 'lab:sid'] as const;

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const RESULTS = join(ROOT, 'docs/conformance-results');

export const PAGE_FILE = join(ROOT, 'CONFORMANCE.md');
export const MUTANTS_FILE = join(ROOT, 'docs/conformance-mutants.md');

/** What is known of a device; undefined when it was never run. */
export function readResult(dut: string): ResultFile | undefined {
  try {
    return JSON.parse(readFileSync(fileOf(dut), 'utf8')) as ResultFile;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Keeps the verdicts of a run, without what differs from run to run. */
export function writeResult(result: ResultFile): void {
  const steady = { ...result, rules: result.rules.map((row) => ({ ...row, durationMs: 0 })) };
  writeFileSync(fileOf(result.dut), `${JSON.stringify(steady, undefined, 1)}\n`);
}

const fileOf = (dut: string): string => join(RESULTS, `${dut.replace(/[^\w.-]+/g, '-')}.json`);
