/**
 * Compares the results of a case with its expectations. Owns the verdicts and their texts: what was expected, what was
 * found, where to look. Never runs anything but tshark.
 */

import { basename } from 'node:path';
import { defined } from 'rocev2/packets';
import { mustBeThere } from '../required.ts';
import { tsharkAvailable, tsharkRows } from '../tshark.ts';
import { viewCapture } from './capture-view.ts';
import { analyzeCapture, judgeFindings } from './findings.ts';
import { RATES_FILE } from './rate-files.ts';
import { rateOf } from './rates.ts';
import { type CaseRecord, type CommandRecord, exitFault } from './run-case.ts';
import type {
  CaseExpectation,
  Count,
  CounterExpectation,
  EventExpectation,
  FilterExpectation,
  FindingsExpectation,
  IcrcExpectation,
  PrintsExpectation,
  RateExpectation,
  SoundExpectation,
} from './types.ts';
import type { WireRecord } from './wires.ts';

export type JudgementVerdict = 'pass' | 'fail' | 'not checked';

export interface Judgement {
  /** The expectation, in words. */
  readonly what: string;
  readonly wanted: string;
  readonly found: string;
  readonly verdict: JudgementVerdict;
  readonly why?: string;
  /** The reason for which it must not hold; `pass` then says that it does not. */
  readonly mustFail?: string;
  /** The display filter as it was given to tshark. */
  readonly filter?: string;
  /** Name of the file that shows it, in the folder of the case. */
  readonly file?: string;
  /** Numbers of the first frames concerned. */
  readonly frames?: readonly number[];
}

/** All verdicts on a case: how it ran, how its commands ended, then its expectations in their order. */
export async function judgeCase(record: CaseRecord, expectations: readonly CaseExpectation[]): Promise<Judgement[]> {
  const judgements: Judgement[] = [];
  if (record.problem !== undefined) {
    const what = 'the commands can be run as written';
    judgements.push({ what, wanted: 'all', found: record.problem, verdict: 'fail' });
  }
  judgements.push(...record.commands.filter(({ step }) => step.exit !== 'any').map(judgeExit));
  const judged = expectations.map(async (expectation) => stated(await judge(record, expectation), expectation));
  return [...judgements, ...(await Promise.all(judged))];
}

function judgeExit({ name, step, result, log }: CommandRecord): Judgement {
  const { exit = 0, excuse } = step;
  const fault = exitFault(step, result);
  const excused = fault === '' && exit === 0 && result.code !== 0 ? `, excused: ${excuse?.why ?? ''}` : '';
  return {
    what: `${name} ends with ${exit === 'failure' ? 'a failure' : `exit code ${exit}`}`,
    wanted: exit === 'failure' ? 'not 0' : String(exit),
    found: `${result.code}${excused}`,
    verdict: fault === '' ? 'pass' : 'fail',
    file: basename(log),
  };
}

/** Adds the reason, and inverts the verdict of what must fail. */
function stated(judgement: Judgement, { why, mustFail }: CaseExpectation): Judgement {
  const told = { ...judgement, ...defined({ why }) };
  if (mustFail === undefined) return told;
  const { verdict } = judgement;
  return { ...told, mustFail, verdict: verdict === 'fail' ? 'pass' : verdict === 'pass' ? 'fail' : verdict };
}

async function judge(record: CaseRecord, expectation: CaseExpectation): Promise<Judgement> {
  if ('counter' in expectation) return judgeCounter(record, expectation);
  if ('rate' in expectation) return judgeRate(record, expectation);
  if ('prints' in expectation) return judgePrints(record, expectation);
  const wire = record.wires.find(({ name }) => name === expectation.wire);
  if (wire === undefined) throw new RangeError(`there is no wire ${expectation.wire}`);
  if ('filter' in expectation) return judgeFilter(wire, expectation);
  if ('sound' in expectation) return judgeSound(wire, expectation);
  if ('findings' in expectation) return judgeAlarms(wire, expectation);
  return 'icrc' in expectation ? judgeIcrc(wire, expectation) : judgeEvent(wire, expectation);
}

