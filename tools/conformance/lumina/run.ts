/**
 * Lumina's checks against a device: all scenarios, the device asking and answering, and one verdict for each rule. Owns
 * the order, and how results of many runs become a verdict; what a rule's breach means, its level says (rules/).
 */
import { defined, RoceError } from 'rocev2/packets';
import { KERNELS } from '../../lab/recipe.ts';
import { findRule } from '../rules/index.ts';
import type { Deviation } from '../rules/types.ts';
import type { CaseVerdict } from '../runner/run-case.ts';
import { COUNTER_DEVIATIONS } from './counters.ts';
import { type CheckResult, median } from './findings.ts';
import { inProcessTestbeds } from './in-process.ts';
import { type Played, play } from './play.ts';
import { type LossScenario, rulesFor, SCENARIOS } from './scenario.ts';
import type { TestbedEnd, TestbedFactory } from './stage.ts';
import type { TrafficEnd } from './trace.ts';

export interface LuminaOptions {
  readonly seed: number;
  /** What is at the other end of the wire from a lab device: a device of ours (default), or another of its kind. */
  readonly peer?: 'rocev2' | 'rxe';
  /** Default: all. */
  readonly scenarios?: readonly LossScenario[];
  readonly log?: (line: string) => void;
  /** Receives every run. */
  readonly progress?: (played: Played) => void;
}

/** One rule, or one check that no rule stands for, for one kind of device. */
export interface LuminaResult {
  readonly check: string;
  readonly rule?: string;
  readonly device: string;
  readonly version: string;
  readonly verdict: CaseVerdict;
  /** Why, for everything but a pass: the first difference, and in which scenario. */
  readonly reason: string;
  /** Occasions, over all runs. */
  readonly seen: number;
  /** A breach that the registry knows of. */
  readonly known: Deviation | undefined;
}

/**
 * Medians of the medians of all runs, in nanoseconds, seen from the bump: the way to the device and back is in them.
 */
export interface LuminaLatency {
  readonly device: string;
  readonly version: string;
  /** From a packet that requests an ACK to the ACK. */
  readonly ackNs: number | undefined;
  /** NAK generation: from the packet behind a gap to the NAK. */
  readonly nakNs: number | undefined;
  /** NAK reaction: from the NAK to the packet that it names. */
  readonly reactionNs: number | undefined;
  /** From a READ response behind a gap to the repeated READ, where the gap drew it, and where the timer did. */
  readonly readAtOnceNs: number | undefined;
  readonly readByTimerNs: number | undefined;
}

export interface LuminaReport {
  readonly dut: string;
  readonly results: readonly LuminaResult[];
  readonly latencies: readonly LuminaLatency[];
  readonly runs: readonly Played[];
}

/** Plays all scenarios with `dut` ('in-process', or 'lab:' and a kernel) in both roles. Rejects as its stage does. */
export async function runLumina(dut: string, options: LuminaOptions): Promise<LuminaReport> {
  const theatre = await openTheatre(dut, options);
  try {
    // Two devices of one kind that share no machine with others: either may be the requester.
    return await runLuminaOn(theatre, dut, options, dut === 'in-process' ? ['a'] : ['a', 'b']);
  } finally {
    await theatre.close();
  }
}

/** The same on a theatre that is there, which stays the caller's; each of `requesters` asks in turn. */
export async function runLuminaOn(
  theatre: TestbedFactory,
  dut: string,
  { scenarios = SCENARIOS, progress }: Pick<LuminaOptions, 'scenarios' | 'progress'>,
  requesters: readonly TrafficEnd[] = ['a', 'b'],
): Promise<LuminaReport> {
  const runs: Played[] = [];
  const judged: Judged[] = [];
  const whose = new Map<string, Whose>();
  for (const scenario of scenarios)
    for (const requester of requesters) {
      const stage = await theatre.open(rulesFor(scenario, requester));
      const played = await play(stage, scenario, requester);
      runs.push(played);
      progress?.(played);
      judged.push(...judgedOf(played, stage.ends));
      for (const { device, version } of Object.values(stage.ends))
        whose.set(`${device} ${version}`, { device, version });
    }
  const all = [...whose.values()];
  return { dut, results: verdictsOf(judged, all), latencies: latenciesOf(runs, judged, all), runs };
}

/** A result, and whose it is. */
interface Judged extends Whose {
  readonly result: CheckResult;
  readonly scenario: string;
}

interface Whose {
  readonly device: string;
  readonly version: string;
}

