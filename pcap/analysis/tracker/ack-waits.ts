/**
 * Waits of a requester for an answer: how long it has waited, and how long it was agreed to wait.
 *
 * Owns both figures. What follows from them `request-tracker.ts` decides.
 */
import type { PsnSpaceState } from './psn-space-state.ts';

/** The unit of ACK timeouts, 4.096 us * 2^n (ref:wire#7). */
export const TIMEOUT_UNIT_NS = 4096;

/** After a wait this long a retransmission is due to a timeout, where none was agreed and answers come sooner. */
export const SURE_TIMEOUT_NS = 4_000_000;

/**
 * How long the requester has waited for an answer to `psn`, which it repeats at `timeNs`: since it sent that last, or
 * its neighbour where the capture does not have it, or since an answer came. An answer to `psn` itself never reached
 * it.
 */
export function unansweredNs(state: PsnSpaceState, timeNs: number, psn: number): number {
  const { requests, lastProgressNs, lastRequestNs, acked } = state;
  const sentNs = [psn, psn + 1, psn - 1].map((near) => requests.timeOf(near)).find((near) => !Number.isNaN(near));
  if (sentNs === undefined) return timeNs - Math.max(lastRequestNs, lastProgressNs);
  return timeNs - (psn < acked ? sentNs : Math.max(sentNs, lastProgressNs));
}

/**
 * The shortest wait here that can be the ACK timeout of connection management; Infinity: it never ends; undefined: it
 * is not in the capture.
 */
export function agreedTimeoutNs({ conversation: { cm } }: PsnSpaceState): number | undefined {
  if (cm === undefined) return undefined;
  return cm.ackTimeoutExponent === 0 ? Infinity : TIMEOUT_UNIT_NS * 2 ** cm.ackTimeoutExponent * JITTER;
}

/** A capture shows a wait shorter than it was when the first packet was held up on its way: two per cent. */
const JITTER = 0.98;