async function judgeFilter(wire: WireRecord, expectation: FilterExpectation): Promise<Judgement> {
  const at = endOf(wire, expectation);
  const filter = filterAt(at, expectation.filter);
  const subject = { what: `frames at ${at} of \`${expectation.filter}\``, filter, file: basename(wire.capture) };
  const wanted = countText(expectation.count);
  const seen = await framesOf(wire.capture, filter);
  if ('problem' in seen) return { ...subject, wanted, found: seen.problem, verdict: seen.verdict };
  const numbers = seen.frames.map(({ number }) => number);
  return counted(subject, numbers.length, expectation.count, numbers);
}

async function judgeSound(wire: WireRecord, expectation: SoundExpectation): Promise<Judgement> {
  const at = endOf(wire, expectation);
  const subject = {
    what: `all frames at ${at} are sound`,
    wanted: 'RoCE packets, every ICRC right, none malformed, as many as tshark finds',
    file: basename(wire.capture),
  };
  const views = viewCapture(wire.capture, at);
  const broken = views.filter(({ kind, goodIcrc }) => kind === 'broken' || (kind === 'roce' && !goodIcrc));
  const roce = views.filter(({ kind }) => kind === 'roce').length;
  const frames = broken.slice(0, FRAMES_SHOWN).map(({ number }) => number);
  if (broken.length > 0)
    return { ...subject, found: `${broken.length} broken or with a wrong ICRC`, verdict: 'fail', frames };
  if (roce === 0) return { ...subject, found: 'no RoCE packet', verdict: 'fail' };
  const seen = await framesOf(wire.capture, filterAt(at, '(infiniband && !icmp && !icmpv6) || _ws.malformed'));
  if ('problem' in seen) return { ...subject, found: `${roce} good ones; ${seen.problem}`, verdict: seen.verdict };
  const malformed = seen.frames.filter(({ protocols }) => protocols.includes('_ws.malformed'));
  const theirs = seen.frames.filter(({ protocols }) => protocols.includes('infiniband')).length;
  if (malformed.length > 0)
    return {
      ...subject,
      found: `tshark: ${malformed.length} malformed`,
      verdict: 'fail',
      frames: malformed.slice(0, FRAMES_SHOWN).map(({ number }) => number),
    };
  return { ...subject, found: `${roce} RoCE packets, tshark ${theirs}`, verdict: roce === theirs ? 'pass' : 'fail' };
}

function judgeIcrc(wire: WireRecord, expectation: IcrcExpectation): Judgement {
  const at = endOf(wire, expectation);
  const { icrc, count } = expectation;
  const frames = viewCapture(wire.capture, at)
    .filter(({ kind, goodIcrc }) => kind === 'roce' && goodIcrc === (icrc === 'good'))
    .map(({ number }) => number);
  return counted(
    { what: `packets at ${at} with a ${icrc} ICRC`, file: basename(wire.capture) },
    frames.length,
    count,
    frames,
  );
}

function judgeAlarms({ name, capture }: WireRecord, expectation: FindingsExpectation): Judgement {
  const { findings, tolerated = [] } = expectation;
  const { alarms, faults, frames } = judgeFindings(analyzeCapture(capture), expectation);
  const perhaps = tolerated.length === 0 ? '' : `; perhaps ${tolerated.join(', ')}, with retransmissions`;
  return {
    what: `errors and warnings of the analyzer about ${name}`,
    wanted: `${findings.join(', ') || 'none'}${perhaps}`,
    found: faults.join('; ') || alarms.join(', ') || 'none',
    verdict: faults.length === 0 ? 'pass' : 'fail',
    file: basename(capture),
    frames: frames.slice(0, FRAMES_SHOWN),
  };
}

function judgeEvent({ name, account }: WireRecord, { event, count }: EventExpectation): Judgement {
  const rules = account.rules.filter((rule) => rule.name === event);
  const byRule = rules.reduce((sum, { applied }) => sum + applied, 0);
  const found = rules.length > 0 ? byRule : byChance(account, event);
  return counted({ what: `${event} on ${name}`, file: `${name}.json` }, found, count);
}

