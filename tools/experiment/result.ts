/** The result of a run of an experiment, for the report and for callers. Types only. */
import type { Judgement } from './judge.ts';
import type { CaseRecord } from './run-case.ts';
import type { CaseSpec, Experiment } from './types.ts';

/** A case that was run and checked. */
export interface CaseResult {
  readonly spec: CaseSpec;
  /** Name of its folder, below that of the experiment. */
  readonly folder: string;
  readonly passed: boolean;
  readonly record: CaseRecord;
  readonly judgements: readonly Judgement[];
}

/** An experiment, with all cases that were run. */
export interface ExperimentResult {
  readonly experiment: Experiment;
  readonly passed: boolean;
  /** Time of day. */
  readonly started: string;
  readonly seconds: number;
  /** Versions of what took part. */
  readonly environment: Readonly<Record<string, string>>;
  readonly hosts: readonly { readonly name: string; readonly description: string }[];
  readonly cases: readonly CaseResult[];
}
