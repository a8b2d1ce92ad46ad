/**
 * Carries out one run in the thread it is called in: every variant simulated, measured and judged. Owns what a record
 * is made of and what goes with it when details are wanted. What fails while it runs is in the record; what the file
 * has wrong was refused before.
 */
import { RoceError } from 'rocev2/packets';
import type { FluidCurve, VariantOutcome } from '../report/run-plots.ts';
import { type LoadedScenario, loadScenario, type ScenarioFile } from '../scenario/load.ts';
import { type CaptureRequest, simulateVariant } from './engine.ts';
import { fluidCurves } from './fluid.ts';
import { judge } from './judge.ts';
import { slowdownBySize, summary } from './measure.ts';
import { type PlannedRun, parametersOf } from './plan.ts';
import { digestOf, type RunRecord } from './record.ts';

/** A run as it is sent to another thread: plain data. */
export interface Job {
  readonly file: ScenarioFile;
  readonly run: PlannedRun;
  /** Runs of the whole plan, of all shards. */
  readonly runs: number;
  readonly version: string;
  /** Of these variants; none: of all. */
  readonly only: readonly string[];
  /** Flows, series and curves are wanted with the record. */
  readonly details: boolean;
  readonly capture?: CaptureRequest;
}

export interface Details {
  readonly variants: readonly VariantOutcome[];
  readonly fluid: readonly FluidCurve[];
}

export interface JobResult {
  readonly record: RunRecord;
  readonly details?: Details;
}

/** `tell` is called with the progress of the run: 0..1, in steps of any size. */
export function execute(job: Job, tell: (share: number) => void): JobResult {
  const loaded = loadScenario(job.file, job.run.settings, job.run.seed, job.only);
  const head = headOf(job, loaded);
  try {
    const outcomes = simulateAll(job, loaded, tell);
    const record: RunRecord = {
      ...head,
      variants: outcomes.map(({ name, outcome }) => ({
        name,
        figures: summary(outcome),
        slowdown: slowdownBySize(outcome),
      })),
      verdicts: judge(loaded.scenario.expect, outcomes),
    };
    if (!job.details) return { record };
    const fluid = outcomes.flatMap(({ name, variant, outcome }) => fluidCurves(name, variant, outcome.endNs));
    return { record, details: { variants: outcomes.map(({ name, outcome }) => ({ name, outcome })), fluid } };
  } catch (error) {
    // A bug of ours keeps its stack; a refusal is a result like others, so that a sweep goes on.
    if (!(error instanceof RoceError)) throw error;
    return { record: { ...head, variants: [], verdicts: [], error: error.message } };
  }
}

function headOf({ file, run, runs, version }: Job, { scenario }: LoadedScenario) {
  return {
    index: run.index,
    runs,
    scenario: scenario.name,
    digest: digestOf(file.json),
    version,
    seed: scenario.seed,
    parameters: parametersOf(run),
  };
}

function simulateAll({ capture }: Job, { variants }: LoadedScenario, tell: (share: number) => void) {
  const captured = variants[0]?.name;
  return variants.map(({ name, variant }, index) => {
    const outcome = simulateVariant(variant, {
      tell: (share) => tell((index + share) / variants.length),
      ...(capture === undefined || name !== captured ? {} : { capture }),
    });
    return { name, variant, outcome };
  });
}
