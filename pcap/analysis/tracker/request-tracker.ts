/**
 * The requests of a PSN space: how each of them relates to those before.
 *
 * Owns the classification of requests: new, after a gap, late, copied, retransmitted. Why they are retransmitted
 * `retransmission-cause.ts` decides. Rules:
 * - UC has no retransmission: a missing packet is lost, by the network or by the capture (see the reason of the event).
 */
import { OpFlag } from '../../../packets/opcode.ts';
import { Mark } from '../facts.ts';
import { noteGoingBack, noteSilence, unansweredNs } from './ack-waits.ts';
import { receiverGets, waitEnds } from './asked-requests.ts';
import type { DamagedPsns } from './damaged-psns.ts';
import type { Holes } from './holes.ts';
import { LateWaits } from './late-waits.ts';
import { askedAgainTo, bookMissedResponse, bookSilentResponse } from './missed-verdicts.ts';
import type { MutableFacts } from './mutable-facts.ts';
import { askedAck, PacketFlag, type PacketMemory } from './packet-memory.ts';
import { isTimeout, type RetransmissionRun, type RetransmissionTrigger, runDetails } from './pending-report.ts';
import type { PlacedDetails } from './psn-space-state.ts';
import { readLength } from './read-length.ts';
import { HAS_RESPONSE } from './read-queue.ts';
import { shapeOf } from './request-shapes.ts';
import { longestReactionNs, triggerOfRequest } from './retransmission-cause.ts';
import { SequenceTracker } from './sequence-tracker.ts';

export class RequestTracker extends SequenceTracker {
  /** By what was captured, the receiver has the request at hand. */
  #isHad = false;

  get sender(): 0 | 1 {
    return this.state.requester;
  }

  get counts() {
    return this.state.report;
  }

  protected get holes(): Holes {
    return this.state.requestHoles;
  }

  get memory(): PacketMemory {
    return this.state.requests;
  }

  get damaged(): DamagedPsns {
    return this.state.damagedRequests;
  }

  /**
   * Places a request.
   *
   * @param count PSNs that it takes
   * @param limit PSNs that it takes at most: more than `count` when the path MTU is not known
   */
  request(facts: MutableFacts, psn: number, count: number, limit: number): void {
    const { state } = this;
    state.report.packets++;
    facts.psnCount = count;
    this.#isHad = state.receiver !== undefined && psn + count <= state.receiver.expected;
    const wait = receiverGets(state, facts, psn, count);
    if (psn >= state.next || !state.begun) this.#handleNew(facts, psn, count, limit);
    else this.#handleOld(facts, psn, count, limit);
    if (wait !== undefined) waitEnds(state, facts, psn, wait);
    state.lastRequestNs = facts.timeNs;
    if (this.holes.list.length > 0) {
      if (!state.reliable) this.#ageHoles(facts);
      this.closeOldHoles(facts);
    }
  }

