/**
 * What a verdict on a request that the receiver lacked means for the figures and the events of its space.
 *
 * Owns nothing but that.
 */
import type { MissedRequest } from './missed-request.ts';
import type { Verdict } from './missed-requests.ts';
import type { PsnSpaceState } from './psn-space-state.ts';

/** Counts the request, and reports it as an event of the NAK that asked for it. */
export function bookMissed(state: PsnSpaceState, request: MissedRequest, verdict: Verdict): void {
  const { report, requester } = state;
  const { psn, unseen, frame: refersTo } = request;
  const details = { psn, frame: request.nakFrame, timeNs: request.askedNs, refersTo };
  const reason = unseen ? 'retransmission-not-seen' : 'seen-then-nak';
  if (verdict === 'overtaken') {
    report.reorderedPackets++;
    state.emitAt('reordering', requester, { ...details, reason: unseen ? undefined : 'behind-capture' });
  } else if (verdict === 'lost') {
    report.lostPackets++;
    state.emitAt('loss', requester, { ...details, named: true, reason });
  } else {
    report.undecidedPackets++;
    state.emitAt('missing', requester, { ...details, reason });
  }
}
