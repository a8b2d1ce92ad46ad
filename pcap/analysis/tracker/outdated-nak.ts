/**
 * Whether a requester goes back for a NAK although what that asks for has come late since.
 *
 * Owns that. The responder has told so by the next NAK or by an ACK, but the requester had the NAK first, and goes back
 * to its PSN all the same.
 */
import { agreedTimeoutNs, shownTimeoutNs, TIMEOUT_UNIT_NS } from './ack-waits.ts';
import type { PendingNak, PsnSpaceState } from './psn-space-state.ts';

/** The NAK for which `psn` is repeated at `timeNs`; undefined: there is none, or it is too long ago. */
export function outdatedNakFor(state: PsnSpaceState, psn: number, timeNs: number): PendingNak | undefined {
  const { outdatedNak, roundTrips } = state;
  if (outdatedNak?.psn !== psn) return undefined;
  const usedNs = Math.max(SHORTEST_USED_NS, shownTimeoutNs(state), LONGEST_ROUND_TRIPS * roundTrips.longestNs);
  const longestNs = agreedTimeoutNs(state) ?? usedNs;
  return timeNs - outdatedNak.timeNs < longestNs ? outdatedNak : undefined;
}

/** A requester that is busy takes as long to go back as a responder to answer; later it goes back for a timeout. */
const LONGEST_ROUND_TRIPS = 2;
/**
 * No program that is in use asks for an ACK timeout below 2^13, and hardware takes up to twice that. A timeout would go
 * back to what is not acknowledged, unless answers were lost.
 */
const SHORTEST_USED_NS = TIMEOUT_UNIT_NS * 2 ** 14;
