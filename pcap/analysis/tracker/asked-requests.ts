/**
 * Requests that the responder asks for, by what this place saw of them.
 *
 * Owns which NAKs need a verdict: those that the order of the captured requests does not explain. What explains the
 * others is missing here, too: a hole, or the retransmission of a request that the receiver had dropped before. Of the
 * latter the verdict follows from its identification, where these count: sent before what came instead, it was
 * overtaken; sent later, it is another one, and the retransmission was lost.
 */
import { Mark } from '../facts.ts';
import { LateWaits } from './late-waits.ts';
import { bookLost, lostFlags } from './lost-packets.ts';
import { MissedRequests } from './missed-requests.ts';
import { bookMissed } from './missed-verdicts.ts';
import type { MutableFacts } from './mutable-facts.ts';
import { PacketFlag } from './packet-memory.ts';
import type { PsnSpaceState } from './psn-space-state.ts';
import { ReceiverModel, type Wait } from './receiver-model.ts';

/** A request is captured. Call it before the space is changed. Returns the wait of the receiver that it ends. */
export function receiverGets(state: PsnSpaceState, facts: MutableFacts, psn: number, count: number): Wait | undefined {
  if (state.receiver === undefined) {
    // Until something is missing, it expects what comes next.
    const expected = Math.max(state.next, state.nextLimit);
    if (!state.begun || !state.reliable || psn <= expected) return undefined;
    state.receiver = new ReceiverModel(expected, false);
  }
  const { expected } = state.receiver;
  return state.receiver.arrives(facts, psn, count, psn > expected && isSkipped(state, facts, expected));
}

/** `psn` was captured, and then the one before it once more, and what is at hand behind that, but not `psn`. */
function isSkipped(state: PsnSpaceState, { ipId }: MutableFacts, psn: number): boolean {
  const ids = idsOf(state);
  const beforeId = state.requests.idOf(psn - 1);
  return ids.compare(state.requests.idOf(psn), beforeId) < 0 && ids.compare(ipId, beforeId) > 0;
}

/** The request at hand ends this wait. Call it when the space is changed. */
export function waitEnds(state: PsnSpaceState, facts: MutableFacts, psn: number, wait: Wait): void {
  if (!wait.again || (facts.marks & (Mark.Late | Mark.Copy)) !== 0) return;
  const order = idsOf(state).compare(facts.ipId, wait.ipId);
  if (order < 0) {
    state.requests.addFlag(psn, PacketFlag.Late);
    state.report.reorderedPackets++;
    state.lateWaits ??= new LateWaits();
    state.lateWaits.add(wait.timeNs, facts.timeNs);
    // The requester has not gone back for the NAK yet.
    if (state.nak !== undefined) state.nak.answered = false;
    state.emit('reordering', facts, state.requester, { psn, refersTo: wait.frame });
  } else if (order > 0) {
    wait.lost = true;
    if (wait.nakFrame >= 0) tellLost(state, wait);
  }
}

/** How a NAK follows READ responses: it is the first answer behind some; it comes so soon that it waited for them. */
interface NakPlace {
  readonly behindRead: boolean;
  readonly heldUp: boolean;
}

/** A NAK asks for a request. Call it before the space is changed. */
export function responderAsks(state: PsnSpaceState, facts: MutableFacts, psn: number, place: NakPlace): void {
  if (psn < 0 && isOfFirstMessage(state, psn)) openBeforeFirst(state, facts, psn);
  const wait = state.receiver?.asks(facts, psn);
  state.receiver ??= new ReceiverModel(psn, true);
  if (state.requestHoles.at(psn) !== undefined) return;
  const unseen = isUnseen(state, psn);
  if (wait === undefined || (unseen && !idsOf(state).isUsable)) noteMissed(state, facts, psn, { ...place, unseen });
  else if (wait.lost) tellLost(state, wait);
}

/**
 * It was not captured, just before the first request that was, and belongs to this life: the responder has completed no
 * message, nor acknowledged anything. A capture that begins later in a life lacks what was sent before.
 */
function isOfFirstMessage({ announced, begun, msn, acked, requests }: PsnSpaceState, psn: number): boolean {
  return !announced && begun && msn === 0 && acked === -Infinity && psn >= -MOST_BEFORE && !requests.has(psn);
}

/** Nothing showed this gap: the first request came behind it. */
function openBeforeFirst(
  { requestHoles, requests }: PsnSpaceState,
  { timeNs, packet }: MutableFacts,
  psn: number,
): void {
  const isKnown = requests.has(0);
  requestHoles.open({
    from: psn,
    to: 0,
    openedNs: isKnown ? requests.timeOf(0) : timeNs,
    openedFrame: isKnown ? requests.frameOf(0) : packet.number,
    behindId: requests.idOf(0),
    requestedAgain: false,
    acknowledgedNs: -1,
  });
}

/** The requester has gone back and sent what is behind it again, but not this one. */
function isUnseen({ requests, runPsn, runNs }: PsnSpaceState, psn: number): boolean {
  return psn >= runPsn && requests.timeOf(psn) < runNs && requests.timeOf(psn + 1) >= runNs;
}

/** The responder lacks a request that was captured here. */
function noteMissed(
  state: PsnSpaceState,
  { packet, timeNs }: MutableFacts,
  psn: number,
  { behindRead, heldUp, unseen }: NakPlace & { readonly unseen: boolean },
): void {
  const { requests, rnr } = state;
  // A NAK that waited behind READ responses asks for what has come since.
  const known = behindRead ? PacketFlag.Late | PacketFlag.UnnamedLoss : PacketFlag.Late;
  if (!requests.has(psn) || (requests.flagsOf(psn) & known) !== 0) return;
  const sentNs = requests.timeOf(psn);
  if (rnr?.psn === psn && sentNs <= rnr.timeNs) return;
  if (state.missedPsn === psn && sentNs <= state.missedNs) return;
  state.missedPsn = psn;
  state.missedNs = timeNs;
  // It came damaged, or while the responder waited for one that was late already here.
  if (state.damagedRequests.take(psn) || state.lateWaits?.include(sentNs) === true) return;
  state.missed ??= new MissedRequests((...verdict) => bookMissed(state, ...verdict), state);
  const behind = state.reads.find(psn)?.end ?? psn + 1;
  const again = state.runUnsure && psn >= state.runPsn && sentNs >= state.runNs;
  state.missed.asked({
    psn,
    frame: requests.frameOf(psn),
    sentNs,
    behindNs: behindRead ? Number.NaN : requests.timeOf(psn + 1),
    behindFrame: requests.frameOf(behind),
    behindPsn: behind,
    readTimeNs: heldUp ? (state.reads.find(psn - 1)?.responseTimeNs ?? 0) : 0,
    unseen,
    asksAck: (requests.flagsOf(psn) & PacketFlag.AckReq) !== 0,
    again,
    afterTimeout: again && !state.runOutdated,
    nakFrame: packet.number,
    askedNs: timeNs,
  });
}

function tellLost(state: PsnSpaceState, { psn, frame: refersTo, nakFrame: frame, nakNs: timeNs }: Wait): void {
  if (state.damagedRequests.take(psn)) return;
  bookLost(state.report, 1, true);
  state.requests.addFlag(psn, lostFlags(true));
  const reason = 'retransmission-not-seen';
  state.emitAt('loss', state.requester, { psn, frame, timeNs, refersTo, named: true, reason });
}

/** The identifications of the requester. */
function idsOf({ conversation, requester }: PsnSpaceState) {
  return conversation.end(requester).ids;
}

/** Packets that are lost one behind the other. */
const MOST_BEFORE = 4;
