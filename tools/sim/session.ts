/**
 * One call of `roce sim` from its plan to its exit code: everything is checked before anything runs, lines are written
 * as runs end, ctrl-C ends in good order with what is done. Owns the order of these things.
 */
import { availableParallelism } from 'node:os';
import { defined, RoceError } from 'rocev2/packets';
import { terminal } from '../output.ts';
import { packageVersion } from '../package-version.ts';
import { ProgressLine } from '../progress-line.ts';
import { commandLine, type SimFlags } from './flags.ts';
import { LineFiles } from './output/line-files.ts';
import { failureText } from './output/text.ts';
import { lineFiles, needsDetails, prepareFolder, writeResults } from './outputs.ts';
import type { Report } from './report/html.ts';
import { runReport } from './report/run-report.ts';
import { sweepReport } from './report/sweep-report.ts';
import type { Details, Job, JobResult } from './run/execute.ts';
import { inShard, planRuns } from './run/plan.ts';
import { runJobs } from './run/pool.ts';
import { isGood, type RunRecord, recordLine } from './run/record.ts';
import { type LoadedScenario, loadScenario, readScenario } from './scenario/load.ts';

export interface PreparedRuns {
  readonly scenario: string;
  /** The first run's, which says what all are about. */
  readonly loaded: LoadedScenario;
  readonly jobs: readonly Job[];
}

/** @throws RoceError ERR_ROCE_ARGUMENT for a scenario, or a value set or swept, that makes no sense */
export function prepare(name: string, flags: SimFlags): PreparedRuns {
  const file = readScenario(name);
  const only = flags.variant;
  const seeds = flags.seeds ?? (flags.seed === undefined ? [] : [flags.seed]);
  const plan = planRuns(flags.set, flags.sweep, seeds);
  const runs = flags.shard === undefined ? plan : inShard(plan, flags.shard);
  const points = new Map(runs.map((run) => [run.settings, run]));
  const scenarios = [...points.values()].map(({ settings, seed }) => loadScenario(file, settings, seed, only));
  // A shard may be empty where there are more of them than runs; the file is checked all the same.
  const loaded = scenarios[0] ?? loadScenario(file, flags.set, flags.seed, only);
  const capture = captureRequest(flags, plan.length);
  const version = packageVersion();
  const details = plan.length === 1 && needsDetails(flags);
  const jobs = runs.map((run) => ({ file, run, runs: plan.length, version, only, details, ...capture }));
  return { scenario: name, loaded, jobs };
}

function captureRequest({ capture, captureFrames }: SimFlags, runs: number) {
  if (capture === undefined) return {};
  if (runs > 1) throw new RoceError('ERR_ROCE_ARGUMENT', `--capture is for one run, and these are ${runs}`);
  return { capture: { path: capture, frames: captureFrames } };
}

/** Resolves with the exit code. */
export async function runSession(prepared: PreparedRuns, flags: SimFlags): Promise<number> {
  const { jobs } = prepared;
  prepareFolder(flags);
  const sink = new LineFiles(lineFiles(flags));
  const quiet = flags.quiet === true;
  const progress = new ProgressLine(process.stderr, { quiet, nowMs: () => performance.now() });
  const results: JobResult[] = [];
  const interruption = new AbortController();
  const { signal } = interruption;
  const interrupt = (): void => {
    if (signal.aborted) process.exit(EXIT_INTERRUPTED);
    interruption.abort();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  try {
    await runJobs(jobs, {
      threads: flags.jobs ?? availableParallelism(),
      signal,
      done: (result) => {
        results.push(result);
        sink.line(recordLine(result.record));
        if (flags.jsonl === '-') terminal.line(recordLine(result.record));
      },
      progress: (share, ended) => progress.update(share, jobs.length === 1 ? '' : `${ended} of ${jobs.length} runs`),
    });
  } finally {
    progress.clear();
    sink.close();
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
  return conclude(prepared, flags, results, signal.aborted);
}

function conclude(
  { scenario, loaded, jobs }: PreparedRuns,
  flags: SimFlags,
  results: readonly JobResult[],
  cut: boolean,
): number {
  const records = results.map(({ record }) => record);
  const [details] = results.map((result) => result.details);
  const command = commandLine(scenario, flags);
  const finished = { records, ...defined({ details }) };
  if (records.length > 0)
    writeResults({ ...finished, report: () => reportOf(loaded, records, details, command) }, flags, terminal);
  if (cut) {
    terminal.complaint(`roce sim: interrupted; ${records.length} of ${jobs.length} runs are done`);
    return EXIT_INTERRUPTED;
  }
  const failure = failureText(records);
  if (failure !== undefined) terminal.complaint(`roce sim: ${failure}`);
  return records.every(isGood) ? 0 : EXIT_FAILED;
}

function reportOf(
  { scenario, json }: LoadedScenario,
  records: readonly RunRecord[],
  details: Details | undefined,
  command: string,
): Report {
  const { title, about, source } = scenario;
  const [record] = records;
  if (record === undefined || details === undefined) return sweepReport({ title, about: [about], records, command });
  return runReport({ title, about, record, details, json, command, ...defined({ source }) });
}

const EXIT_FAILED = 1;
const EXIT_INTERRUPTED = 130;
