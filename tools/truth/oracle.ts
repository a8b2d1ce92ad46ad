/**
 * Whether a place of capture can tell what became of a request: whether something else could have become of it, and the
 * capture would be the same.
 *
 * Owns the other courses of events that are played. Somebody who has the capture does not know what its network does:
 * only what the capture shows of it. In another course everything is the same, but for
 * - a request that was lost: it comes late, by every half of the time that a full frame takes, and right behind every
 *   other one, up to twice the delay of what is late here, as far as a capture shows that; or it comes in time, and is
 *   dropped behind a READ that comes late;
 * - a request that came late: it is lost;
 * and beside that, for one thing more at most.
 * - Something goes another way: another request that came late is lost or in time, or one that was lost comes late; one
 *   that came twice came once.
 * - Something happens besides: an answer is lost, or another request comes twice. That counts where the capture shows
 *   that such things happen (`signs.ts`), in whatever network.
 * Nothing is overtaken, or lost, in the other course where nothing else is in this one.
 *
 * Courses that cannot have the same capture are not played: the receiver answers the later one of two sendings of a
 * request, which takes an answer in the capture at that time, or its end.
 */
import { Op } from 'rocev2/packets';
import { LATER, type Vantage } from './judge.ts';
import type { MissingRequest } from './recording.ts';
import { hasSameCapture } from './replay.ts';
import type { PlayedRun, RunOptions } from './run.ts';
import { type Signs, signsOf } from './signs.ts';
import { type Fates, type FrameFate, opcodeOf, type SentFrame, type WireLog } from './wire-log.ts';

/** What is different in the other course of events, beside the request itself. */
export type Besides = 'nothing' | 'another late, lost, in time' | 'another doubled or not' | 'an answer lost';

/** A run, by how much packets come late on its network, and where it is captured. */
export interface Question {
  readonly options: Pick<RunOptions, 'seed' | 'ipVersion'>;
  readonly run: PlayedRun;
  readonly vantage: Vantage;
  /** Nanoseconds; 0: nothing is late. */
  readonly lateNs: number;
}

/** Another course of events. */
interface Course {
  readonly besides: Besides;
  readonly fates: Fates;
}

/** The request that may have fared otherwise, and its place among all requests. */
interface Own {
  readonly place: number;
  readonly sent: SentFrame;
  /** When the receiver missed it, and when it got it at last. */
  readonly missedNs: number;
  readonly gotNs: number;
}

/** Which requests that the receiver missed, and were not discarded, cannot be told; and what is different besides. */
export async function otherCourses(question: Question): Promise<Map<MissingRequest, Besides>> {
  const found = new Map<MissingRequest, Besides>();
  for (const request of question.run.naks) {
    if (request.both || request.missing === 'discarded') continue;
    const besides = await otherCourse(question, request);
    if (besides !== undefined) found.set(request, besides);
  }
  return found;
}

/** Another course of events with the same capture; undefined: there is none, and what became of it can be told. */
export async function otherCourse(question: Question, request: MissingRequest): Promise<Besides | undefined> {
  const { options, run, vantage } = question;
  const { log } = run;
  const place = log.places.get(request.serial);
  const sent = place === undefined ? undefined : log.requests[place];
  if (place === undefined || sent === undefined || isSeen(vantage, sent.fate)) return undefined;
  const own = { place, sent, missedNs: request.timeNs, gotNs: request.arrivedNs };
  for (const { besides, fates } of courses(question, own, signsOf(run, request))) {
    const moreLostAnswers = besides === 'an answer lost' ? 1 : 0;
    const others = besides === 'nothing' || besides === 'an answer lost' ? 1 : 2;
    if (await hasSameCapture({ options, log, vantage, moreLostAnswers, others }, fates)) return besides;
  }
  return undefined;
}