  #handleNew(facts: MutableFacts, psn: number, count: number, limit: number): void {
    const { state } = this;
    this.reportPending(facts);
    if (state.next < state.nextLimit) this.#closeOpenRead(psn);
    if (psn > state.next) this.#openGap(facts, psn);
    state.begun = true;
    state.lastNewPsn = psn;
    this.ids.step(facts.ipId);
    this.#noteNakReaction(facts, psn);
    if (state.answered && psn === state.acked && state.lastProgressNs >= Math.max(state.lastRequestNs, 0))
      state.report.addTurnaround(facts.timeNs - state.lastProgressNs);
    state.requests.put(psn, facts, askedAck(facts), state.acked);
    state.shapes.remember(psn, shapeOf(facts));
    this.#advance(facts, psn, count, limit);
    this.#countGoodput(facts);
  }

  /** A READ of unknown path MTU ends at the next request or before it: several requests may be missing in between. */
  #closeOpenRead(psn: number): void {
    const { reads, nextLimit } = this.state;
    const read = reads.newest;
    if (read?.openEnded === true) read.end = Math.max(read.end, Math.min(psn, nextLimit));
  }

  /** The PSN is beyond the one expected. */
  #openGap(facts: MutableFacts, psn: number): void {
    const { state } = this;
    const expected = Math.min(Math.max(state.next, state.nextLimit), psn);
    // Without an announced PSN the position of the first request is unknown.
    if (psn > expected && (state.begun || state.announced)) this.openHole(facts, expected, psn);
  }

  #advance(facts: MutableFacts, psn: number, count: number, limit: number): void {
    const { state } = this;
    const { flags, opcode } = facts.dissection.frame;
    state.next = Math.max(state.next, psn + count);
    state.nextLimit = Math.max(state.next, psn + limit);
    state.report.nextPsn = state.absolute(state.next);
    if ((flags & (OpFlag.First | OpFlag.Only)) !== 0) state.report.countMessage(flags, opcode);
    if ((flags & (OpFlag.Last | OpFlag.Only)) !== 0) state.messages?.end(psn);
    if ((flags & HAS_RESPONSE) !== 0 && state.reliable) this.#expectResponses(facts, psn, count, limit);
    if (state.acked === -Infinity || !state.reliable) return;
    const { report, reads } = state;
    const unacked = state.next - state.acked;
    if (unacked <= report.mostUnackedPackets) return;
    report.mostUnackedPackets = Math.max(report.mostUnackedPackets, unacked - reads.extraPsns);
  }

  /** The request has responses of its own: remembers that they are expected. */
  #expectResponses(facts: MutableFacts, psn: number, count: number, limit: number): void {
    const { reads, report } = this.state;
    const entry = reads.push();
    entry.start = psn;
    entry.end = psn + count;
    entry.isRead = (facts.dissection.frame.flags & OpFlag.Atomic) === 0;
    entry.openEnded = limit > count;
    entry.length = readLength(facts);
    entry.next = psn;
    entry.askedNs = facts.timeNs;
    entry.frame = facts.packet.number;
    if (reads.outstanding > report.mostOutstandingReads) report.mostOutstandingReads = reads.outstanding;
  }

  #handleOld(facts: MutableFacts, psn: number, count: number, limit: number): void {
    const { state } = this;
    facts.earlierShape = state.shapes.otherThan(shapeOf(facts), psn);
    const hole = this.holes.at(psn);
    if (hole !== undefined) {
      const acknowledged = hole.acknowledgedNs >= 0 && !hole.requestedAgain;
      if (acknowledged) this.holes.fill(hole, psn, psn + count);
      else if (!this.fillHole(facts, psn, count, hole)) state.repeats++;
      // Captured after its ACK: the capture has two queues, and the network did nothing wrong.
      if (acknowledged) state.requests.put(psn, facts, askedAck(facts), state.acked);
      this.#countLateRequest(facts, psn, count, limit);
      if (psn + count > state.next) this.#extend(psn, count);
      return;
    }
    if (psn < 0 && !state.announced) {
      this.#handleBeforeFirst(facts, psn, count, limit);
      return;
    }
    if (this.isLateOriginal(facts, psn, count)) this.handleLateOriginal(facts, psn);
    else if (this.isCopy(facts, psn)) {
      this.reportCopy(facts, psn);
      this.#checkLoss(facts, psn);
      // Whichever of the two is the copy, the receiver gets it twice, and answers the second.
      const drawsAck = (facts.dissection.frame.flags & HAS_RESPONSE) === 0;
      if (this.#isHad && drawsAck) this.state.missed?.resentInVain(-1, facts.timeNs);
      state.reads.copied(psn, psn + count, facts.packet.number);
    } else if (state.reliable) {
      this.handleRepeated(facts, psn, count);
      if (state.missed !== undefined && (facts.marks & Mark.Retransmission) !== 0) this.#noteResent(facts, psn);
      if ((facts.dissection.frame.flags & HAS_RESPONSE) !== 0) this.#markRequestedAgain(facts, psn, count);
    }
    if (state.repeats < MOST_REPEATS) state.repeats++;
    // A READ whose length in packets was not known the first time.
    if (psn + count > state.next) this.#extend(psn, count);
  }

  /** Without identifications a late original right behind its retransmission looks like a copy of that. */
  #checkLoss(facts: MutableFacts, psn: number): void {
    if (this.ids.varies) return;
    this.state.missed?.cameAgain(psn);
    if (this.losses.isCounted(psn)) this.losses.doubt(facts, psn, { refersTo: facts.refersTo, reason: 'came-twice' });
  }

  #noteResent({ timeNs, ipId, packet, dissection }: MutableFacts, psn: number): void {
    const { missed, acked } = this.state;
    const cause = this.run?.trigger.cause;
    if (cause === 'unknown' && !this.ids.isUsable) missed?.cameAgain(psn);
    if (cause === 'nak') missed?.resentForNak(psn, timeNs);
    // What came late here has arrived, too, or is about to.
    const vain = psn < acked || (this.memory.flagsOf(psn) & PacketFlag.Late) !== 0;
    if (vain) missed?.resentInVain(psn, timeNs);
    else {
      const drawsAck = (dissection.frame.flags & HAS_RESPONSE) === 0;
      const [frame, backNs] = [packet.number, this.run?.timeNs ?? timeNs];
      const beforeNs = this.state.lastRequestNs;
      missed?.resent(psn, { timeNs, frame, backNs, beforeNs, unsure: this.#isUnsure, had: this.#isHad, drawsAck });
    }
    // The retransmission itself was overtaken.
    if (this.ids.compareToLast(ipId) < 0) missed?.cameAgain(psn);
  }

  /**
   * The requester does not know what the responder has; neither after a NAK that was outdated, or so long ago that a
   * timeout may be the cause. Where round trips vary, an answer to that is not known by its time.
   */
  get #isUnsure(): boolean {
    const { runOutdated, roundTrips } = this.state;
    const { cause, durationNs } = this.run?.trigger ?? UNKNOWN_TRIGGER;
    if (cause !== 'nak' && cause !== 'rnr') return true;
    return (runOutdated && roundTrips.boundNs > 0) || (cause === 'nak' && durationNs >= longestReactionNs(this.state));
  }

  #extend(psn: number, count: number): void {
    const { state } = this;
    const entry = state.reads.find(psn);
    if (entry !== undefined) entry.end = Math.max(entry.end, psn + count);
    state.next = psn + count;
    state.nextLimit = Math.max(state.nextLimit, state.next);
    state.report.nextPsn = state.absolute(state.next);
  }

  /** A missing request was captured late or as a retransmission: counts it. */
  #countLateRequest(facts: MutableFacts, psn: number, count: number, limit: number): void {
    const { flags, opcode } = facts.dissection.frame;
    if ((flags & (OpFlag.First | OpFlag.Only)) !== 0) this.state.report.countMessage(flags, opcode);
    if ((flags & HAS_RESPONSE) !== 0 && this.state.reliable) this.#expectLateResponses(facts, psn, count, limit);
    this.#countGoodput(facts);
  }

  /** Like `#expectResponses`, when later requests may have been seen. */
  #expectLateResponses(facts: MutableFacts, psn: number, count: number, limit: number): void {
    const { reads, responses } = this.state;
    const later = (reads.newest?.start ?? -Infinity) > psn;
    this.#expectResponses(facts, psn, count, limit);
    const entry = reads.newest;
    if (later) reads.sort();
    // Its responses may have been captured already.
    while (entry !== undefined && entry.next < entry.end && responses.has(entry.next)) entry.next++;
  }

  #markRequestedAgain(facts: MutableFacts, psn: number, count: number): void {
    const { state } = this;
    state.askedResponse = psn;
    askedAgainTo(state, psn + count);
    state.reads.askAgain(psn, psn + count, facts.timeNs, facts.packet.number);
    for (const hole of state.responseHoles.list)
      if (hole.from < psn + count && hole.to > psn) hole.requestedAgain = true;
  }

  /** From before the capture began: a retransmission when there is a cause for one, otherwise unknown. */
  #handleBeforeFirst(facts: MutableFacts, psn: number, count: number, limit: number): void {
    const { reads, acked } = this.state;
    if (this.memory.has(psn) && this.isCopy(facts, psn)) {
      this.reportCopy(facts, psn);
      return;
    }
    const isKnown = reads.find(psn) !== undefined;
    if (this.memory.has(psn)) this.handleRepeated(facts, psn, count);
    else if (this.continuesRun(facts, psn) || this.triggerOf(facts, psn) !== undefined)
      this.countRetransmission(facts, psn, count);
    else this.memory.put(psn, facts, 0, acked);
    if ((facts.dissection.frame.flags & HAS_RESPONSE) === 0 || !this.state.reliable) return;
    if (isKnown) this.#markRequestedAgain(facts, psn, count);
    else this.#expectLateResponses(facts, psn, count, limit);
  }

  #countGoodput(facts: MutableFacts): void {
    const { flags, payloadLength } = facts.dissection.frame;
    if ((flags & OpFlag.Payload) !== 0) this.state.report.goodputBytes += payloadLength;
  }

  /** A request that a NAK asks for may be new here, when it was lost before this capture point. */
  #noteNakReaction(facts: MutableFacts, psn: number): void {
    const { nak } = this.state;
    if (nak === undefined || nak.answered || nak.psn !== psn) return;
    nak.answered = true;
    facts.refersTo = nak.frame;
    this.state.report.addNakReaction(facts.timeNs - nak.timeNs);
  }

  /** The service has no ACKs: a hole that is old enough counts as lost. */
  #ageHoles(facts: MutableFacts): void {
    const [hole] = this.holes.list;
    if (hole === undefined) return;
    const old = facts.timeNs - hole.openedNs > UNRELIABLE_NS || this.state.next - hole.to > UNRELIABLE_PSNS;
    if (old) hole.acknowledgedNs = hole.openedNs;
  }

  protected triggerOf(facts: MutableFacts, psn: number): RetransmissionTrigger | undefined {
    return triggerOfRequest(this.state, facts, psn);
  }

  /** No cause is known; the wait may be that of an adapter which chooses shorter ones than were agreed. */
  protected override fallbackTrigger(facts: MutableFacts, psn: number): RetransmissionTrigger {
    return { ...super.fallbackTrigger(facts, psn), durationNs: unansweredNs(this.state, facts.timeNs, psn) };
  }

  protected onRunStart(facts: MutableFacts, psn: number, trigger: RetransmissionTrigger): void {
    const { state } = this;
    const { report } = state;
    noteGoingBack(state, facts.timeNs, isTimeout(trigger) ? trigger.durationNs : 0);
    state.runNs = facts.timeNs;
    state.runPsn = psn;
    state.runCause = trigger.cause;
    state.runOutdated = state.outdatedNaks?.take(trigger.refersTo) === true;
    state.runUnsure = state.runOutdated || (trigger.cause !== 'nak' && trigger.cause !== 'rnr');
    if (trigger.refersTo >= 0) facts.refersTo = trigger.refersTo;
    if (trigger.cause === 'nak' || trigger.cause === 'rnr') {
      const pendingNak = trigger.cause === 'nak' ? state.nak : state.rnr;
      if (pendingNak !== undefined) {
        // What it asks for is sent again for an earlier one.
        if (state.runOutdated && !pendingNak.answered) state.noteOutdated(pendingNak);
        pendingNak.answered = true;
      }
      if (trigger.cause === 'nak') report.addNakReaction(trigger.durationNs);
    }
    if (trigger.cause === 'implied-nak') facts.marks |= Mark.ImpliedNak;
    if (isTimeout(trigger)) {
      facts.marks |= Mark.AfterTimeout;
      noteSilence(state, psn);
    }
    const { run } = this;
    if (run === undefined) return;
    if (this.aside !== undefined || this.isLateAlone(run)) run.causeIsOpen = true;
    else this.#reportCause(run);
  }

  protected override onRunEnd(run: RetransmissionRun): void {
    const { state } = this;
    // A single packet may have been on its way already.
    if (run.trigger.cause === 'nak' && run.count > 1)
      state.shortestReactionNs = Math.min(state.shortestReactionNs, run.trigger.durationNs);
    if (run.causeIsOpen) this.#reportCause(run);
  }

  protected override onRunResumed(run: RetransmissionRun, instead: RetransmissionRun): void {
    const { state } = this;
    state.runNs = run.timeNs;
    state.runPsn = run.psn;
    if (instead.trigger.cause === 'nak' && state.nak !== undefined) state.nak.answered = false;
  }

  #reportCause(run: RetransmissionRun): void {
    const { trigger, psn } = run;
    const details = runDetails(run, 1);
    if (trigger.cause === 'implied-nak') this.#reportImpliedNak(psn, details);
    if (!isTimeout(trigger)) return;
    if (trigger.cause === 'timeout') bookSilentResponse(this.state, psn, details);
    this.state.report.timeouts++;
    this.state.emitAt('timeout', this.sender, { ...details, cause: undefined });
  }

  /**
   * Without identifications: a requester that goes back sends everything from there on again. One packet alone, which
   * had been acknowledged and is not the last, is its original; and so is one whose retransmission is missing here.
   */
  protected override isLateAlone({ psn, count, cursor, acknowledged, trigger: { cause } }: RetransmissionRun): boolean {
    if (count !== 1 || cursor >= this.state.next || this.ids.isUsable) return false;
    const { losses, state } = this;
    const before = losses.isCounted(psn) && losses.pending?.psn !== psn;
    if (cause === 'nak' && (before || state.missed?.hasUnseen(psn) === true)) return true;
    if (!acknowledged) return false;
    return cause === 'timeout' || cause === 'unknown' || (cause === 'implied-nak' && this.losses.isCounted(psn));
  }

  protected override isLost(psn: number): boolean {
    return super.isLost(psn) || this.state.missed?.hasUnseen(psn) === true;
  }

  protected override isTooSoon({ timeNs }: MutableFacts, psn: number): boolean {
    const { nak, soonestReactionNs } = this.state;
    return nak?.psn === psn && timeNs - nak.timeNs < soonestReactionNs;
  }

  /** The responder waited for it, and a retransmission may still answer its NAK. */
  protected override onLate(openedNs: number, timeNs: number): void {
    const { state } = this;
    state.lateWaits ??= new LateWaits();
    state.lateWaits.add(openedNs, timeNs);
    if (state.nak !== undefined) state.nak.answered = false;
  }

  protected override onLateOriginal(psn: number, timeNs: number): void {
    this.state.missed?.cameLate(psn);
    this.state.missed?.resentInVain(-1, timeNs);
  }

  #reportImpliedNak(psn: number, details: PlacedDetails): void {
    const { state } = this;
    const { responses, responseHoles, report } = state;
    report.impliedNaks++;
    state.emitAt('implied-nak', this.sender, details);
    if (responseHoles.at(psn) === undefined && responses.has(psn)) bookMissedResponse(state, psn, details);
    state.awaitedResponse = psn;
  }
}

const UNKNOWN_TRIGGER = { cause: undefined, durationNs: -1 } as const;
const MOST_REPEATS = 1000;
/** How long a datagram-like service may be out of order. */
const UNRELIABLE_NS = 50_000_000;
const UNRELIABLE_PSNS = 1024;
