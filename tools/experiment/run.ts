/**
 * Runs an experiment: every case on its stage, with verdicts, and a folder with all files. Owns the folder's layout.
 *
 *   report.md, report.json      what was expected and what was found
 *   experiment.json             the experiment as it was run, parameters put in
 *   CASE/WIRE.pcapng, .json     what passed, and what the wire did
 *   CASE/N-COMMAND.log          what a command printed, and its exit code
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageVersion } from '../package-version.ts';
import { judgeCase, tshark } from './judge.ts';
import { reportData, reportMarkdown } from './report.ts';
import type { CaseResult, ExperimentResult } from './result.ts';
import { runCase } from './run-case.ts';
import type { HostPool } from './stage.ts';
import type { CaseSpec, Experiment } from './types.ts';

export type { CaseResult, ExperimentResult } from './result.ts';

export interface ExperimentRunOptions {
  /** The folder for what is left; made when it is not there. */
  readonly directory: string;
  readonly stages: HostPool;
  /** A case that fails leaves no files: its failure is known already. */
  readonly keepStage?: boolean;
  /** Only the case of this name. */
  readonly only?: string;
  /** Called with every case when it has ended. */
  readonly told?: (result: CaseResult) => void;
}

/** Runs an experiment. Rejects with RoceError for hosts that cannot be had here. */
export async function runExperiment(experiment: Experiment, options: ExperimentRunOptions): Promise<ExperimentResult> {
  const { directory, stages, only, told } = options;
  const clock = startClock();
  const cases: CaseResult[] = [];
  let hosts: ExperimentResult['hosts'] = [];
  for (const spec of experiment.cases) {
    if (only !== undefined && spec.name !== only) continue;
    hosts = await describeHosts(experiment, stages);
    const result = await runJudgedCase(experiment, spec, { directory, stages });
    told?.(result);
    cases.push(result);
  }
  return writeReport({ experiment, ...clock(), hosts, cases }, directory);
}

/** Time between now and the call of the returned function. */
export function startClock(): () => Pick<ExperimentResult, 'started' | 'seconds'> {
  const started = new Date().toISOString();
  const before = performance.now();
  return () => ({ started, seconds: (performance.now() - before) / 1000 });
}

/** The hosts of an experiment, by what they are; starts those that are not there. */
export async function describeHosts(experiment: Experiment, stages: HostPool): Promise<ExperimentResult['hosts']> {
  const stage = await stages.for(experiment);
  return [...stage.hosts].map(([name, { description }]) => ({ name, description }));
}

/** Leaves the report of an experiment whose cases have been run. */
export function writeReport(
  parts: Omit<ExperimentResult, 'passed' | 'environment'>,
  directory: string,
): ExperimentResult {
  const passed = parts.cases.every((one) => one.passed);
  const result = { ...parts, passed, environment: environment() };
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'experiment.json'), `${JSON.stringify(parts.experiment, null, 2)}\n`);
  writeFileSync(join(directory, 'report.json'), `${JSON.stringify(reportData(result), null, 2)}\n`);
  writeFileSync(join(directory, 'report.md'), reportMarkdown(result));
  return result;
}

/**
 * Runs one case. A case that failed may have left anything behind: the next one gets fresh hosts, unless `keepStage`.
 */
export async function runJudgedCase(
  experiment: Experiment,
  spec: CaseSpec,
  { directory, stages, keepStage = false }: Pick<ExperimentRunOptions, 'directory' | 'stages' | 'keepStage'>,
): Promise<CaseResult> {
  const stage = await stages.for(experiment);
  const record = await runCase(stage, experiment, spec, join(directory, spec.name)).catch(async (bug: unknown) => {
    await stages.close();
    throw bug;
  });
  const judgements = await judgeCase(record, spec.expect);
  const passed = judgements.every(({ verdict }) => verdict !== 'fail');
  if (!passed && !keepStage) await stages.close();
  return { spec, folder: spec.name, passed, record, judgements };
}

/** What failed, a line each: for a test or a terminal. */
export function failuresOf({ judgements }: CaseResult): string[] {
  return judgements
    .filter(({ verdict }) => verdict === 'fail')
    .map(({ what, wanted, found, mustFail }) =>
      mustFail === undefined ? `${what}: ${found}, not ${wanted}` : `${what}: holds, and must fail: ${mustFail}`,
    );
}

function environment(): Record<string, string> {
  const { available, version, reason } = tshark();
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const commit = spawnSync('git', ['-C', root, 'rev-parse', '--short', 'HEAD'], { encoding: 'utf8' });
  return {
    rocev2: `${packageVersion()}${commit.status === 0 ? `, commit ${commit.stdout.trim()}` : ''}`,
    node: process.version,
    tshark: available ? version : reason,
  };
}
