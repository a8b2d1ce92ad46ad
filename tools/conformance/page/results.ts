/**
 * Verdicts that the page is made from: one JSON file for each device in docs/conformance-results/, kept beside the
 * page; what may not be published yet is left out there, and whole in embargo/results/. Owns their place.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EMBARGO_DIRECTORY } from '../findings/withheld.ts';
import type { ResultFile } from '../runner/files.ts';
import { published, stillWithheld } from './withhold.ts';

/** Devices of the page, in the order of its columns. */
export const PAGE_DUTS = ['in-process', 'lab:6.1', 'lab:6.12', 'lab:sid'] as const;

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const RESULTS = join(ROOT, 'docs/conformance-results');
const WHOLE_RESULTS = join(EMBARGO_DIRECTORY, 'results');

export const PAGE_FILE = join(ROOT, 'docs/conformance-report.md');
/** Has the table of devices in its head. */
export const GUIDE_FILE = join(ROOT, 'docs/conformance.md');
export const MUTANTS_FILE = join(ROOT, 'docs/conformance-mutants.md');

/** All that this checkout knows of a device; undefined when it was never run. */
export const readResult = (dut: string): ResultFile | undefined => read(WHOLE_RESULTS, dut) ?? readPublished(dut);

/** What is published of a device. */
export const readPublished = (dut: string): ResultFile | undefined => read(RESULTS, dut);

function read(directory: string, dut: string): ResultFile | undefined {
  try {
    return JSON.parse(readFileSync(fileOf(directory, dut), 'utf8')) as ResultFile;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Keeps the verdicts of a run, without what differs from run to run; what may not be published only where it is kept
 * apart.
 */
export function writeResult(result: ResultFile): void {
  const steady = { ...result, rules: result.rules.map((row) => ({ ...row, durationMs: 0 })) };
  if (!existsSync(EMBARGO_DIRECTORY)) {
    write(RESULTS, result.device === 'rxe' ? stillWithheld(steady, readPublished(result.dut)) : steady);
    return;
  }
  const open = published(steady);
  if (open !== steady) write(WHOLE_RESULTS, steady);
  write(RESULTS, open);
}

function write(directory: string, result: ResultFile): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(fileOf(directory, result.dut), `${JSON.stringify(result, undefined, 1)}\n`);
}

const fileOf = (directory: string, dut: string): string => join(directory, `${dut.replace(/[^\w.-]+/g, '-')}.json`);