/** It passes the place of capture, or does not, in every other course. */
function isSeen(vantage: Vantage, { lost, lateNs }: FrameFate): boolean {
  if (vantage === 'responder') return true;
  return vantage === 'middle' && (lost === 'before' || (lost === undefined && lateNs !== undefined));
}

function courses(question: Question, own: Own, signs: Signs): Iterable<Course> {
  if (own.sent.fate.lost === undefined) return signs.losing ? ifLost(question, own, signs) : [];
  return signs.overtaking && question.lateNs > 0 ? ifThere(question, own, signs) : [];
}

/** It was lost: courses in which it comes. */
function* ifThere(question: Question, own: Own, signs: Signs): Generator<Course> {
  yield* ifLate(question, own, signs);
  yield* ifBehindRead(question, own);
}

/**
 * Its NAK left right behind READ responses: courses in which a READ before it comes late, so that it is dropped. The
 * NAK for that waits behind these responses, until it is not needed any more.
 */
function* ifBehindRead({ run: { log, readsAnswered }, lateNs }: Question, own: Own): Generator<Course> {
  const { place, sent, missedNs } = own;
  if (!readsAnswered.some((at) => at <= missedNs && isNear(at, missedNs))) return;
  const { lost: _, ...inTime } = sent.fate;
  for (let at = place - 1; at >= 0; at--) {
    const read = log.requests[at] as SentFrame;
    if (sent.timeNs - read.timeNs > mostLate(lateNs)) return;
    if (opcodeOf(read.bytes) !== Op.ReadRequest || isMissing(read.fate)) continue;
    for (const late of latenesses(mostLate(lateNs))) {
      const cameNs = read.arrivedNs + late;
      if (cameNs < sent.arrivedNs || cameNs > missedNs + NEAR_NS) continue;
      const fates = changed(log.fates, [place, inTime], [at, lateBy(read.fate, late)]);
      yield { besides: 'another late, lost, in time', fates };
    }
  }
}

/** It was lost: courses in which it comes late. */
function* ifLate({ run: { log }, lateNs }: Question, { place, sent, gotNs }: Own, signs: Signs): Generator<Course> {
  const lates = [...latenesses(mostLate(lateNs)), ...behindOthers(log, sent, mostLate(lateNs))];
  const shownAt = (late: number): number => Math.max(sent.arrivedNs + late, gotNs);
  const own = (late: number): FrameFate => lateBy(sent.fate, late);
  const lastNs = log.answers.at(-1)?.timeNs ?? 0;
  // Where answers may be to copies, and few are late, the capture does not tell by how much.
  const isUnknown = signs.copies && signs.late < FEWEST_LATE;
  // It may be by so much that its answer is behind the end of the capture.
  const endsNs = Math.max(lastNs, gotNs) + NEAR_NS - sent.arrivedNs;
  if (isUnknown && endsNs < UNKNOWN_NS) yield { besides: 'nothing', fates: changed(log.fates, [place, own(endsNs)]) };
  const isAnswered = (at: number): boolean => log.answers.some(({ timeNs }) => isNear(timeNs, at));
  for (const late of lates)
    if (shownAt(late) > lastNs - NEAR_NS || isAnswered(shownAt(late)))
      yield { besides: 'nothing', fates: changed(log.fates, [place, own(late)]) };
  for (const [at, other] of log.requests.entries()) {
    if (at === place) continue;
    const { lost, lateNs: otherLate, doubled = false, ...rest } = other.fate;
    const explains = lates.filter((late) => isNear(other.arrivedNs, shownAt(late)));
    if (lost === undefined && otherLate !== undefined)
      for (const late of explains)
        for (const fate of [
          { ...rest, lateNs: 0 },
          { ...rest, lost: 'before' as const },
        ])
          yield { besides: 'another late, lost, in time', fates: changed(log.fates, [place, own(late)], [at, fate]) };
    if (lost === undefined && doubled) {
      const once = otherLate === undefined ? rest : { ...rest, lateNs: otherLate };
      const unknown = isUnknown ? latenessesNear(shownAt(0), other.arrivedNs, sent.arrivedNs) : [];
      for (const late of [...explains, ...unknown])
        yield { besides: 'another doubled or not', fates: changed(log.fates, [place, own(late)], [at, once]) };
    }
  }
  if (signs.lostAnswers)
    for (const late of lates) yield { besides: 'an answer lost', fates: changed(log.fates, [place, own(late)]) };
}