async function openTheatre(dut: string, { seed, peer, log }: LuminaOptions): Promise<TestbedFactory> {
  if (dut === 'in-process') return inProcessTestbeds(seed);
  const kernel = KERNELS.find((label) => dut === `lab:${label}`);
  if (kernel === undefined)
    throw new RoceError(
      'ERR_ROCE_ARGUMENT',
      `'${dut}' is neither in-process nor lab: and one of ${KERNELS.join(', ')}`,
    );
  const { openLab } = await import('./lab.ts');
  return openLab({ kernel, peer: peer ?? 'rocev2', ...defined({ log }) });
}

function judgedOf({ results, scenario }: Played, ends: Readonly<Record<TrafficEnd, TestbedEnd>>): Judged[] {
  return results.map((result) => {
    const { device, version } = ends[result.end];
    return { result, scenario, device, version };
  });
}

/** One verdict for each rule or check and device, the worst of all runs; none for a rule is one as well. */
function verdictsOf(judged: readonly Judged[], whose: readonly Whose[]): LuminaResult[] {
  return whose.flatMap((who) => {
    const own = judged.filter(({ device, version }) => device === who.device && version === who.version);
    const names = new Set([...LUMINA_RULES, ...own.map(({ result }) => nameOf(result))]);
    return [...names].map((name) =>
      verdictOf(
        name,
        own.filter(({ result }) => nameOf(result) === name),
        who,
      ),
    );
  });
}

const nameOf = ({ rule, check }: CheckResult): string => rule ?? check;

function verdictOf(name: string, group: readonly Judged[], who: Whose): LuminaResult {
  const rule = findRule(name);
  const seen = group.reduce((sum, { result }) => sum + result.seen, 0);
  const base = { check: group[0]?.result.check ?? '', ...(rule === undefined ? {} : { rule: name }), ...who, seen };
  const deviations = rule?.deviations ?? COUNTER_DEVIATIONS.filter(({ counter }) => name === `counter ${counter}`);
  const known = deviations.find(
    ({ device, versions }) => device === who.device && (versions === undefined || versions.includes(who.version)),
  );
  const broken = group.find(({ result }) => !result.ok);
  if (broken !== undefined) {
    const verdict = rule === undefined || rule.level === 'must' ? 'fail' : 'variation';
    return { ...base, verdict, reason: `${broken.scenario}: ${broken.result.difference}`, known };
  }
  const varied = group.find(({ result }) => result.variation !== '');
  if (varied !== undefined)
    return { ...base, verdict: 'variation', reason: `${varied.scenario}: ${varied.result.variation}`, known };
  if (seen > 0) return { ...base, verdict: 'pass', reason: '', known: undefined };
  const marks = group.reduce((sum, { result }) => sum + Number(result.figures['marks'] ?? 0), 0);
  if (marks > 0)
    return { ...base, verdict: 'not-applicable', reason: `${marks} marks drew no notification`, known: undefined };
  return { ...base, verdict: 'inconclusive', reason: 'no run has tried it', known: undefined };
}

/** What it takes a device to answer, of all runs of its kind. */
function latenciesOf(runs: readonly Played[], judged: readonly Judged[], whose: readonly Whose[]): LuminaLatency[] {
  if (runs.length === 0) return [];
  return whose.map(({ device, version }) => {
    const own = judged.filter((one) => one.device === device && one.version === version);
    const all = new Set(own.map(({ result }) => result.figures));
    const of = (name: string): number | undefined => {
      const values = [...all].flatMap(({ [name]: value }) => (typeof value === 'number' ? [value] : []));
      return values.length === 0 ? undefined : median(values.sort((x, y) => x - y));
    };
    const [ackNs, nakNs, reactionNs] = ['ackNsMedian', 'nakNsMedian', 'reactionNsMedian'].map(of);
    const [readAtOnceNs, readByTimerNs] = ['askedAtOnceNsMedian', 'askedByTimerNsMedian'].map(of);
    return { device, version, ackNs, nakNs, reactionNs, readAtOnceNs, readByTimerNs };
  });
}

/** The rules of the registry that these checks decide. */
export const LUMINA_RULES: readonly string[] = [
  ...['RSP-PSN-04', 'RSP-PSN-05', 'RSP-PSN-06', 'RSP-PSN-10', 'RD-01', 'RD-18', 'ACK-05', 'ACK-14', 'ACK-15'],
  ...['REQ-14', 'REQ-15', 'REQ-24', 'REQ-25', 'REQ-27', 'REQ-28', 'CNP-05', 'CNP-07', 'CNP-08'],
];
