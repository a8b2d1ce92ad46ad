/**
 * Runs the suite against every limited device. Owns what need not be run again: in virtual time a case that neither
 * asks about a feature nor uses it runs with the same bytes on a device without the feature, and is not repeated there.
 */
import { CASES } from '../cases/index.ts';
import type { Feature } from '../host-control/host-control.ts';
import { RULES } from '../rules/index.ts';
import { runSuite } from '../runner/suite.ts';
import type { Case } from '../tester/case.ts';
import { InProcessDut } from './in-process.ts';
import { LIMITED_DEVICES, type LimitedDevice } from './limited.ts';

/** What a device that lacks something made of the suite. */
export interface LimitedResult {
  readonly id: string;
  /** Cases that were run; the others do not touch what it lacks. */
  readonly cases: number;
  /** Reasons, and the rules that they keep from being judged here and not on the whole device. */
  readonly notApplicable: Readonly<Record<string, readonly string[]>>;
  /** Rules that stayed open, with the reason. */
  readonly open: readonly string[];
  /** Rules that failed as our whole device does not, with the reason. There must be none. */
  readonly wrong: readonly string[];
}

/** What the whole device shows of the cases. */
export interface CaseUse {
  /** Features that it asks about or uses. */
  readonly features: ReadonlySet<Feature>;
  /** Steps of the world that it takes. */
  readonly steps: number;
  readonly applies: boolean;
}

/** A run of the whole device, each case at one starting PSN. */
export async function usesOf(cases: readonly Case[] = CASES): Promise<ReadonlyMap<Case, CaseUse>> {
  let features = new Set<Feature>();
  const uses = new Map<Case, CaseUse>();
  const dut = new InProcessDut({ seed: SEED, note: (feature) => features.add(feature) });
  let steps = dut.steps;
  const single = cases.map(atOnePsn);
  await runSuite(dut, {
    ...{ seed: SEED, rules: RULES, now: () => 0, cases: single },
    progress: (one, { verdict }) => {
      const original = cases[single.indexOf(one)];
      const applies = verdict !== 'not-applicable';
      if (original !== undefined) uses.set(original, { features, steps: dut.steps - steps, applies });
      features = new Set();
      steps = dut.steps;
    },
  });
  return uses;
}

/**
 * The cases that may go otherwise on this device than on the whole one: those that touch what it lacks, or all where
 * its difference shows everywhere. Long ones are left out then: they are about numbers.
 */
export function casesFor(device: LimitedDevice, uses: ReadonlyMap<Case, CaseUse>): readonly Case[] {
  const { lacks = [], everywhere = false } = device;
  return [...uses].flatMap(([one, { features, steps, applies }]) => {
    const touches = lacks.some((feature) => features.has(feature)) || (everywhere && steps <= LONG);
    return applies && touches ? [one] : [];
  });
}

/** The suite against one of them. */
export async function runLimited(device: LimitedDevice, uses: ReadonlyMap<Case, CaseUse>): Promise<LimitedResult> {
  const cases = casesFor(device, uses).map(atOnePsn);
  const dut = new InProcessDut({ seed: SEED, limited: device });
  const notApplicable = new Map<string, Set<string>>();
  const open: string[] = [];
  const wrong: string[] = [];
  const { rules } = await runSuite(dut, {
    ...{ seed: SEED, rules: RULES, now: () => 0, cases },
    progress: ({ rules: ids }, { verdict, reason }) => {
      if (verdict === 'inconclusive') open.push(`${ids.join(', ')}: ${reason}`);
      if (verdict !== 'not-applicable') return;
      const known = notApplicable.get(reason) ?? new Set();
      for (const id of ids) known.add(id);
      notApplicable.set(reason, known);
    },
  });
  for (const { rule, verdict, reason, known } of rules)
    if (verdict === 'fail' && known === undefined) wrong.push(`${rule.id}: ${reason}`);
  return {
    ...{ id: device.id, cases: cases.length, open, wrong },
    notApplicable: Object.fromEntries([...notApplicable].map(([reason, ids]) => [reason, [...ids]])),
  };
}

/** All of them. `progress` receives each when it is done. */
export async function runAllLimited(progress: (result: LimitedResult) => void = () => {}): Promise<LimitedResult[]> {
  const uses = await usesOf();
  const results: LimitedResult[] = [];
  for (const device of LIMITED_DEVICES) {
    const result = await runLimited(device, uses);
    results.push(result);
    progress(result);
  }
  return results;
}

/** Where a case begins in the PSN space has nothing to do with what a device lacks. */
const atOnePsn = ({ psnSweep: _, ...one }: Case): Case => one;

const SEED = 1;
/** Steps of the world of a long case. */
const LONG = 20_000;
