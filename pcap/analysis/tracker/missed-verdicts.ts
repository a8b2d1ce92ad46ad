/**
 * What a verdict on a request that the receiver lacked means for the figures and the events of its space; and the
 * verdict on a READ response that was captured and is requested again.
 *
 * Such a response did not arrive in order behind this capture point. No answer tells more: it was lost, or the one
 * before it was overtaken, so that the requester had to drop it. Where packets are overtaken it cannot be told. But one
 * that the requester has before it is sent again was overtaken: the requester asks for what is behind it, and had to
 * drop that meanwhile. So was one that was sent again, when nothing sent since can be the reason to ask for what is
 * behind it once more. Whether anything was overtaken is known at the end only: `limits/doubtful-losses.ts`.
 */
import type { Among, MissedRequest } from './missed-request.ts';
import { PacketFlag } from './packet-memory.ts';
import type { MissedResponse, PlacedDetails, PsnSpaceOwner, PsnSpaceState } from './psn-space-state.ts';
import { isSurelyLost, noteLateWithin } from './sure-response-loss.ts';
import type { Verdict } from './verdict-rules.ts';

/**
 * Counts the request, and reports it as an event of the NAK that asked for it. @param among requests that it cannot be
 * told apart from, and of how many of them this is true
 */
export function bookMissed(state: PsnSpaceState, request: MissedRequest, verdict: Verdict, among?: Among): void {
  const { report, requester } = state;
  const { psn, unseen, frame: refersTo } = request;
  const psns = among?.requests.map((each) => state.absolute(each.psn));
  const placed = { psn, frame: request.nakFrame, timeNs: request.askedNs, refersTo };
  const details = { ...placed, among: psns, amongCount: among?.count };
  const reason = unseen ? 'retransmission-not-seen' : 'seen-then-nak';
  if (verdict === 'overtaken') {
    report.reorderedPackets++;
    state.emitAt('reordering', requester, { ...details, reason: unseen ? undefined : 'behind-capture' });
  } else if (verdict === 'lost') {
    report.lostPackets++;
    state.emitAt('loss', requester, { ...details, named: true, reason });
  } else {
    report.undecidedPackets++;
    report.seemsOvertaken ||= request.group !== undefined;
    state.emitAt('missing', requester, { ...details, reason });
  }
}

/** A READ response that was captured is requested again, by the packet of `details`. */
export function bookMissedResponse(state: PsnSpaceState, psn: number, asked: PlacedDetails): void {
  const { frame, timeNs } = asked;
  const { missedResponse, responses } = state;
  if (missedResponse !== undefined && cameLate(state, missedResponse, psn, asked)) {
    tellLate(state, missedResponse);
    // It came here already, while the requester waited for that.
    if (missedResponse.psn + 1 === psn) return;
  }
  // It came, here already, while the requester waited for one before it.
  if (state.awaitedResponse === psn) return;
  noteAsk(state, psn, asked);
  if (state.lastMissedPsn + 1 === psn && asked.reason === 'immediate') state.report.nextAsked++;
  state.lastMissedPsn = psn;
  const known = PacketFlag.BookedLost | PacketFlag.Late;
  if ((responses.flagsOf(psn) & known) !== 0 || state.damagedResponses.take(psn)) return;
  const surely = isSurelyLost(state, psn, asked);
  if (state.missedResponse?.psn === psn && !surely) return;
  settleMissedResponse(state);
  const details = { psn, frame, timeNs, refersTo: responses.frameOf(psn), reason: 'seen-then-implied-nak' } as const;
  state.missedResponse = { psn, details, surely, askedTo: psn, sentTo: -1, shownNs: Infinity, sentAllNs: Infinity };
}

/**
 * A READ is requested again from its beginning, by the packet of `details`, after a timeout: nothing of it came, though
 * its first response was captured.
 */
export function bookSilentResponse(state: PsnSpaceState, psn: number, details: PlacedDetails): void {
  const { responses, responseHoles } = state;
  if (!responses.has(psn) || responseHoles.at(psn) !== undefined) return;
  if (isSurelyLost(state, psn, details)) bookMissedResponse(state, psn, details);
}

