/**
 * Runs many cases against one device and makes one verdict for each rule of them. Owns the order, the second look at a
 * failure of a real device, and what happens when a device crashes: the run reports after which packets, takes a fresh
 * one, and goes on.
 */
import { defined, RoceError } from 'rocev2/packets';
import { CASES } from '../cases/index.ts';
import { DERIVED_RULES } from '../passive-checks/derived.ts';
import { type PassiveChecks, passiveChecksOf } from '../passive-checks/index.ts';
import { matchRules, RULES } from '../rules/index.ts';
import type { ConformanceRule, Deviation } from '../rules/types.ts';
import type { Case } from '../tester/case.ts';
import type { Dut } from '../tester/dut.ts';
import { isHealthy } from './health.ts';
import { type CaseRun, type CaseVerdict, runCase } from './run-case.ts';
import { sweepPsns } from './sweep.ts';

/** One rule, judged. */
export interface RuleResult {
  readonly rule: ConformanceRule;
  readonly verdict: CaseVerdict;
  /** Why, for everything but a plain pass. */
  readonly reason: string;
  /** A breach that the registry knows of, of a rule of any level. */
  readonly known: Deviation | undefined;
  /** What its cases have to say beside the verdict. */
  readonly notes: readonly string[];
  /** Files of its runs, as `keep` called them. */
  readonly captures: readonly string[];
  readonly durationMs: number;
  /** Starting PSN and seed of the run that decided; they repeat it. */
  readonly seed: number;
}

/** A whole run. */
export interface SuiteResult {
  readonly dut: string;
  readonly device: string;
  readonly version: string;
  /** What the host control say of the device: driver, kernel or firmware. */
  readonly description: string;
  readonly seed: number;
  readonly rules: readonly RuleResult[];
  /** Times the device died, or had to be exchanged because it served no more, and after what. */
  readonly deaths: readonly string[];
  /** Hazardous cases that were left out; a run with any is partial. */
  readonly notRun: number;
  /** Why the run is partial, a phrase for each reason; empty when every case of every rule of the registry was run. */
  readonly partial: readonly string[];
}

/** How a run of a case bears on one of its rules. */
export interface JudgedRun {
  readonly rule: ConformanceRule;
  readonly verdict: CaseVerdict;
  readonly known: Deviation | undefined;
}

export interface SuiteOptions {
  readonly seed: number;
  /** Runs hazardous cases against devices that may not be crashed too; default false. */
  readonly hazardous?: boolean;
  /** Rules to be judged. */
  readonly rules: readonly ConformanceRule[];
  /** Milliseconds, for durations in reports. */
  readonly now: () => number;
  /** Keeps a capture, and says what it is called in the report. Absent: none is kept. */
  readonly keep?: (name: string, capture: Uint8Array) => string;
  /** Receives every case after its end, with the verdict on each of its rules that are judged. */
  readonly progress?: (one: Case, run: CaseRun, judged: readonly JudgedRun[], done: number, all: number) => void;
  /** Default: all there are. */
  readonly cases?: readonly Case[];
}

interface Ending {
  readonly verdict: CaseVerdict;
  readonly reason: string;
  /** The device did not survive it: that is no variation, whatever the level of the rule. */
  readonly died: boolean;
  readonly notes: readonly string[];
  readonly captures: string[];
  readonly durationMs: number;
}

/** Runs every case that decides one of the rules. Never throws for what the device does. */
export async function runSuite(dut: Dut, options: SuiteOptions): Promise<SuiteResult> {
  const suite = new Suite(dut, options);
  await suite.run();
  return suite.result();
}

/** The report where no device was available. */
export function nothingJudged(dut: string, rules: readonly ConformanceRule[], seed: number, why: string): SuiteResult {
  const nothing = { known: undefined, notes: [], captures: [], durationMs: 0, seed } as const;
  return {
    ...{ dut, device: 'unknown', version: '', description: why, seed, deaths: [], notRun: 0 },
    partial: ['no device was there'],
    rules: rules.map((rule) => ({ rule, verdict: 'inconclusive', reason: why, ...nothing })),
  };
}

