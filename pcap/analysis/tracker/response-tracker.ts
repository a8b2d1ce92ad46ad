/**
 * The responses in a PSN space: ACKs, NAKs, READ responses, atomic responses.
 *
 * Owns the order of responses, what they acknowledge, and the consequences for the requests. Rules:
 * - An ACK or a response acknowledges all requests up to its PSN; a NAK or an RNR NAK all requests before its PSN
 *   (ref:wire#8).
 * - READ responses come in order and take every PSN of the request's range. PSNs that an ACK or a later response has
 *   skipped are a gap.
 * - A sequence NAK names the first request that the responder lacks. If it was captured here, it did not arrive in
 *   order behind this capture point, unless it was damaged or late, or an RNR NAK had refused it; `missed-requests.ts`
 *   has the verdict. If it was not captured, it is a hole, and its retransmission makes it a loss.
 * - An ACK of what is acknowledged already is a ghost ACK, unless a retransmitted request explains it, its
 *   identification shows that it was overtaken, or it carries other credits.
 */
import {
  aethMsn,
  aethSyndrome,
  SYNDROME_KIND_MASK,
  SYNDROME_VALUE_MASK,
  Syndrome,
  SyndromeKind,
} from '../../../packets/aeth.ts';
import { AETH_AT, OpFlag } from '../../../packets/opcode.ts';
import { psnDiff } from '../../../packets/psn.ts';
import { nakName } from '../event-text.ts';
import { Mark } from '../facts.ts';
import { countSkipped, explainSilence, noteAnswer, noteDrawnBefore } from './ack-waits.ts';
import { responderAsks } from './asked-requests.ts';
import { followRequester } from './awaited-response.ts';
import type { DamagedPsns } from './damaged-psns.ts';
import type { Hole, Holes } from './holes.ts';
import { responseSent, settleMissedResponse } from './missed-verdicts.ts';
import type { MutableFacts } from './mutable-facts.ts';
import { PacketFlag, PacketMemory } from './packet-memory.ts';
import type { RetransmissionTrigger } from './pending-report.ts';
import type { ReadEntry } from './read-queue.ts';
import { ReadStretch } from './read-stretch.ts';
import { SequenceTracker } from './sequence-tracker.ts';

export class ResponseTracker extends SequenceTracker {
  #acks: PacketMemory | undefined;
  /** Of responses whose request was not captured: the next PSN. */
  #unrequestedNext = -1;
  /** The last progress was a response of a READ, behind which ACKs wait, so that one may stand for several. */
  #behindRead = false;
  readonly #stretch = new ReadStretch();

  get sender(): 0 | 1 {
    return this.state.requester === 0 ? 1 : 0;
  }

  get counts() {
    return this.state.report.responses;
  }

  protected get holes(): Holes {
    return this.state.responseHoles;
  }

  get memory(): PacketMemory {
    return this.state.responses;
  }

  get damaged(): DamagedPsns {
    return this.state.damagedResponses;
  }

  response(facts: MutableFacts, psn: number): void {
    const { state } = this;
    const { frame } = facts.dissection;
    const aeth = AETH_AT[frame.opcode] ?? -1;
    if (aeth >= 0) this.#noteMsn(aethMsn(frame.view, frame.bthOffset + aeth));
    state.answered = true;
    noteAnswer(state, facts.timeNs);
    responseSent(state, psn, facts.timeNs);
    if ((frame.flags & OpFlag.Ack) === 0) {
      this.#handleResponse(facts, psn);
      followRequester(state, facts, psn);
    } else this.#handleAcknowledgement(facts, psn, aethSyndrome(frame.view, frame.bthOffset + aeth));
  }

