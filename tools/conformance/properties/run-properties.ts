/**
 * Runs properties against a subject: generates, plays, judges, shrinks. Owns budgets, repetition of what proved
 * nothing, and the report. The clock is real and only ever ends a run early; it never decides what a device did.
 */

import fc from 'fast-check';
import { defined } from 'rocev2/packets';
import type { Packet } from 'rocev2/packets/kit';
import { HostControlError } from '../host-control/host-control.ts';
import type { Profile } from '../model/profiles.ts';
import { Inconclusive } from '../tester/outcome.ts';
import { PROPERTIES, type Property } from './properties.ts';
import type { Subject } from './subject.ts';
import { ladder, packetsOf, type Trial, type TrialConnection } from './trial.ts';

export interface PropertyRunOptions {
  readonly subject: Subject;
  readonly profile: Profile;
  /** Sequences of each property. */
  readonly runs: number;
  readonly seed: number;
  /** Milliseconds of real time for each property, shrinking included; default none. */
  readonly budgetMs?: number;
  /** Names of properties; default all that the subject can be held to. */
  readonly only?: readonly string[];
  /** fast-check's path of a counterexample: begins there. */
  readonly path?: string;
  /** Told after each sequence. */
  readonly progress?: (property: string, runs: number) => void;
}

/** A difference, shrunk: the shortest packets that show it. */
export interface Counterexample {
  readonly ruleId: string;
  /** What was expected and what came. */
  readonly difference: string;
  /** What was sent, in order; PSNs count from the first. */
  readonly packets: readonly Packet[];
  /** `tx ...`, `rx ...`, `# ...`. */
  readonly lines: readonly string[];
  readonly connection?: TrialConnection;
  /** With seed and path the run begins with this sequence. */
  readonly path: string;
  /** The plan as data, bigint as decimal text. */
  readonly plan: string;
}

export interface PropertyReport {
  readonly property: string;
  readonly subject: string;
  readonly profile: string;
  readonly seed: number;
  /** Sequences played, without those of shrinking and repetition. */
  readonly runs: number;
  /** Packets sent and seen in them. */
  readonly packets: number;
  /** Sequences that proved nothing, and the reasons. */
  readonly inconclusive: number;
  readonly reasons: readonly string[];
  /** Sequences that were judged only up to where a known deviation led the device astray. */
  readonly astray: number;
  /** The budget was used up before all sequences were played. */
  readonly cutShort: boolean;
  /** Real time, in milliseconds. */
  readonly tookMs: number;
  readonly counterexample?: Counterexample;
  /** The device is gone since the last of these packets, and why. */
  readonly killed?: { readonly why: string; readonly lines: readonly string[] };
  /** Why the property was not run at all. */
  readonly skipped?: string;
}

/** Holds a device against every property, one after the other. Never rejects for what the device does. */
export async function runProperties(options: PropertyRunOptions): Promise<PropertyReport[]> {
  const reports: PropertyReport[] = [];
  for (const property of PROPERTIES) {
    if (options.only !== undefined && !options.only.includes(property.name)) continue;
    const report = await options.subject.run(new Run(property, options).report());
    reports.push(report);
    if (report.killed !== undefined) await options.subject.renew();
  }
  return reports;
}

class Run {
  readonly #property: Property;
  readonly #options: PropertyRunOptions;
  readonly #began = performance.now();
  readonly #reasons = new Set<string>();
  #runs = 0;
  #packets = 0;
  #inconclusive = 0;
  #astray = 0;
  #failing: Trial | undefined;
  #killed: { readonly why: string; readonly lines: readonly string[] } | undefined;
  #cutShort = false;

  constructor(property: Property, options: PropertyRunOptions) {
    this.#property = property;
    this.#options = options;
  }

