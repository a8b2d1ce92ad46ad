/**
 * One call of `roce sim` from its plan to its exit code: everything is checked before anything runs, runs that have a
 * result are left out, lines are written as runs end, ctrl-C ends in good order with what is done. Owns the order of
 * these things.
 */
import { availableParallelism } from 'node:os';
import { defined, RoceError } from 'rocev2/packets';
import { ResultsFolder } from '../cases/results.ts';
import { inShard } from '../cases/shard.ts';
import { terminal } from '../output.ts';
import { packageVersion } from '../package-version.ts';
import { ProgressLine } from '../progress-line.ts';
import { commandLine, type SimFlags } from './flags.ts';
import { parseResult } from './merge.ts';
import { LineFiles } from './output/line-files.ts';
import { failureText } from './output/text.ts';
import { lineFiles, needsDetails, prepareFolder, writeResults } from './outputs.ts';
import type { Report } from './report/html.ts';
import { runReport } from './report/run-report.ts';
import { sweepReport } from './report/sweep-report.ts';
import type { Details, Job } from './run/execute.ts';
import { type PlannedRun, planRuns } from './run/plan.ts';
import { runJobs } from './run/pool.ts';
import { digestOf, isGood, type RunRecord, recordLine } from './run/record.ts';
import type { Json } from './scenario/json.ts';
import { type LoadedScenario, loadScenario, readScenario, type ScenarioFile } from './scenario/load.ts';

export interface PreparedRuns {
  readonly scenario: string;
  /** The first run's, which says what all are about. */
  readonly loaded: LoadedScenario;
  /** Runs that are to be done. */
  readonly jobs: readonly Job[];
  /** Where results go one by one, and the records of the other runs of this share, which are there. */
  readonly results?: ResultsFolder;
  readonly kept: readonly RunRecord[];
}

/** @throws RoceError ERR_ROCE_ARGUMENT for a scenario, or a value set or swept, that makes no sense */
export function prepare(name: string, flags: SimFlags): PreparedRuns {
  const file = readScenario(name);
  const only = flags.variant;
  const seeds = flags.seeds ?? (flags.seed === undefined ? [] : [flags.seed]);
  const plan = planRuns(flags.set, flags.sweep, seeds);
  const runs = inShard(plan, flags.shard);
  const points = new Map(runs.map((run) => [run.settings, run]));
  const scenarios = [...points.values()].map(({ settings, seed }) => loadScenario(file, settings, seed, only));
  // A shard may be empty where there are more of them than runs; the file is checked all the same.
  const loaded = scenarios[0] ?? loadScenario(file, flags.set, flags.seed, only);
  const capture = captureRequest(flags, plan.length);
  const version = packageVersion();
  const results = openResults(flags, file, plan.length, version);
  const kept = keptRecords(results, runs);
  const done = new Set(kept.map(({ index }) => index));
  const details = plan.length === 1 && results === undefined && needsDetails(flags);
  const jobs = runs
    .filter(({ index }) => !done.has(index))
    .map((run) => ({ file, run, runs: plan.length, version, only, details, ...capture }));
  return { scenario: name, loaded, jobs, kept, ...defined({ results }) };
}

/** Runs of one folder have the same file, version and plan. */
function openResults(flags: SimFlags, file: ScenarioFile, cases: number, version: string): ResultsFolder | undefined {
  if (flags.results === undefined) return undefined;
  const { seed = null, seeds = null, set, sweep, variant } = flags;
  const what = [file.json, seed, seeds, set, sweep, variant] as unknown as Json;
  return new ResultsFolder(flags.results, { tool: 'roce sim', version, cases, digest: digestOf(what) });
}

function keptRecords(results: ResultsFolder | undefined, runs: readonly PlannedRun[]): RunRecord[] {
  return runs.flatMap(({ index }) => {
    const found = results?.read(index);
    return found === undefined ? [] : [parseResult(found)];
  });
}

function captureRequest({ capture, captureFrames }: SimFlags, runs: number) {
  if (capture === undefined) return {};
  if (runs > 1) throw new RoceError('ERR_ROCE_ARGUMENT', `--capture is for one run, and these are ${runs}`);
  return { capture: { path: capture, frames: captureFrames } };
}

/** Resolves with the exit code. */
export async function runSession(prepared: PreparedRuns, flags: SimFlags): Promise<number> {
  const { jobs, kept, results } = prepared;
  const total = jobs.length + kept.length;
  prepareFolder(flags);
  const quiet = flags.quiet === true;
  if (kept.length > 0 && !quiet) terminal.complaint(`roce sim: ${kept.length} of ${total} runs have their result`);
  const ordered = new OrderedRecords(kept, flags);
  const lines = { name: 'roce sim', everyMs: LINE_EVERY_MS };
  const progress = new ProgressLine(process.stderr, { quiet, nowMs: () => performance.now(), lines });
  const details: Details[] = [];
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
      ended: ({ record }) => results?.write(record.index, recordLine(record)),
      done: (result) => {
        ordered.add(result.record);
        if (result.details !== undefined) details.push(result.details);
      },
      progress: (share, ended) => progress.update(share, total === 1 ? '' : `${ended + kept.length} of ${total} runs`),
    });
  } finally {
    progress.clear();
    ordered.close();
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
  return conclude(prepared, flags, { records: ordered.records, ...defined({ details: details[0] }) }, signal.aborted);
}

/** Records of this session and those that were there before it, in the order of the runs. */
class OrderedRecords {
  readonly records: RunRecord[] = [];
  readonly #kept: RunRecord[];
  readonly #sink: LineFiles;
  readonly #prints: boolean;

  /** @param kept in order */
  constructor(kept: readonly RunRecord[], flags: SimFlags) {
    this.#kept = [...kept];
    this.#sink = new LineFiles(lineFiles(flags));
    this.#prints = flags.jsonl === '-';
  }

  /** The next record of this session; they come in order. */
  add(record: RunRecord): void {
    this.#takeKept(record.index);
    this.#take(record);
  }

  close(): void {
    this.#takeKept(Infinity);
    this.#sink.close();
  }

  #takeKept(before: number): void {
    for (let next = this.#kept[0]; next !== undefined && next.index < before; next = this.#kept[0]) {
      this.#kept.shift();
      this.#take(next);
    }
  }

  #take(record: RunRecord): void {
    const line = recordLine(record);
    this.records.push(record);
    this.#sink.line(line);
    if (this.#prints) terminal.line(line);
  }
}

function conclude(
  { scenario, loaded, jobs, kept }: PreparedRuns,
  flags: SimFlags,
  { records, details }: { readonly records: readonly RunRecord[]; readonly details?: Details },
  cut: boolean,
): number {
  const command = commandLine(scenario, flags);
  const finished = { records, ...defined({ details }) };
  if (records.length > 0)
    writeResults({ ...finished, report: () => reportOf(loaded, records, details, command) }, flags, terminal);
  if (cut) {
    terminal.complaint(`roce sim: interrupted; ${records.length} of ${jobs.length + kept.length} runs are done`);
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

/** Runs of seconds stay silent where nobody looks. */
const LINE_EVERY_MS = 30_000;
const EXIT_FAILED = 1;
const EXIT_INTERRUPTED = 130;
