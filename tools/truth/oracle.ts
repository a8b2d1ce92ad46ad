/**
 * Whether a place of capture can tell what became of a request: whether the network could have done something else to
 * it, and the capture would be the same.
 *
 * Owns the other courses of events that are played. The run is the same, and so is what the network does to every
 * frame, but for
 * - a request that was lost: it comes late, by every full microsecond up to the delay of the network;
 * - a request that came late: it is lost;
 * and beside that, where the network does such things, for one thing more that explains an answer more or less: another
 * request that came late is lost or in time, or one that was lost comes late; a request that was doubled is not, or
 * another one is; an answer is lost. What no other course of these has the same capture of can be told. That is no
 * proof: where two things more are different, nothing is known.
 */
import type { NetworkFaults, Vantage } from './judge.ts';
import type { MissingRequest } from './recording.ts';
import { hasSameCapture } from './replay.ts';
import type { PlayedRun, RunOptions } from './run.ts';
import type { Fates, FrameFate, SentFrame } from './wire-log.ts';

/** What is different in the other course of events, beside the request itself. */
export type Besides = 'nothing' | 'another late, lost, in time' | 'another doubled or not' | 'an answer lost';

/** A run, its network, and where it is captured. */
export interface Question {
  readonly options: Pick<RunOptions, 'seed' | 'ipVersion'>;
  readonly run: PlayedRun;
  readonly vantage: Vantage;
  readonly faults: NetworkFaults;
}

/** Another course of events. */
interface Course {
  readonly besides: Besides;
  readonly fates: Fates;
}

/** Another course of events with the same capture; undefined: there is none, and what became of it can be told. */
export async function otherCourse(question: Question, request: MissingRequest): Promise<Besides | undefined> {
  const { options, run, vantage, faults } = question;
  const place = run.log.places.get(request.serial);
  const sent = place === undefined ? undefined : run.log.requests[place];
  if (place === undefined || sent === undefined || isSeen(vantage, sent.fate)) return undefined;
  for (const { besides, fates } of courses(question, place, sent)) {
    const moreLostAnswers = faults.losesAnswers ? 1 : 0;
    if (await hasSameCapture({ options, log: run.log, vantage, moreLostAnswers }, fates))
      return faults.losesAnswers && besides === 'nothing' ? 'an answer lost' : besides;
  }
  return undefined;
}

/** It passes the place of capture, or does not, in every other course. */
function isSeen(vantage: Vantage, { lost, lateNs }: FrameFate): boolean {
  if (vantage === 'responder') return true;
  return vantage === 'middle' && (lost === 'before' || (lost === undefined && lateNs !== undefined));
}

function* courses({ run: { log }, faults }: Question, place: number, sent: SentFrame): Generator<Course> {
  const changed = (...changes: readonly (readonly [number, FrameFate])[]): Fates => new Map([...log.fates, ...changes]);
  const own = otherFates(sent.fate, faults);
  for (const fate of own) yield { besides: 'nothing', fates: changed([place, fate]) };
  const isLost = sent.fate.lost !== undefined;
  const near = (at: number, from: SentFrame): boolean =>
    at !== place && Math.abs(from.timeNs - sent.timeNs) <= NEAR_NS + faults.lateNs;
  for (const [at, other] of log.requests.entries()) {
    if (!near(at, other)) continue;
    const wasLost = other.fate.lost !== undefined;
    const wasLate = !wasLost && other.fate.lateNs !== undefined;
    if (isLost ? wasLate : wasLost)
      for (const fate of own)
        for (const instead of isLost
          ? [{ ...other.fate, lateNs: 0 }, ...otherFates(other.fate, faults)]
          : otherFates(other.fate, faults))
          yield { besides: 'another late, lost, in time', fates: changed([place, fate], [at, instead]) };
    if (!faults.doubles || wasLost || (other.fate.doubled === true) !== isLost) continue;
    const { doubled = false, ...rest } = other.fate;
    const instead = doubled ? rest : { ...rest, doubled: true };
    for (const fate of own) yield { besides: 'another doubled or not', fates: changed([place, fate], [at, instead]) };
  }
}

/** What else may have become of it. */
function otherFates({ lost, lateNs: _, ...fate }: FrameFate, { lateNs }: NetworkFaults): FrameFate[] {
  if (lost === undefined) return [{ ...fate, lost: 'before' }];
  const fates: FrameFate[] = [];
  for (let late = lateNs; late > 0; late -= STEP_NS)
    fates.push(lost === 'before' ? { ...fate, lateNs: late } : { ...fate, lateBehindNs: late });
  return fates;
}

const STEP_NS = 1_000;
/** How far apart requests may be sent of which one explains an answer to the other, beside the delay. */
const NEAR_NS = 50_000;