class Suite {
  readonly #dut: Dut;
  readonly #options: SuiteOptions;
  readonly #endings = new Map<string, Ending[]>();
  readonly #deaths: string[] = [];
  readonly #passiveChecks: PassiveChecks;
  #notRun = 0;
  /** Why nothing more can be run, and how many cases were left then. */
  #over: string | undefined;
  #lost = 0;

  constructor(dut: Dut, options: SuiteOptions) {
    this.#dut = dut;
    this.#options = options;
    this.#passiveChecks = passiveChecksOf(dut);
  }

  async run(): Promise<void> {
    const wanted = new Set(this.#options.rules.map(({ id }) => id));
    for (const { id, from } of DERIVED_RULES) {
      if (wanted.has(id)) for (const rule of matchRules(from)) wanted.add(rule.id);
    }
    const cases = (this.#options.cases ?? CASES).filter(({ rules }) => rules.some((id) => wanted.has(id)));
    for (const [i, one] of cases.entries()) {
      const started = this.#options.now();
      if (this.#over !== undefined) this.#lost++;
      const runs = this.#over === undefined ? await this.#runsOf(one) : [lost(this.#over)];
      const decisive = runs.reduce((worst, run) => (rank(run.verdict) > rank(worst.verdict) ? run : worst));
      const captures = this.#kept(one, decisive);
      const { verdict, reason, died } = decisive;
      const notes = [...new Set(runs.flatMap((run) => run.notes))];
      if (verdict === 'not-run') this.#notRun++;
      for (const id of one.rules)
        this.#add(id, { verdict, reason, died, notes, captures, durationMs: this.#options.now() - started });
      this.#options.progress?.(one, decisive, this.#judged(one, decisive), i + 1, cases.length);
    }
    for (const { rule, verdict, reason } of this.#passiveChecks.results())
      this.#add(rule, { ...verdictOnly(verdict, reason) });
  }

  result(): SuiteResult {
    const { name, device, version, hostControl } = this.#dut;
    const { seed, rules } = this.#options;
    const description =
      hostControl === undefined ? 'no agent' : `${hostControl.description.driver} ${hostControl.description.version}`;
    return {
      dut: name,
      device,
      version,
      description,
      seed,
      deaths: this.#deaths,
      notRun: this.#notRun,
      partial: this.#partial(),
      rules: rules.map((rule) => this.#judge(rule)),
    };
  }

  #partial(): string[] {
    const { rules } = this.#options;
    const hazardous = rules.filter(({ id }) => this.#endings.get(id)?.some(({ verdict }) => verdict === 'not-run'));
    const cases = `${this.#notRun} hazardous cases of ${hazardous.length} rules were not run`;
    return [
      ...(rules.length < RULES.length ? [`${rules.length} of ${RULES.length} rules were run`] : []),
      ...(this.#notRun > 0 ? [`${cases}; --hazardous runs them`] : []),
      ...(this.#lost > 0 ? [`${this.#lost} cases were left when the device was lost`] : []),
    ];
  }

  /** What a run of a case is for each of its rules that are judged. */
  #judged(one: Case, { verdict, died }: CaseRun): JudgedRun[] {
    return this.#options.rules
      .filter(({ id }) => one.rules.includes(id))
      .map((rule) => ({ rule, ...this.#graded(rule, verdict, died) }));
  }

  /**
   * A breach by the level of its rule: of a `must` it is a failure, of any other a variation, unless the device died.
   */
  #graded(rule: ConformanceRule, ending: CaseVerdict, died: boolean): Pick<RuleResult, 'verdict' | 'known'> {
    if (ending !== 'fail' && ending !== 'variation') return { verdict: ending, known: undefined };
    const verdict = rule.level === 'must' || died ? 'fail' : 'variation';
    // What a rule that is no must allows is no deviation of it.
    const broken = ending === 'fail' || verdict === 'fail';
    return { verdict, known: broken ? this.#knownOf(rule, died) : undefined };
  }

  /** One run for each starting PSN; no more after one that failed. */
  async #runsOf(one: Case): Promise<CaseRun[]> {
    const runs: CaseRun[] = [];
    for (const psn of sweepPsns(one)) {
      const run = await this.#confirmed(one, psn);
      runs.push(run);
      const decided = run.verdict === 'fail' || run.verdict === 'not-applicable' || run.verdict === 'not-run';
      if (decided || this.#over !== undefined) break;
    }
    return runs;
  }

  /** A failure, a death, or nothing proven, of a real device is looked at twice: what does not repeat is no verdict. */
  async #confirmed(one: Case, psn: number | undefined): Promise<CaseRun> {
    const first = await this.#once(one, psn);
    const doubtful = first.verdict === 'fail' || first.verdict === 'inconclusive';
    if (this.#dut.virtual || !doubtful || this.#over !== undefined) return first;
    const second = await this.#once(one, psn);
    // What has cost two devices is no chance, whatever else was seen of it.
    if (first.died && second.died) return { ...second, verdict: 'fail' };
    if (second.verdict === first.verdict || first.verdict === 'inconclusive' || second.died) return second;
    return {
      ...first,
      verdict: 'inconclusive',
      reason: `it failed once and not when repeated (${second.verdict}): ${first.reason}`,
    };
  }

  async #once(one: Case, psn: number | undefined): Promise<CaseRun> {
    const dut = this.#dut;
    dut.station.watch = (sighting) => this.#passiveChecks.check(sighting);
    dut.station.watchOther = (bytes, ip, timeNs) => this.#passiveChecks.checkOther(bytes, ip, timeNs);
    this.#passiveChecks.begin();
    const { seed, hazardous = false } = this.#options;
    const run = await runCase(dut, one, { seed, hazardous, ...defined({ psn }) });
    const suspicious = run.verdict === 'fail' || run.verdict === 'inconclusive';
    if (!run.died && (dut.virtual || !suspicious || (await isHealthy(dut)))) return run;
    const reason = run.died ? run.reason : `the device serves no more afterwards: ${run.reason}`;
    await this.#renew(`${one.rules.join(', ')}: ${reason}`);
    // Where nothing was proven it may be the agent that is gone, and no fault of the device.
    return run.verdict === 'inconclusive' ? { ...run, reason } : { ...run, reason, died: true };
  }

  async #renew(death: string): Promise<void> {
    this.#deaths.push(death);
    try {
      await this.#dut.renew(death);
    } catch (error) {
      if (!(error instanceof RoceError)) throw error;
      this.#over = `the device was lost: ${error.message}`;
    }
  }

  #kept(one: Case, run: CaseRun): string[] {
    const { keep } = this.#options;
    const played = run.verdict !== 'not-applicable' && run.verdict !== 'not-run';
    if (keep === undefined || !played || run.capture.length === 0) return [];
    const title = one.title === undefined ? '' : `-${one.title.replace(/[^\w]+/g, '-').slice(0, 40)}`;
    return [keep(`${one.rules[0]}${title}.pcapng`, run.capture)];
  }

  #add(id: string, ending: Ending): void {
    const endings = this.#endings.get(id);
    if (endings === undefined) this.#endings.set(id, [ending]);
    else endings.push(ending);
  }

  #judge(rule: ConformanceRule): RuleResult {
    const derived = DERIVED_RULES.find(({ id }) => id === rule.id);
    const endings = [
      ...(this.#endings.get(rule.id) ?? []),
      ...(derived === undefined ? [] : [this.#derived(rule, derived.from)]),
    ];
    const none: Ending = {
      verdict: rule.untested === undefined ? 'inconclusive' : 'not-applicable',
      reason: rule.untested === undefined ? 'nothing was run' : `not tested: ${rule.untested}`,
      ...{ died: false, notes: [], captures: [], durationMs: 0 },
    };
    const worst = endings.reduce((a, b) => (rank(b.verdict) > rank(a.verdict) ? b : a), endings[0] ?? none);
    return {
      rule,
      ...this.#graded(rule, worst.verdict, worst.died),
      reason: worst.reason,
      notes: [...new Set(endings.flatMap(({ notes }) => notes))],
      // That of the case that decided comes first.
      captures: [...new Set([worst, ...endings].flatMap(({ captures }) => captures))],
      durationMs: endings.reduce((sum, { durationMs }) => sum + durationMs, 0),
      seed: this.#options.seed,
    };
  }

  /** A rule that stands for others is known to be broken when all that are broken are. */
  #knownOf(rule: ConformanceRule, died: boolean): Deviation | undefined {
    const derived = DERIVED_RULES.find(({ id }) => id === rule.id);
    if (derived === undefined) return deviationOf(rule, this.#dut, died);
    const broken = this.#partsOf(rule, derived.from).filter(({ ending }) => isBreach(ending));
    if (broken.some(({ part, ending }) => deviationOf(part, this.#dut, ending.died) === undefined)) return undefined;
    return { device: this.#dut.device, does: 'It breaks rules that this one stands for.', evidence: 'those rules' };
  }

  /** How the cases of the rules ended that another one stands for. */
  #partsOf(rule: ConformanceRule, from: string): { readonly part: ConformanceRule; readonly ending: Ending }[] {
    return matchRules(from)
      .filter(({ id, level }) => id !== rule.id && level === 'must')
      .flatMap((part) => (this.#endings.get(part.id) ?? []).map((ending) => ({ part, ending })));
  }

  /** A rule that says no more than that others hold. */
  #derived(rule: ConformanceRule, from: string): Ending {
    const parts = this.#partsOf(rule, from);
    const judged = parts.filter(({ ending }) => ending.verdict !== 'not-applicable');
    const failed = judged.filter(({ ending }) => isBreach(ending)).map(({ part }) => part.id);
    if (failed.length > 0) return verdictOnly('fail', `broken: ${[...new Set(failed)].join(', ')}`);
    const open = judged.filter(({ ending }) => ending.verdict === 'inconclusive').map(({ part }) => part.id);
    if (open.length > 0) return verdictOnly('inconclusive', `open: ${[...new Set(open)].join(', ')}`);
    const left = judged.filter(({ ending }) => ending.verdict === 'not-run').map(({ part }) => part.id);
    if (left.length > 0) return verdictOnly('not-run', `hazardous cases of ${[...new Set(left)].join(', ')}`);
    return judged.length === 0 ? verdictOnly('inconclusive', 'none of its rules was judged') : verdictOnly('pass', '');
  }
}

/** Of a `must`: what is allowed by it is a note, never a variation. */
const isBreach = ({ verdict }: Ending): boolean => verdict === 'fail' || verdict === 'variation';

const verdictOnly = (verdict: CaseVerdict, reason: string): Ending => ({
  ...{ verdict, reason, died: false },
  ...{ notes: [], captures: [], durationMs: 0 },
});

function lost(reason: string): CaseRun {
  const nothing = { variations: [], notes: [], psn: 0, seed: 0, died: false, capture: new Uint8Array(0) };
  return { verdict: 'inconclusive', reason, ...nothing };
}

/** What the registry knows of this device and rule; `died`: that it does not survive the stimulus. */
export function deviationOf(
  rule: ConformanceRule,
  dut: Pick<Dut, 'device' | 'version'>,
  died = false,
): Deviation | undefined {
  return rule.deviations?.find(
    ({ device, versions, kills }) =>
      device === dut.device && (versions === undefined || versions.includes(dut.version)) && (!died || kills === true),
  );
}

/** The worse of two decides: a failure, what is open, what was not run, what was allowed, what was right. */
const RANKS: Readonly<Record<CaseVerdict, number>> = {
  'not-applicable': 0,
  pass: 1,
  variation: 2,
  'not-run': 3,
  inconclusive: 4,
  fail: 5,
};
const rank = (verdict: CaseVerdict): number => RANKS[verdict];