/** PSNs up to `to` are requested again. */
export function askedAgainTo({ missedResponse }: PsnSpaceState, to: number): void {
  if (missedResponse !== undefined) missedResponse.askedTo = to;
}

/** A response is sent. */
export function responseSent(state: PsnSpaceState, psn: number, timeNs: number): void {
  const { missedResponse: missed } = state;
  if (missed === undefined || (missed.psn !== psn && missed.sentTo < 0)) return;
  missed.sentTo = Math.max(missed.sentTo, psn + 1);
  if (psn > missed.psn + 1) missed.shownNs = Math.min(missed.shownNs, timeNs);
  if (missed.sentTo <= missed.askedTo) return;
  missed.sentAllNs = Math.min(missed.sentAllNs, timeNs);
  // Until then the requester may ask for the next one, as it has got this one late.
  if (timeNs - missed.sentAllNs >= state.reactions.boundNs) settleMissedResponse(state);
}

/**
 * The requester has it when it asks for `psn` behind it, though it was not sent again. It is the first sending, too,
 * when it asks for that a second time, and nothing was sent behind it, so long ago that the requester can react, that
 * would show that the second sending is missing.
 */
function cameLate(state: PsnSpaceState, missed: MissedResponse, psn: number, asked: PlacedDetails): boolean {
  if (psn <= missed.psn) return false;
  if (missed.sentTo < 0) return true;
  if (asked.reason !== 'immediate' || psn >= missed.askedTo) return false;
  const unshown = psn === missed.psn + 1 && asked.timeNs - missed.shownNs < state.reactions.boundNs;
  return missed.sentTo <= psn + 1 || unshown;
}

/** How long after a response the requester asked for the one before it, which it lacked: at most as long as it took. */
function noteAsk(state: PsnSpaceState, psn: number, { timeNs, reason }: PlacedDetails): void {
  const isFirst = (state.reads.find(psn)?.askedAgainNs ?? 0) < 0;
  const sinceNs = timeNs - state.responses.timeOf(psn + 1);
  if (isFirst && reason === 'immediate' && sinceNs > 0) state.reactions.add(sinceNs, timeNs);
}

/** All of it is sent again, or the capture ends: nothing tells that it was overtaken. */
export function settleMissedResponse(state: PsnSpaceState): void {
  const { missedResponse, responses, report, conversation, requester } = state;
  if (missedResponse === undefined) return;
  state.missedResponse = undefined;
  const { psn, details, surely } = missedResponse;
  const sender = requester === 0 ? 1 : 0;
  if (surely) {
    report.responses.lostPackets++;
    responses.addFlag(psn, PacketFlag.BookedLost);
    state.emitAt('loss', sender, { ...details, reason: 'first-then-implied-nak', named: true });
  } else if (overtakes(conversation)) {
    report.responses.undecidedPackets++;
    responses.addFlag(psn, PacketFlag.Late);
    state.emitAt('missing', sender, details);
  } else {
    report.responses.lostPackets++;
    report.missedResponses++;
    responses.addFlag(psn, PacketFlag.BookedLost);
    state.emitAt('loss', sender, { ...details, named: true });
  }
}

/** The requester has it, as it asks for what is behind it, though it was not sent again. */
function tellLate(state: PsnSpaceState, { psn, details }: MissedResponse): void {
  const { responses, report, requester } = state;
  state.missedResponse = undefined;
  noteLateWithin(state, psn);
  report.responses.reorderedPackets++;
  responses.addFlag(psn, PacketFlag.Late);
  state.emitAt('reordering', requester === 0 ? 1 : 0, { ...details, reason: 'behind-capture' });
}

/** Packets of this conversation have been overtaken, in either direction. */
function overtakes(conversation: PsnSpaceOwner): boolean {
  return ENDS.some((end) => {
    const { reorderedPackets, responses } = conversation.end(end).requester;
    return reorderedPackets + responses.reorderedPackets > 0;
  });
}

const ENDS = [0, 1] as const;
