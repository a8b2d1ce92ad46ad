/** Runs programs of the table one after the other, and has tshark read what they sent. */
import { join } from 'node:path';
import { runTool } from '../../lab/tool.ts';
import { buildShim } from '../build.ts';
import { viewsOfTshark } from './captures.ts';
import type { DebianPackage, ProgramCase } from './case.ts';
import { type Column, openColumn, runInColumn } from './columns.ts';
import type { JudgedCase } from './page.ts';
import { type CaseOutcome, runCase } from './run-case.ts';

/** How a run of many is watched, and ended. */
export interface RunOptions {
  /** Called when the hosts are there, with the names of what was made for them. */
  readonly opened?: (made: readonly string[]) => void;
  /** Called after each program. */
  readonly ended?: (outcome: CaseOutcome) => void;
  /** When it aborts, the program that runs is ended, no other is started, and all that was made is removed. */
  readonly until?: AbortSignal;
}

/**
 * Rejects with the reason of `until` when that has aborted.
 *
 * @param directory for captures and what is printed
 */
export async function runCases(
  cases: readonly ProgramCase[],
  directory: string,
  options: RunOptions = {},
): Promise<JudgedCase[]> {
  const shim = await buildShim();
  const run = (one: ProgramCase, at: string): Promise<CaseOutcome> => runCase(one, at, shim, options.until);
  return viewed(await oneByOne(cases, directory, options, run), directory);
}

/** The same between the hosts of a column. Rejects as `openColumn` does, too. */
export async function runColumn(
  column: Column,
  cases: readonly ProgramCase[],
  directory: string,
  options: RunOptions = {},
): Promise<JudgedCase[]> {
  const stage = await openColumn(column, await buildShim(), options.until);
  try {
    options.opened?.(stage.made);
    const run = (one: ProgramCase, at: string): Promise<CaseOutcome> => runInColumn(column, stage, one, at);
    return await viewed(await oneByOne(cases, directory, options, run), directory);
  } finally {
    await stage.close();
  }
}

async function oneByOne(
  cases: readonly ProgramCase[],
  directory: string,
  { ended, until }: RunOptions,
  run: (one: ProgramCase, directory: string) => Promise<CaseOutcome>,
): Promise<CaseOutcome[]> {
  const outcomes: CaseOutcome[] = [];
  for (const [at, one] of cases.entries()) {
    const outcome = await run(one, join(directory, `${at}`));
    until?.throwIfAborted();
    outcomes.push(outcome);
    ended?.(outcome);
  }
  return outcomes;
}

async function viewed(outcomes: readonly CaseOutcome[], directory: string): Promise<JudgedCase[]> {
  const views = await viewsOfTshark(outcomes, join(directory, 'all.pcapng'));
  return outcomes.map((outcome, at) => ({ outcome, tshark: views[at] ?? { roceFrames: 0, malformed: 0 } }));
}

/** Versions of Debian packages that are installed. */
export async function packageVersions(names: readonly DebianPackage[]): Promise<ReadonlyMap<DebianPackage, string>> {
  const versions = new Map<DebianPackage, string>();
  for (const name of names) {
    const about = (await runTool('dpkg-query', ['-s', name])).toString('utf8');
    versions.set(name, /^Version: (.*)$/m.exec(about)?.[1] ?? '');
  }
  return versions;
}
