/**
 * Why a requester sends something again.
 *
 * Owns the decision. Rules:
 * - After a sequence NAK the requester goes back to the PSN of the NAK (ref:wire#8), after an RNR NAK to that of the
 *   RNR NAK; soon after a sequence NAK also when the next NAK or an ACK says that what was missing has come late, or
 *   when it was sent again for an earlier NAK.
 * - What was sent before something that has come, by its identification, began nothing.
 * - A READ that begins in the middle of an earlier one, or at a gap in the responses, is an implied NAK
 *   (ref:analyzer#1, 9).
 * - Otherwise the cause is a timeout. After a wait shorter than the ACK timeout of connection management the cause is
 *   unknown; without one, after a wait shorter than `SHORTEST_TIMEOUT_NS`, than two usual round trips, or than half of
 *   the longest wait that the requester has borne without sending anything again. It waits from the last sending of its
 *   oldest request without an answer, or from the last answer.
 */
import {
  agreedTimeoutNs,
  SHORTEST_USED_NS,
  SURE_TIMEOUT_NS,
  shownTimeoutNs,
  TIMEOUT_UNIT_NS,
  unansweredNs,
} from './ack-waits.ts';
import { impliedNak } from './implied-nak.ts';
import type { MutableFacts } from './mutable-facts.ts';
import type { PendingNak } from './outdated-naks.ts';
import type { RetransmissionTrigger } from './pending-report.ts';
import type { PsnSpaceState } from './psn-space-state.ts';
import { HAS_RESPONSE } from './read-queue.ts';

/** The cause for which the request at hand would be sent again; undefined: none is known. */
export function triggerOfRequest(
  state: PsnSpaceState,
  facts: MutableFacts,
  psn: number,
): RetransmissionTrigger | undefined {
  if (!state.reliable) return undefined;
  const waitedNs = facts.timeNs - Math.max(state.lastRequestNs, state.lastProgressNs);
  const pendingNak = pendingNakFor(state, psn, waitedNs) ?? outdatedNakFor(state, psn, facts.timeNs);
  if (pendingNak !== undefined) {
    const durationNs = facts.timeNs - pendingNak.timeNs;
    return {
      cause: pendingNak === state.rnr ? 'rnr' : 'nak',
      refersTo: pendingNak.frame,
      durationNs,
      reason: undefined,
    };
  }
  const agreedNs = agreedTimeoutNs(state);
  // An answer that acknowledges nothing new need not restart the timer, but the requester may have reacted to it.
  const silentNs = agreedNs === undefined ? Math.min(waitedNs, facts.timeNs - state.lastAnswerNs) : waitedNs;
  const implied = impliedNak(state, facts, psn, silentNs);
  if (implied !== undefined) return implied;
  const durationNs = unansweredNs(state, facts.timeNs, psn);
  const soon = waitedNs < SHORTEST_TIMEOUT_NS && durationNs < SURE_TIMEOUT_NS;
  const shortestNs = Math.max(USUAL_ROUND_TRIPS * state.roundTrips.meanNs, shownTimeoutNs(state));
  const short = soon || durationNs < shortestNs;
  if (durationNs < (agreedNs ?? 0) || (agreedNs === undefined && short)) return undefined;
  // What was sent before something that has come was late on its way.
  if (state.conversation.end(state.requester).ids.compareToLast(facts.ipId) < 0) return undefined;
  const refersTo = state.requests.frameOf(psn);
  if (agreedNs === undefined && durationNs < SHORTEST_USED_NS && mayBeSlow(state, facts, psn))
    return { cause: 'unknown', refersTo, durationNs, reason: undefined };
  const reason = psn < state.acked ? 'ack-not-received' : undefined;
  return { cause: 'timeout', refersTo, durationNs, reason };
}

/**
 * By the capture the request is acknowledged, and a slow requester may send it again before it knows. It went back to
 * it for a NAK or for a timeout, and once more for the other; or it is a READ, of which it has lacked a response.
 */
function mayBeSlow({ acked, runCause, runPsn }: PsnSpaceState, facts: MutableFacts, psn: number): boolean {
  const hasResponse = (facts.dissection.frame.flags & HAS_RESPONSE) !== 0;
  return psn < acked && (hasResponse || (runCause === 'nak' && runPsn === psn));
}

function pendingNakFor(
  { nak, rnr, conversation }: PsnSpaceState,
  psn: number,
  waitedNs: number,
): PendingNak | undefined {
  // Packets after a refused one cause a NAK with its PSN, too (ref:rxe#7).
  if (rnr !== undefined && !rnr.answered && psn >= rnr.psn) return rnr;
  const exponent = conversation.cm?.ackTimeoutExponent ?? 0;
  if (exponent > 0 && waitedNs >= TIMEOUT_UNIT_NS * 2 ** exponent) return undefined;
  return nak !== undefined && !nak.answered && psn >= nak.psn ? nak : undefined;
}

/** The requester may get to an older NAK now; undefined: there is none for `psn`, or it is too long ago. */
function outdatedNakFor(state: PsnSpaceState, psn: number, timeNs: number): PendingNak | undefined {
  const { outdatedNaks, acked } = state;
  const nak = outdatedNaks?.find(psn, acked);
  if (nak === undefined) return undefined;
  return timeNs - nak.timeNs < longestReactionNs(state) ? nak : undefined;
}

/** When a requester goes back later than this after a NAK, that may be for a timeout. */
export function longestReactionNs(state: PsnSpaceState): number {
  const { longestNs } = state.roundTrips;
  return agreedTimeoutNs(state) ?? Math.max(SHORTEST_USED_NS, shownTimeoutNs(state), LONGEST_ROUND_TRIPS * longestNs);
}

/** A requester that is busy takes as long to go back as a responder to answer; later it goes back for a timeout. */
const LONGEST_ROUND_TRIPS = 2;
/** No network can use an ACK timeout below this. */
const SHORTEST_TIMEOUT_NS = 200_000;
/** A timeout no longer than so many round trips of the usual length would strike all the time. */
const USUAL_ROUND_TRIPS = 2;