/** How often a wire has done something in both directions, by rule or by chance. */
function byChance({ directions }: WireRecord['account'], event: string): number {
  return Object.values(directions).reduce((sum, direction) => {
    const value = Object.entries(direction).find(([word]) => word === event)?.[1];
    return sum + (value ?? 0);
  }, 0);
}

function judgePrints({ commands }: CaseRecord, { run, prints, count = { min: 1 } }: PrintsExpectation): Judgement {
  const command = commands.find(({ name }) => name === run);
  const text = command === undefined ? '' : `${command.result.stdout}${command.result.stderr}`;
  const found = [...text.matchAll(new RegExp(prints, 'gm'))].length;
  const file = command === undefined ? {} : { file: basename(command.log) };
  return counted({ what: `${run} prints \`${prints}\``, ...file }, found, count);
}

function judgeCounter({ counters }: CaseRecord, { host, counter, count }: CounterExpectation): Judgement {
  return counted({ what: `${counter} of ${host} grows` }, counters.get(host)?.[counter] ?? 0, count);
}

function judgeRate({ rates }: CaseRecord, { host, rate, count }: RateExpectation): Judgement {
  const subject = { what: `${rate} rate of ${host}, bits a second`, file: RATES_FILE };
  const found = rateOf(rates, host, rate);
  if (found !== undefined) return counted(subject, Math.round(found), count);
  return { ...subject, wanted: countText(count), found: 'no queue pair with a rate', verdict: 'fail' };
}

function counted(
  subject: Pick<Judgement, 'what' | 'filter' | 'file'>,
  found: number,
  count: Count,
  frames?: readonly number[],
): Judgement {
  return {
    ...subject,
    wanted: countText(count),
    found: String(found),
    verdict: isWithin(found, count) ? 'pass' : 'fail',
    ...(frames === undefined ? {} : { frames: frames.slice(0, FRAMES_SHOWN) }),
  };
}

export function isWithin(found: number, count: Count): boolean {
  if (typeof count === 'number') return found === count;
  return found >= (count.min ?? 0) && found <= (count.max ?? Infinity);
}

export function countText(count: Count): string {
  if (typeof count === 'number') return String(count);
  const { min, max } = count;
  if (min === undefined) return `at most ${max}`;
  return max === undefined ? `at least ${min}` : `${min} to ${max}`;
}

/** A filter for what one end of a wire has seen: a capture has both. */
export function filterAt(at: string, filter: string): string {
  return `frame.interface_description == "${at}" && (${filter})`;
}

function endOf({ between }: WireRecord, { at }: { readonly at?: string }): string {
  return at ?? between[0];
}

interface SeenFrame {
  readonly number: number;
  /** As `frame.protocols` has them: `eth:ethertype:ip:udp:infiniband`. */
  readonly protocols: readonly string[];
}
type Seen =
  | { readonly frames: readonly SeenFrame[] }
  | { readonly problem: string; readonly verdict: JudgementVerdict };

/** The frames that pass a filter; or why they cannot be found, which without tshark is a failure in CI only. */
async function framesOf(capture: string, filter: string): Promise<Seen> {
  const { available, reason } = tshark();
  if (!available) return { problem: reason, verdict: mustBeThere(process.env) ? 'fail' : 'not checked' };
  try {
    const rows = await tsharkRows(capture, ['frame.number', 'frame.protocols'], { filter });
    const frames = rows.map((row) => ({
      number: Number(row.get('frame.number')?.[0]),
      protocols: row.get('frame.protocols')?.[0]?.split(':') ?? [],
    }));
    return { frames };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { problem: error.message, verdict: 'fail' };
  }
}

let asked: ReturnType<typeof tsharkAvailable> | undefined;

/** Whether there is a tshark, asked once. */
export function tshark(): ReturnType<typeof tsharkAvailable> {
  asked ??= tsharkAvailable();
  return asked;
}

const FRAMES_SHOWN = 5;
