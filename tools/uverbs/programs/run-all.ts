/** Runs programs of the table one after the other, and has tshark read what they sent. */
import { join } from 'node:path';
import { runTool } from '../../lab/tool.ts';
import { buildShim } from '../build.ts';
import { viewsOfTshark } from './captures.ts';
import type { DebianPackage, ProgramCase } from './case.ts';
import { type Column, openColumn, runInColumn } from './columns.ts';
import type { JudgedCase } from './page.ts';
import { type CaseOutcome, runCase } from './run-case.ts';

/**
 * @param directory for captures and what is printed
 * @param ended called after each program
 */
export async function runCases(
  cases: readonly ProgramCase[],
  directory: string,
  ended: (outcome: CaseOutcome) => void = () => undefined,
): Promise<JudgedCase[]> {
  const shim = await buildShim();
  const outcomes: CaseOutcome[] = [];
  for (const [at, one] of cases.entries()) {
    const outcome = await runCase(one, join(directory, `${at}`), shim);
    outcomes.push(outcome);
    ended(outcome);
  }
  return viewed(outcomes, directory);
}

/** The same between the hosts of a column. Rejects as `openColumn` does. */
export async function runColumn(
  column: Column,
  cases: readonly ProgramCase[],
  directory: string,
  ended: (outcome: CaseOutcome) => void = () => undefined,
  onAgain: (one: ProgramCase, faults: readonly string[]) => void = () => undefined,
): Promise<JudgedCase[]> {
  const stage = await openColumn(column, await buildShim());
  const outcomes: CaseOutcome[] = [];
  try {
    for (const [at, one] of cases.entries()) {
      const outcome = await runInColumn(column, stage, one, join(directory, `${at}`), (faults) => onAgain(one, faults));
      outcomes.push(outcome);
      ended(outcome);
    }
  } finally {
    await stage.close();
  }
  return viewed(outcomes, directory);
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