  /** A responder that has completed no more messages than were captured: the capture has the beginning. */
  #noteMsn(msn: number): void {
    const { state } = this;
    if (!state.answered && state.begun && msn <= state.report.messagesBegun) state.report.fromStart = true;
    if (state.msn < 0 || psnDiff(msn, state.msn) > 0) state.msn = msn;
  }

  #handleAcknowledgement(facts: MutableFacts, psn: number, syndrome: number): void {
    this.#acks ??= new PacketMemory({ entries: ACK_ENTRIES });
    const known = this.#acks.isSameFrame(psn, facts);
    if (known && this.#isCopiedAck(facts, psn, this.#acks)) {
      facts.marks |= Mark.Copy;
      facts.refersTo = this.#acks.frameOf(psn);
      this.state.report.copies++;
      this.state.emit('copy', facts, this.sender, { psn, refersTo: facts.refersTo });
      return;
    }
    const overtaken = this.ids.compareToLast(facts.ipId) < 0;
    this.#acks.put(psn, facts, 0, Number.POSITIVE_INFINITY);
    const kind = syndrome & SYNDROME_KIND_MASK;
    if (kind === SyndromeKind.Ack) this.#handleAck(facts, psn, syndrome & SYNDROME_VALUE_MASK, overtaken);
    else if (kind === SyndromeKind.RnrNak) this.#handleRnrNak(facts, psn, syndrome);
    else if (kind === SyndromeKind.Nak) this.#handleNak(facts, psn, syndrome);
    if (overtaken) this.#reportReordering(facts, psn);
    else this.ids.step(facts.ipId);
  }

  #isCopiedAck(facts: MutableFacts, psn: number, acks: PacketMemory): boolean {
    if (facts.ipId >= 0 && this.ids.isUsable) return true;
    // Copied requests may each have an ACK; its identification is another one where they vary.
    const once = this.state.repeats === 0 || (facts.ipId >= 0 && this.ids.varies);
    return once && facts.timeNs - acks.timeOf(psn) < COPY_NS;
  }

  #reportReordering(facts: MutableFacts, psn: number): void {
    facts.marks |= Mark.Late;
    this.counts.reorderedPackets++;
    this.state.emit('reordering', facts, this.sender, { psn });
  }

  #handleAck(facts: MutableFacts, psn: number, creditCode: number, overtaken: boolean): void {
    const { state } = this;
    const { report, requests } = state;
    const sameCredits = report.creditCode === creditCode;
    report.acks++;
    report.creditCode = creditCode;
    explainSilence(state, psn);
    const dueNs = this.#noteHeldUp(facts, psn);
    if (psn >= state.acked) {
      const asked = (requests.flagsOf(psn) & PacketFlag.AckReq) !== 0;
      if (state.missed !== undefined) noteDrawnBefore(state, psn, facts.timeNs);
      if (requests.has(psn) && !asked) this.#noteUnaskedAck(facts, psn, dueNs);
      // The ACK may be for the first sending of a retransmitted request: no latency can be derived from it.
      const sentNs = (requests.flagsOf(psn) & PacketFlag.Repeated) === 0 ? requests.timeOf(psn) : Number.NaN;
      if (sentNs <= facts.timeNs) report.addAckLatency(facts.timeNs - sentNs, facts.timeNs);
      const waited = this.#behindRead || dueNs < facts.timeNs;
      if (state.missed !== undefined && !waited) countSkipped(state, psn);
      if (asked) state.missed?.acknowledged(psn, dueNs - requests.timeOf(psn), requests.frameOf(psn));
      this.#behindRead = false;
      this.#acknowledgeUpTo(facts, psn + 1);
      this.#skipReads(facts, psn + 1);
    } else if (!overtaken) {
      const explained = sameCredits && state.missed?.duplicateAck(psn, facts.timeNs, dueNs) === true;
      this.#handleDuplicateAck(facts, psn, sameCredits && !explained);
    }
  }

  /** Right behind READ responses it waited, and stands for what did. Returns when it was due at the earliest. */
  #noteHeldUp({ timeNs }: MutableFacts, psn: number): number {
    const dueNs = this.#stretch.dueNs(timeNs);
    const { missed, requests } = this.state;
    if (missed === undefined || dueNs >= timeNs) return dueNs;
    const asked = (requests.flagsOf(psn) & PacketFlag.AckReq) !== 0;
    missed.hiddenAck(psn, timeNs, dueNs, asked ? timeNs - requests.timeOf(psn) : Number.POSITIVE_INFINITY);
    return dueNs;
  }

  /** An ACK up to a request that did not ask for one: it answers a duplicate, unless this responder does so anyway. */
  #noteUnaskedAck({ timeNs }: MutableFacts, psn: number, dueNs: number): void {
    const { state } = this;
    const usual = state.unaskedAcks > state.report.acks * UNUSUAL_SHARE;
    if (usual) state.missed?.unaskedAck(psn, timeNs);
    const explained = !usual && state.missed?.duplicateAck(psn, timeNs, dueNs) === true;
    if (!explained && state.repeats === 0) state.unaskedAcks++;
  }

  /** An ACK of what is acknowledged already. */
  #handleDuplicateAck(facts: MutableFacts, psn: number, sameCredits: boolean): void {
    const { state } = this;
    if (state.repeats > 0) {
      state.repeats--;
      return;
    }
    // Without requests in the capture it is unknown what was retransmitted; and a change of credits is a reason for an
    // ACK.
    if (!state.begun || !sameCredits) return;
    const soon = psn + 1 < state.acked && facts.timeNs - state.lastProgressNs < COPY_NS;
    if (soon && !this.ids.isUsable) {
      this.#reportReordering(facts, psn);
      return;
    }
    facts.marks |= Mark.GhostAck;
    state.report.ghostAcks++;
    state.emit('ghost-ack', facts, this.sender, { psn });
  }

  #handleRnrNak(facts: MutableFacts, psn: number, syndrome: number): void {
    const { state } = this;
    facts.marks |= Mark.RnrNak;
    facts.refersTo = state.requests.frameOf(psn);
    state.report.rnrNaks++;
    state.emit('rnr-nak', facts, this.sender, { psn, refersTo: facts.refersTo, syndrome });
    if (psn < state.acked) return;
    state.receiver?.refuses(psn);
    this.#acknowledgeUpTo(facts, psn);
    this.#skipReads(facts, psn);
    state.rnr = { psn, timeNs: facts.timeNs, frame: facts.packet.number, answered: false };
  }

  #handleNak(facts: MutableFacts, psn: number, syndrome: number): void {
    const { state } = this;
    facts.marks |= Mark.Nak;
    state.report.countNak(nakName(syndrome));
    const isSequenceNak = syndrome === Syndrome.NakSequence;
    if (isSequenceNak) this.#noteHeldUp(facts, psn - 1);
    if (psn >= state.acked) {
      const heldUp = this.#stretch.dueNs(facts.timeNs) < facts.timeNs;
      if (isSequenceNak) responderAsks(state, facts, psn, { behindRead: this.#behindRead || heldUp, heldUp });
      this.#behindRead = false;
      this.#acknowledgeUpTo(facts, psn);
      this.#skipReads(facts, psn);
    }
    const hole = state.requestHoles.at(psn);
    const durationNs = hole?.from === psn ? facts.timeNs - hole.openedNs : -1;
    facts.refersTo = hole?.openedFrame ?? state.requests.frameOf(psn);
    state.emit('nak', facts, this.sender, { psn, refersTo: facts.refersTo, durationNs, syndrome });
    state.refused ||= !isSequenceNak;
    if (!isSequenceNak) return;
    state.askedPsn = psn;
    if (hole !== undefined) hole.requestedAgain = true;
    if (durationNs >= 0 && state.nak?.psn !== psn) state.report.addNakGeneration(durationNs);
    // A repeated NAK belongs to the same loss.
    if (state.nak?.psn === psn && !state.nak.answered) return;
    state.nak = { psn, timeNs: facts.timeNs, frame: facts.packet.number, answered: false };
  }

  override finish(facts: MutableFacts): void {
    super.finish(facts);
    settleMissedResponse(this.state);
    const { missed, conversation, lastAnswerNs } = this.state;
    // Behind a DREQ there is nobody who answers.
    missed?.finish(conversation.ended ? lastAnswerNs : facts.timeNs);
  }

  /** Everything before `to` has arrived. */
  #acknowledgeUpTo(facts: MutableFacts, to: number): void {
    const { state } = this;
    if (to > state.next) this.#skipRequests(facts, to);
    state.receiver?.has(to);
    state.missed?.arrived(to, facts.timeNs);
    if (to > state.acked) {
      state.acked = to;
      state.lastProgressNs = facts.timeNs;
    }
    if (state.requestHoles.list.length > 0) this.#acknowledgeHoles(facts, to);
    if (state.nak !== undefined && state.nak.psn < to) {
      if (!state.nak.answered) state.noteOutdated(state.nak);
      state.nak = undefined;
    }
    if (state.rnr !== undefined && state.rnr.psn < to) state.rnr = undefined;
  }

  /** The responder has answered `to` or later: READs before it get no more responses. */
  #skipReads(facts: MutableFacts, to: number): void {
    const { reads } = this.state;
    let entry = reads.incompleteBefore(to);
    while (entry !== undefined && entry.end <= to) {
      if (!entry.openEnded && entry.next < entry.end) {
        this.openHole(facts, entry.next, entry.end);
        this.state.lastResponseFrame = facts.packet.number;
      }
      entry.openEnded = false;
      entry.next = entry.end;
      entry = reads.incompleteBefore(to);
    }
  }

  /** The responder received requests that were not captured here. */
  #skipRequests(facts: MutableFacts, to: number): void {
    const { state } = this;
    const from = Math.min(to, Math.max(state.next, state.nextLimit));
    if (state.begun && to > from) {
      const { timeNs, packet } = facts;
      state.requestHoles.open({
        from,
        to,
        openedNs: timeNs,
        openedFrame: packet.number,
        behindId: -1,
        requestedAgain: false,
        acknowledgedNs: timeNs,
      });
    }
    state.next = to;
    state.nextLimit = Math.max(to, state.nextLimit);
    state.report.nextPsn = state.absolute(to);
  }

  #acknowledgeHoles(facts: MutableFacts, to: number): void {
    const { requestHoles } = this.state;
    for (const hole of [...requestHoles.list]) {
      if (hole.from >= to) return;
      if (hole.to > to) requestHoles.split(hole, to);
      if (hole.acknowledgedNs < 0) hole.acknowledgedNs = facts.timeNs;
    }
  }

  #handleResponse(facts: MutableFacts, psn: number): void {
    const { state } = this;
    this.counts.packets++;
    state.lastResponseFrame = facts.packet.number;
    const entry = state.reads.find(psn);
    if (entry === undefined) this.#handleUnrequested(facts, psn);
    else if (psn >= entry.next) this.#handleInOrder(facts, psn, entry);
    else this.#handleOld(facts, psn);
  }

  #handleInOrder(facts: MutableFacts, psn: number, entry: ReadEntry): void {
    const { state } = this;
    this.reportPending(facts);
    this.#skipReads(facts, entry.start);
    if (psn > entry.next) this.openHole(facts, entry.next, psn);
    else if (psn === entry.start && entry.askedAgainNs < 0) {
      entry.responseTimeNs = facts.timeNs - entry.askedNs;
      state.report.addReadLatency(entry.responseTimeNs);
    }
    entry.next = psn + 1;
    this.#behindRead = true;
    this.#stretch.add(facts.timeNs);
    this.#learnEnd(facts, psn, entry);
    this.#acknowledgeUpTo(facts, psn + 1);
    this.#accept(facts, psn);
  }

  #accept(facts: MutableFacts, psn: number): void {
    this.ids.step(facts.ipId);
    this.memory.put(psn, facts, 0, this.state.acked);
    this.state.report.goodputBytes += facts.dissection.frame.payloadLength;
  }

  #learnEnd(facts: MutableFacts, psn: number, entry: ReadEntry): void {
    if (!entry.openEnded || (facts.dissection.frame.flags & (OpFlag.Last | OpFlag.Only)) === 0) return;
    const { state } = this;
    entry.end = psn + 1;
    entry.openEnded = false;
    if (entry === state.reads.newest) state.nextLimit = Math.max(state.next, entry.end);
  }

  #handleOld(facts: MutableFacts, psn: number): void {
    const hole = this.holes.at(psn);
    if (hole !== undefined) {
      this.fillHole(facts, psn, 1, hole);
      this.state.report.goodputBytes += facts.dissection.frame.payloadLength;
    } else {
      if (this.state.reads.find(psn)?.start === psn) this.state.missed?.answeredAgain(psn, facts.timeNs);
      if (this.isCopy(facts, psn)) this.reportCopy(facts, psn);
      else this.handleRepeated(facts, psn, 1);
    }
  }

  /** Its request was not captured: only its order among such responses can be checked. */
  #handleUnrequested(facts: MutableFacts, psn: number): void {
    const { flags } = facts.dissection.frame;
    const expected = this.#unrequestedNext;
    if (expected >= 0 && psn < expected) {
      if (this.memory.has(psn) || this.holes.at(psn) !== undefined) this.#handleOld(facts, psn);
      return;
    }
    this.reportPending(facts);
    const follows =
      expected >= 0 && psn > expected && psn - expected < FARTHEST && (flags & (OpFlag.First | OpFlag.Only)) === 0;
    if (follows) this.openHole(facts, expected, psn);
    this.#unrequestedNext = (flags & (OpFlag.Last | OpFlag.Only)) === 0 ? psn + 1 : -1;
    this.#skipReads(facts, psn);
    this.#acknowledgeUpTo(facts, psn + 1);
    this.#accept(facts, psn);
  }

  protected triggerOf(_facts: MutableFacts, psn: number): RetransmissionTrigger | undefined {
    const entry = this.state.reads.find(psn);
    if (entry === undefined || entry.askedAgainNs < 0 || entry.askedAgainNs < this.memory.timeOf(psn)) return undefined;
    return { cause: 'duplicate-request', refersTo: entry.askedAgainFrame, durationNs: -1, reason: undefined };
  }

  protected override fallbackTrigger(facts: MutableFacts, psn: number): RetransmissionTrigger {
    const entry = this.state.reads.find(psn);
    if (entry === undefined || entry.copiedFrame < 0) return super.fallbackTrigger(facts, psn);
    return { cause: 'duplicate-request', refersTo: entry.copiedFrame, durationNs: -1, reason: undefined };
  }

  protected onRunStart(facts: MutableFacts, _psn: number, trigger: RetransmissionTrigger): void {
    if (trigger.refersTo >= 0) facts.refersTo = trigger.refersTo;
  }

  /** Whether the missing packets were requested again. */
  protected override isRequestedAgain(hole: Hole): boolean {
    const entry = this.state.reads.find(hole.from);
    return hole.requestedAgain || (entry !== undefined && entry.askedAgainNs >= hole.openedNs);
  }
}

/** ACKs are frequent, and few of them need to be remembered. */
const ACK_ENTRIES = 12;
/** Of the ACKs, those up to a request that asked for none, where only duplicates cause them. */
const UNUSUAL_SHARE = 0.05;
const COPY_NS = 500_000;
/** 2^31 bytes in packets of 256. */
const FARTHEST = 0x80_00_00;