  async report(): Promise<PropertyReport> {
    const { name, needsHostControl } = this.#property;
    const { subject, profile, seed, runs, path } = this.#options;
    const head = { property: name, subject: subject.name, profile: profile.name, seed };
    if (needsHostControl && !subject.hostControl)
      return { ...head, ...NOTHING_RUN, skipped: 'the device has no agent on its host' };
    const plans = this.#property.plans({ subject, profile });
    const checked = await fc.check(
      fc.asyncProperty(plans, (plan) => this.#once(plan)),
      { numRuns: runs, seed, ...defined({ path }) },
    );
    if (checked.failed && this.#failing === undefined) throw checked.errorInstance;
    const failing = this.#failing;
    return {
      ...head,
      ...{ runs: this.#runs, packets: this.#packets, inconclusive: this.#inconclusive, reasons: [...this.#reasons] },
      ...{ astray: this.#astray, cutShort: this.#cutShort, tookMs: Math.round(performance.now() - this.#began) },
      ...defined({ killed: this.#killed }),
      ...(failing?.difference === undefined
        ? {}
        : { counterexample: counterexampleOf(failing, checked.counterexamplePath, checked.counterexample) }),
    };
  }

  /** Throws for a difference, as fast-check wants it. */
  async #once(plan: unknown): Promise<void> {
    const { budgetMs = Infinity, progress } = this.#options;
    if (this.#killed !== undefined) return;
    if (performance.now() - this.#began > budgetMs) {
      // While it shrinks this ends the search: what was found last stands.
      this.#cutShort ||= this.#failing === undefined;
      return;
    }
    let trial = await this.#play(plan);
    if (trial !== undefined && this.#isDoubtful(trial)) trial = await this.#again(plan, trial);
    if (trial === undefined) return;
    if (this.#failing === undefined) {
      this.#runs++;
      this.#packets += trial.happenings.length;
      if (trial.astray === true) this.#astray++;
      progress?.(this.#property.name, this.#runs);
    }
    if (trial.inconclusive !== undefined && this.#failing === undefined) {
      this.#inconclusive++;
      if (this.#reasons.size < MAX_REASONS) this.#reasons.add(trial.inconclusive);
    }
    if (trial.difference === undefined) return;
    this.#failing = trial;
    throw new Error(trial.difference.sentence);
  }

  /** In real time a difference has to show twice, and what proved nothing has a second chance. */
  #isDoubtful(trial: Trial): boolean {
    if (trial.inconclusive !== undefined) return true;
    return trial.difference !== undefined && !this.#options.subject.virtual;
  }

  async #again(plan: unknown, first: Trial): Promise<Trial | undefined> {
    const second = await this.#play(plan);
    if (second === undefined || first.difference === undefined || second.difference !== undefined) return second;
    const { ruleId, sentence } = first.difference;
    return { ...second, inconclusive: `seen once and not again: ${ruleId}, ${sentence}` };
  }

  /** Undefined when the device is gone. */
  async #play(plan: unknown): Promise<Trial | undefined> {
    const { subject, profile } = this.#options;
    const happenings: Trial['happenings'][number][] = [];
    let why: string | undefined;
    try {
      const trial = await this.#property.play({ subject, profile, happenings }, plan);
      why = subject.gone();
      if (why === undefined) return trial;
    } catch (error) {
      why = subject.gone() ?? (error instanceof HostControlError && error.kind === 'gone' ? error.message : undefined);
      if (why === undefined && error instanceof Inconclusive) return { happenings, inconclusive: error.message };
      if (why === undefined) throw error;
    }
    this.#killed = { why, lines: ladder({ happenings }) };
    return undefined;
  }
}

function counterexampleOf(trial: Trial, path: string | null, plan: unknown): Counterexample {
  return {
    ruleId: trial.difference?.ruleId ?? '',
    difference: trial.difference?.sentence ?? '',
    packets: packetsOf(trial),
    lines: ladder(trial),
    ...defined({ connection: trial.connection }),
    path: path ?? '',
    plan: JSON.stringify(plan, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
  };
}

const MAX_REASONS = 10;
const NOTHING_RUN = { runs: 0, packets: 0, inconclusive: 0, reasons: [], astray: 0, cutShort: false, tookMs: 0 };
