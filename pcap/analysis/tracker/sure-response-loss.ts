/**
 * Whether a READ response that was captured and is requested again was lost, whatever else is overtaken.
 *
 * Owns the evidence. A requester takes responses in order, and asks at once for what is missing when a response of a
 * later READ comes (ref:rxe#8), or else at its timeout. So two things may have happened to the response that it asks
 * for, beside loss: the one before it came late, and this one was dropped meanwhile; or it came late itself. The first
 * cannot be where this one begins a READ: the requester would have asked for the one before. The second cannot be where
 * it asks at its timeout. Where it asks at once it may be, unless many packets of later READs were on their way behind:
 * when the late one has come, the next of these makes the requester ask for what it has dropped. How many are enough is
 * known where another response was told to be overtaken by that.
 */
import { agreedTimeoutNs, SHORTEST_USED_NS, SURE_TIMEOUT_NS } from './ack-waits.ts';
import type { PlacedDetails, PsnSpaceState } from './psn-space-state.ts';
import type { ReadEntry } from './read-queue.ts';

/** Call it before the READ of `details` is noted as one that asks again. */
export function isSurelyLost(state: PsnSpaceState, psn: number, details: PlacedDetails): boolean {
  const entry = state.reads.find(psn);
  if (entry === undefined || entry.openEnded || entry.copiedFrame >= 0) return false;
  const { reason, timeNs, durationNs = -1 } = details;
  const timedOut = reason === 'after-timeout' || (reason !== 'immediate' && durationNs >= SURE_TIMEOUT_NS);
  const patienceNs = WAIT_SHARE * (agreedTimeoutNs(state) ?? SHORTEST_USED_NS);
  if (timedOut) {
    // Else it may have come when the requester had asked.
    const isOverdue = timeNs - state.responses.timeOf(psn) >= patienceNs;
    return isOverdue && begins(state, entry, psn) && sentBehind(state, psn, psn) >= MOST_AHEAD;
  }
  // A requester that waits so long may have asked for something that it had got meanwhile.
  if (reason !== 'immediate' || timeNs - entry.askedNs >= patienceNs || !isFirstAsk(state, entry, psn)) return false;
  return sentBehind(state, psn, entry.end) >= Math.max(state.lateWithin, MOST_AHEAD);
}

/** A response was overtaken: by no more packets than were sent behind it. */
export function noteLateWithin(state: PsnSpaceState, psn: number): void {
  state.lateWithin = Math.min(state.lateWithin, state.responsesEnd - psn - 1);
}

/** All before it had come when it was sent: it is the first of a READ, or of what was requested again. */
function begins(state: PsnSpaceState, entry: ReadEntry, psn: number): boolean {
  if (isFirstAsk(state, entry, psn)) return true;
  return entry.askedAgainPsn === psn && state.responses.timeOf(psn) >= entry.askedAgainNs;
}

/** It begins a READ, and nothing was requested again since that was requested. */
function isFirstAsk(state: PsnSpaceState, { start, frame, askedAgainNs }: ReadEntry, psn: number): boolean {
  return start === psn && askedAgainNs < 0 && state.reads.askedAgainFrame < frame;
}

/** Responses sent behind `psn`, up to the last one; 0: that one is before `from`. */
function sentBehind({ responses, responsesEnd }: PsnSpaceState, psn: number, from: number): number {
  const sentNs = responses.timeOf(psn);
  let [count, behind] = [0, 0];
  for (let at = psn + 1; at < Math.min(responsesEnd, psn + MOST_COUNTED); at++) {
    if (!(responses.timeOf(at) >= sentNs)) continue;
    count++;
    if (at >= from) behind = count;
  }
  return behind;
}

/** A packet that waits for others to overtake it waits for fewer. */
const MOST_AHEAD = 4;
const MOST_COUNTED = 1024;
/** Of the ACK timeout. */
const WAIT_SHARE = 0.9;