/** It came late: courses in which it is lost. */
function* ifLost({ run: { log }, lateNs }: Question, { place, sent, gotNs }: Own, signs: Signs): Generator<Course> {
  const { lateNs: _, ...fate } = sent.fate;
  const own: FrameFate = { ...fate, lost: 'before' };
  yield { besides: 'nothing', fates: changed(log.fates, [place, own]) };
  // The receiver answered the later one of its two sendings.
  const shownNs = Math.max(sent.arrivedNs, gotNs);
  for (const [at, other] of log.requests.entries()) {
    if (at === place) continue;
    if (other.fate.lost !== undefined) {
      for (const late of latenesses(mostLate(lateNs)))
        if (isNear(other.arrivedNs + late, shownNs))
          yield {
            besides: 'another late, lost, in time',
            fates: changed(log.fates, [place, own], [at, lateBy(other.fate, late)]),
          };
    } else if (signs.copies && other.fate.doubled !== true && isNear(other.arrivedNs, shownNs))
      yield {
        besides: 'another doubled or not',
        fates: changed(log.fates, [place, own], [at, { ...other.fate, doubled: true }]),
      };
  }
}

function changed(fates: Fates, ...changes: readonly (readonly [number, FrameFate])[]): Fates {
  return new Map([...fates, ...changes]);
}

function latenesses(most: number): number[] {
  return Array.from({ length: Math.floor(most / STEP_NS) }, (_, i) => (i + 1) * STEP_NS);
}

/** By how much it is late when it comes right behind each other one: no step is between it and a short next one. */
function behindOthers(
  { requests }: Pick<WireLog, 'requests'>,
  { arrivedNs, bytes }: SentFrame,
  most: number,
): number[] {
  const onWireNs = Math.ceil(bytes.length * BYTE_NS) + 1;
  return requests.map((other) => other.arrivedNs + onWireNs - arrivedNs).filter((late) => late > 0 && late <= most);
}

/** By how much it is late when it comes with another one, after it was missed. */
function latenessesNear(missedNs: number, otherNs: number, ownNs: number): number[] {
  if (otherNs < missedNs || otherNs - ownNs > UNKNOWN_NS) return [];
  return latenesses(2 * NEAR_NS).map((step) => otherNs - ownNs - NEAR_NS + step);
}

/** One that was lost comes late. */
function lateBy({ lost, lateNs: _, ...fate }: FrameFate, late: number): FrameFate {
  return lost === 'behind' ? { ...fate, lateBehindNs: late } : { ...fate, lateNs: late };
}

function isMissing({ lost, lateNs }: FrameFate): boolean {
  return lost !== undefined || lateNs !== undefined;
}

/** What is late is so by up to so much, as far as a capture shows by how much others are, nanoseconds. */
function mostLate(lateNs: number): number {
  return LATER * lateNs + SHOWN_NS;
}

function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) <= NEAR_NS;
}

/** By the PSN of its ACK a request came between two others, which are full frames 0.87 us apart at most. */
const STEP_NS = 430;
/** Answers show how late others are to a full frame's time on the wire, and twice that much is looked for. */
const SHOWN_NS = 2_000;
/** On wires of 10 Gb/s. */
const BYTE_NS = 0.8;
/** So many others that are late show by how much, where answers may be to copies. */
const FEWEST_LATE = 3;
/** As late as any is on one of these networks. */
const UNKNOWN_NS = 2_000_000;
/** Beside what captures are compared by: frames wait for one another, up to two of full length. */
const NEAR_NS = 3_000;
