/**
 * Waits of a requester for an answer: how long it has waited, how long it was agreed to wait, and for how long it has
 * shown that it does.
 *
 * Owns these figures. What follows from them `request-tracker.ts` decides. The timer of a requester may run from its
 * last answer, whatever it has sent again since for a NAK (rxe:rxe_comp.c#rxe_completer).
 */
import { PacketFlag } from './packet-memory.ts';
import type { PsnSpaceState } from './psn-space-state.ts';

/** The unit of ACK timeouts, 4.096 us * 2^n (ref:wire#7). */
export const TIMEOUT_UNIT_NS = 4096;

/**
 * No program that is in use asks for an ACK timeout below 2^13, and hardware takes up to twice that. A timeout would go
 * back to what is not acknowledged, unless answers were lost.
 */
export const SHORTEST_USED_NS = TIMEOUT_UNIT_NS * 2 ** 14;

/** After a wait this long a retransmission is due to a timeout, where none was agreed and answers come sooner. */
export const SURE_TIMEOUT_NS = 4_000_000;

/**
 * How long the requester has waited for an answer to `psn`, which it repeats at `timeNs`: since it sent that last, or
 * its neighbour where the capture does not have it, or since an answer came; what it sent again for a NAK, since that
 * came. An answer to `psn` itself never reached it.
 */
export function unansweredNs(state: PsnSpaceState, timeNs: number, psn: number): number {
  const { requests, lastProgressNs, lastRequestNs, lastAnswerNs, acked, runCause, runNs } = state;
  const sentNs = [psn, psn + 1, psn - 1].map((near) => requests.timeOf(near)).find((near) => !Number.isNaN(near));
  if (sentNs === undefined) return timeNs - Math.max(lastRequestNs, lastProgressNs);
  // A NAK for what is before the first request, as where starting PSNs do not match, makes nobody go back.
  const forNak = runCause === 'nak' && (state.nak?.psn ?? 0) >= 0;
  if (forNak && psn >= acked && sentNs >= runNs && lastAnswerNs < sentNs) return timeNs - lastAnswerNs;
  return timeNs - (psn < acked ? sentNs : Math.max(sentNs, lastProgressNs));
}

/** An answer comes. */
export function noteAnswer(state: PsnSpaceState, timeNs: number): void {
  notePatience(state, timeNs);
  state.lastAnswerNs = timeNs;
}

/**
 * A requester goes back. It has waited for that, unless it is the next one of several timeouts: hardware may begin with
 * short ones, and take longer each time.
 *
 * @param waitedNs for a timeout
 */
export function noteGoingBack(state: PsnSpaceState, timeNs: number, waitedNs: number): void {
  if (state.runCause === 'timeout' && state.lastAnswerNs < state.runNs) return;
  if ((state.requests.flagsOf(Math.max(state.acked, 0)) & PacketFlag.Repeated) === 0) notePatience(state, timeNs);
  if (waitedNs > state.patienceNs) state.patienceNs = waitedNs;
}

/** The requester has waited in vain, and goes back to `psn`. */
export function noteSilence(state: PsnSpaceState, psn: number): void {
  state.silentPsn = psn < state.lastNewPsn ? state.lastNewPsn : -1;
}

/**
 * An ACK up to `psn` is the first answer after a timeout. Where it answers a duplicate, it shows what the responder
 * has: everything but the last request, and none that asked for an ACK. That request was missing, and no answer.
 */
export function explainSilence(state: PsnSpaceState, psn: number): void {
  const { silentPsn, acked, requests } = state;
  state.silentPsn = -1;
  if (silentPsn < 0 || psn !== silentPsn - 1 || psn < acked) return;
  // Without an ACK before, anything may be unanswered.
  if (psn - acked >= MOST_UNANSWERED) return;
  for (let at = acked; at <= psn; at++) if ((requests.flagsOf(at) & PacketFlag.AckReq) !== 0) return;
  state.explainedTimeouts++;
}

/** Counts the requests before `psn` that asked for an ACK, and are acknowledged by that of `psn` only. */
export function countSkipped(state: PsnSpaceState, psn: number): void {
  for (let at = Math.max(state.acked, psn - MOST_UNANSWERED); at < psn; at++)
    if ((state.requests.flagsOf(at) & PacketFlag.AckReq) !== 0) state.skippedAcks++;
}

/**
 * An ACK up to `psn`. When it comes sooner than the last sending of what is before that can be answered, an earlier one
 * draws it: the receiver had all of it before the requester went back.
 */
export function noteDrawnBefore({ missed, requests, runNs, roundTrips }: PsnSpaceState, psn: number, timeNs: number) {
  if (timeNs - requests.timeOf(psn - 1) < roundTrips.boundNs) missed?.acknowledgedSooner(psn, timeNs, runNs);
}

/** For so long nothing was answered and nothing sent again. */
function notePatience(state: PsnSpaceState, timeNs: number): void {
  const { requests, acked, lastAnswerNs } = state;
  const waitedNs = timeNs - Math.max(requests.timeOf(Math.max(acked, 0)), lastAnswerNs);
  if (waitedNs > state.patienceNs) state.patienceNs = waitedNs;
}

/**
 * The shortest wait that can be an ACK timeout by what the requester has shown: one that has waited longer without
 * sending anything again has a longer one. Hardware may take up to four times what is configured; few take twice.
 */
export function shownTimeoutNs({ patienceNs }: PsnSpaceState): number {
  return patienceNs * PATIENCE_SHARE;
}

/**
 * The shortest wait here that can be the ACK timeout of connection management; Infinity: it never ends; undefined: it
 * is not in the capture.
 */
export function agreedTimeoutNs({ conversation: { cm } }: PsnSpaceState): number | undefined {
  if (cm === undefined) return undefined;
  return cm.ackTimeoutExponent === 0 ? Infinity : TIMEOUT_UNIT_NS * 2 ** cm.ackTimeoutExponent * JITTER;
}

const PATIENCE_SHARE = 0.49;
/** Requests without an answer of which it is looked up whether they asked for an ACK. */
const MOST_UNANSWERED = 1024;
/** A capture shows a wait shorter than it was when the first packet was held up on its way: two per cent. */
const JITTER = 0.98;
