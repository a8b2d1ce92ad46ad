/**
 * Whether a request is sent again because of a gap in its responses.
 *
 * Owns the evidence: a READ that begins in the middle of an earlier one or at a gap, or once more from its beginning,
 * as soon as a requester that lacks its first response can notice it (ref:analyzer#1, 9).
 */
import { agreedTimeoutNs, SHORTEST_USED_NS } from './ack-waits.ts';
import type { MutableFacts } from './mutable-facts.ts';
import type { RetransmissionTrigger } from './pending-report.ts';
import type { PsnSpaceState } from './psn-space-state.ts';
import { HAS_RESPONSE } from './read-queue.ts';

/**
 * The trigger of a request that was sent before; undefined: it is no implied NAK. Unknown: it may be one, or a timeout.
 *
 * @param waitedNs without an answer
 */
export function impliedNak(
  state: PsnSpaceState,
  facts: MutableFacts,
  psn: number,
  waitedNs: number,
): RetransmissionTrigger | undefined {
  if ((facts.dissection.frame.flags & HAS_RESPONSE) === 0) return undefined;
  const { requests, responseHoles, reads, responses, report, shortestReactionNs } = state;
  const hole = responseHoles.at(psn);
  const entry = reads.find(psn);
  if (hole === undefined && entry === undefined) return undefined;
  // No response came since it was last requested again: the requester cannot have noticed another gap.
  const noticed = state.lastResponseFrame > requests.frameOf(psn);
  if (!noticed && !asksPast(state, psn)) return undefined;
  // No response from there on was captured: the requester saw silence, not a gap.
  if (hole === undefined && entry?.next === psn) return undefined;
  const { meanNs, maxNs } = report.readLatency;
  const usualNs = Math.max(LATE_NS, 10 * meanNs);
  const shownNs = Math.max(maxNs, state.slowestReactionNs, SURE_SHARE * state.patienceNs);
  const agreedNs = agreedTimeoutNs(state);
  const late = waitedNs > Math.max(usualNs, agreedNs ?? shownNs);
  // Where none was agreed, a requester that is busy may take as long to react to the gap that it has seen.
  const silentNs = Math.max(usualNs, agreedNs ?? SHORTEST_USED_NS);
  const timedOut = late && waitedNs > silentNs;
  if (!late && waitedNs > state.slowestReactionNs) state.slowestReactionNs = waitedNs;
  // From its beginning: the first response was lost. Much later: there was no response at all.
  const fromStart = hole === undefined && psn === entry?.start;
  if (fromStart) {
    // Behind its response without the time for a reaction: it came late, or a mirror shows it once more.
    const sinceAnswerNs = facts.timeNs - responses.timeOf(psn);
    const mirrored = requests.isSameFrame(psn, facts) && sinceAnswerNs < MIRROR_NS;
    const tooSoon = shortestReactionNs < Infinity && sinceAnswerNs < shortestReactionNs * REACTION_SHARE;
    if (waitedNs > silentNs || mirrored || tooSoon) return undefined;
    // Too late for a reaction to a gap, and too soon for a timeout.
    if (waitedNs > Math.max(usualNs, agreedNs ?? 0))
      return { cause: 'unknown', refersTo: requests.frameOf(psn), durationNs: waitedNs, reason: undefined };
  }
  const sinceNs = late ? waitedNs : -1;
  const durationNs = hole === undefined ? sinceNs : facts.timeNs - hole.openedNs;
  const refersTo = hole?.openedFrame ?? responses.frameOf(psn);
  return {
    cause: 'implied-nak',
    refersTo,
    durationNs,
    reason: timedOut ? 'after-timeout' : late ? undefined : 'immediate',
  };
}

/**
 * It goes back twice without a response in between, the second time not as far: what it lacked then has come late, and
 * it has dropped what came behind that.
 */
function asksPast({ missedResponse: missed, conversation, requester }: PsnSpaceState, psn: number): boolean {
  return missed !== undefined && missed.sentTo < 0 && psn > missed.psn && conversation.end(requester).ids.isUsable;
}

/** How much later a mirror shows a frame once more, at most, and a requester never reacts to its response. */
const MIRROR_NS = 3_000;
/** Reactions take a little more or less time. */
const REACTION_SHARE = 0.9;
/** Of the longest wait: a requester that sees a gap may react at any time. */
const SURE_SHARE = 0.75;
/** A retransmission later than this is no reaction to a gap. */
const LATE_NS = 1_000_000;
