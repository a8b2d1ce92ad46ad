/**
 * What requests and responses of a PSN space have in common: holes and what fills them, runs of retransmissions,
 * copies.
 *
 * Owns the classification of a packet whose PSN was skipped or seen before, from evidence in this order:
 * - A frame with the same IPv4 identification and ICRC is a copy, if the identifications come from a counter. Without a
 *   counter (IPv6, or always 0) it is a copy if it follows its original at once and there is no cause for a
 *   retransmission.
 * - A packet that fills a hole is late if its identification is lower than that of the packet that showed the hole, and
 *   a retransmission if it is higher.
 * - Without identifications it is a retransmission if there is a cause for one (`triggerOf`), and late otherwise. If
 *   the packets that follow are retransmitted too, the sender went back, and the late packet counts as lost. If there
 *   is a cause and the packets that follow are new ones, the sender did not go back, and the packet was late.
 * A loss is reported when its retransmission has come. A late original after its own retransmission takes the loss
 * back, unless it was reported already.
 */
import { Mark } from '../facts.ts';
import type { DamagedPsns } from './damaged-psns.ts';
import { type Hole, type Holes, unfilledReason } from './holes.ts';
import type { IpIdOrder } from './id-order.ts';
import { bookLost, lostFlags, unbookLost, unbookPacket } from './lost-packets.ts';
import type { MutableFacts } from './mutable-facts.ts';
import { askedAck, PacketFlag, type PacketMemory } from './packet-memory.ts';
import {
  isExtensible,
  isFillAfterNak,
  lossWithout,
  newRun,
  type PendingLoss,
  type PendingReport,
  pendingReport,
  type RetransmissionRun,
  type RetransmissionTrigger,
  UNKNOWN_TRIGGER,
} from './pending-report.ts';
import type { PsnSpaceState } from './psn-space-state.ts';
import type { PacketCounts } from './requester-figures.ts';

export abstract class SequenceTracker {
  readonly state: PsnSpaceState;
  protected run: RetransmissionRun | undefined;
  #loss: PendingLoss | undefined;
  #late: PendingReport | undefined;

  constructor(state: PsnSpaceState) {
    this.state = state;
  }

  protected abstract get sender(): 0 | 1;

  /** The identifications of the sender: all its packets share one counter. */
  protected get ids(): IpIdOrder {
    return this.state.conversation.end(this.sender).ids;
  }

  protected abstract get counts(): PacketCounts;
  protected abstract get holes(): Holes;
  protected abstract get memory(): PacketMemory;
  protected abstract get damaged(): DamagedPsns;
  /** Why the sender would retransmit from this PSN now; undefined when there is no cause. */
  protected abstract triggerOf(facts: MutableFacts, psn: number): RetransmissionTrigger | undefined;
  /** The trigger that is reported where `triggerOf` has none. */
  protected fallbackTrigger(_psn: number): RetransmissionTrigger {
    return UNKNOWN_TRIGGER;
  }

  protected isRequestedAgain(hole: Hole): boolean {
    return hole.requestedAgain;
  }

  /** A run of retransmissions begins: reports what belongs to its trigger. */
  protected abstract onRunStart(facts: MutableFacts, psn: number, trigger: RetransmissionTrigger): void;

  /** Whether the peer asked for this very packet, which it lacked then. */
  protected isNamed(psn: number): boolean {
    const { requester, askedPsn, askedResponse } = this.state;
    return psn === (this.sender === requester ? askedPsn : askedResponse);
  }

  /** A run of retransmissions ended: reports what is certain only now. */
  protected onRunEnd(_facts: MutableFacts, _run: RetransmissionRun): void {}

  /** Whether what looked like a run of retransmissions was one packet that came late, after its retransmission. */
  protected isLateAlone(_run: RetransmissionRun): boolean {
    return false;
  }

  /** A packet filled the hole that was seen at `openedNs`, and it was no retransmission. */
  protected onLate(_openedNs: number, _timeNs: number): void {}

  protected onLateOriginal(_psn: number): void {}

  /** Whether the packet at hand is a second copy of a frame, made by the network or by the mirror. */
  protected isCopy(facts: MutableFacts, psn: number): boolean {
    const counts = facts.ipId >= 0 && this.ids.isUsable;
    if (counts && this.memory.isEarlierSending(psn, facts)) return true;
    if (!this.memory.isSameFrame(psn, facts)) return false;
    // Identifications that vary belong to one frame each, also before they are known to count.
    if (counts || (facts.ipId >= 0 && this.ids.varies)) return true;
    if (this.continuesRun(facts, psn) || this.#late?.to === psn) return false;
    if (facts.timeNs - this.memory.timeOf(psn) > COPY_NS) return false;
    return this.triggerOf(facts, psn) === undefined;
  }

  protected reportCopy(facts: MutableFacts, psn: number): void {
    facts.marks |= Mark.Copy;
    facts.refersTo = this.memory.frameOf(psn);
    this.state.report.copies++;
    this.state.emit('copy', facts, this.sender, { psn, refersTo: facts.refersTo });
  }

  /** The packet at hand shows that [from, to) is missing. */
  protected openHole(facts: MutableFacts, from: number, to: number): void {
    facts.marks |= Mark.Gap;
    facts.missing += to - from;
    const evicted = this.holes.open({
      from,
      to,
      openedNs: facts.timeNs,
      openedFrame: facts.packet.number,
      behindId: facts.ipId,
      requestedAgain: false,
      acknowledgedNs: -1,
    });
    if (evicted !== undefined) this.reportUnfilled(facts, evicted);
  }

  /** The packet at hand takes [psn, psn + count), which begins in `hole`. Returns whether it is an original. */
  protected fillHole(facts: MutableFacts, psn: number, count: number, hole: Hole): boolean {
    this.holes.fill(hole, psn, psn + count);
    const order = this.ids.compare(facts.ipId, hole.behindId);
    const likely =
      this.continuesRun(facts, psn) || this.isRequestedAgain(hole) || this.triggerOf(facts, psn) !== undefined;
    const repeated = order === 0 ? likely : order > 0;
    if (!repeated) {
      this.onLate(hole.openedNs, facts.timeNs);
      this.#handleLate(facts, psn, count, hole);
      return true;
    }
    this.#resolveLate(facts, psn);
    facts.refersTo = hole.openedFrame;
    this.countRetransmission(facts, psn, count);
    this.#countLoss(facts, psn, count, hole);
    return false;
  }

  /** The packet at hand was sent before. */
  protected handleRepeated(facts: MutableFacts, psn: number, count: number): void {
    const { ids, memory } = this;
    const order = memory.has(psn) ? ids.compare(facts.ipId, memory.idOf(psn)) : ids.compareToLast(facts.ipId);
    if (order < 0) this.handleLateOriginal(facts, psn);
    else {
      this.#resolveLate(facts, psn);
      this.countRetransmission(facts, psn, count);
    }
  }

  protected countRetransmission(facts: MutableFacts, psn: number, count: number): void {
    facts.marks |= Mark.Retransmission;
    if (facts.refersTo < 0) facts.refersTo = this.memory.frameOf(psn);
    this.counts.retransmittedPackets++;
    this.ids.step(facts.ipId);
    const { run } = this;
    if (run !== undefined && this.continuesRun(facts, psn)) {
      run.count++;
      run.cursor = psn + count;
      run.lastNs = facts.timeNs;
    } else this.#startRun(facts, psn, count);
    const flags = this.memory.flagsOf(psn) | PacketFlag.Repeated | askedAck(facts);
    this.memory.put(psn, facts, flags, this.state.acked);
  }

  /** A new packet came in order: pending events are certain now. */
  protected reportPending(facts: MutableFacts): void {
    if (this.#late !== undefined) this.#resolveLate(facts, -Infinity);
    if (this.#isLateAfterAll) this.#takeLossBack(facts);
    if (this.run !== undefined) this.closeRun(facts);
    if (this.#loss !== undefined) this.#reportLoss(facts);
  }

  protected closeRun(facts: MutableFacts): void {
    const { run } = this;
    this.run = undefined;
    if (run === undefined) return;
    if (this.isLateAlone(run)) {
      this.#reportLateAlone(facts, run);
      return;
    }
    this.onRunEnd(facts, run);
    const { psn, count, frame, timeNs, trigger } = run;
    this.state.emit('retransmission', facts, this.sender, { ...trigger, psn, count, frame, timeNs });
    if (this.#loss !== undefined) this.#reportLoss(facts);
  }

  /** Reports holes that the peer acknowledged a while ago, and that were never filled here. */
  protected closeOldHoles(facts: MutableFacts): void {
    const { list } = this.holes;
    for (let i = list.length - 1; i >= 0; i--) {
      const hole = list[i] as Hole;
      if (hole.acknowledgedNs < 0 || facts.timeNs - hole.acknowledgedNs < GRACE_NS) continue;
      list.splice(i, 1);
      this.reportUnfilled(facts, hole);
    }
  }

  /** The capture ends: reports everything that is pending. */
  finish(facts: MutableFacts): void {
    this.reportPending(facts);
    const { list } = this.holes;
    for (let hole = list.shift(); hole !== undefined; hole = list.shift()) this.reportUnfilled(facts, hole);
  }

  /** What is pending was of something else. */
  forget(): void {
    this.holes.list.length = 0;
    this.run = this.#loss = this.#late = undefined;
  }

  /** Reports a hole that was never filled. */
  protected reportUnfilled(facts: MutableFacts, hole: Hole): void {
    const { from, to, openedFrame: frame } = hole;
    const asked = this.isRequestedAgain(hole);
    const lost = asked || !this.state.reliable;
    const damaged = lost ? this.damaged.takeAll(from, to) : 0;
    const count = to - from - damaged;
    if (count <= 0) return;
    const named = asked && this.isNamed(from);
    if (lost) bookLost(this.counts, count, named);
    else this.counts.unseenPackets += count;
    this.state.emit(lost ? 'loss' : 'unseen', facts, this.sender, {
      psn: from,
      count,
      frame,
      named,
      reason: unfilledReason(hole, asked, this.state.reliable),
    });
  }

  /** Whether the packet at hand continues the current run of retransmissions. */
  protected continuesRun(facts: MutableFacts, psn: number): boolean {
    const { run } = this;
    if (run === undefined || psn < run.cursor) return false;
    if (run.acknowledged && run.count === 1 && psn > run.cursor + MOST_SKIPPED && !this.ids.isUsable) return false;
    return facts.timeNs - run.lastNs < (psn === run.cursor ? RUN_PAUSE_NS : RUN_JUMP_NS);
  }

  /** A single packet filled a hole after a NAK, and what was sent behind it was not sent again: no one went back. */
  get #isLateAfterAll(): boolean {
    return isFillAfterNak(this.run, this.#loss, this.ids) && (this.run?.cursor ?? Infinity) < this.state.next;
  }

  /** Or it came before the sender went back to what the NAK had asked for, which is a packet before it. */
  #isLateBefore({ timeNs }: MutableFacts, psn: number): boolean {
    const { psn: first = 0, lastNs = 0 } = this.run ?? {};
    const soon = timeNs - lastNs < RUN_JUMP_NS;
    return isFillAfterNak(this.run, this.#loss, this.ids) && psn < first && !this.isNamed(first) && soon;
  }

  #reportLateAlone(facts: MutableFacts, { psn, frame, timeNs, refersTo }: RetransmissionRun): void {
    this.counts.retransmittedPackets--;
    this.counts.reorderedPackets++;
    unbookPacket(this.counts, this.memory, psn);
    this.onLateOriginal(psn);
    this.state.emit('reordering', facts, this.sender, { psn, frame, timeNs, refersTo, reason: 'after-retransmission' });
    if (this.#loss !== undefined) this.#reportLoss(facts);
  }

  /** What counts as lost came twice, which its late original or a doubled retransmission explains. */
  protected doubtLoss(facts: MutableFacts, psn: number): void {
    const loss = this.#loss;
    unbookPacket(this.counts, this.memory, psn);
    this.memory.addFlag(psn, PacketFlag.Late);
    if (loss !== undefined && psn >= loss.psn && psn < loss.to) this.#retractLoss(facts, loss, psn);
    const { refersTo } = facts;
    this.state.emit('missing', facts, this.sender, { psn, refersTo, reason: 'came-twice' });
  }

  #takeLossBack(facts: MutableFacts): void {
    const loss = this.#loss;
    this.run = undefined;
    this.#loss = undefined;
    if (loss === undefined) return;
    const { count, timeNs, openedNs, named } = loss;
    unbookLost(this.counts, count, named);
    this.counts.retransmittedPackets -= count;
    this.counts.reorderedPackets += count;
    this.onLate(openedNs, timeNs);
    this.state.emit('reordering', facts, this.sender, { ...loss, durationNs: timeNs - openedNs, named: false });
  }

  #startRun(facts: MutableFacts, psn: number, count: number): void {
    if (this.#isLateBefore(facts, psn)) this.#takeLossBack(facts);
    this.closeRun(facts);
    const trigger = this.triggerOf(facts, psn) ?? this.fallbackTrigger(psn);
    this.run = newRun(pendingReport(facts, psn, count, -1, -1), trigger, facts, psn < this.state.acked);
    this.onRunStart(facts, psn, trigger);
  }

  #handleLate(facts: MutableFacts, psn: number, count: number, hole: Hole): void {
    facts.marks |= Mark.Late;
    facts.refersTo = hole.openedFrame;
    this.memory.put(psn, facts, PacketFlag.Late | askedAck(facts), this.state.acked);
    if (this.#late !== undefined) this.#reportLate(facts);
    this.#late = pendingReport(facts, psn, count, hole.openedFrame, facts.timeNs - hole.openedNs);
    // The identifications decided it, and later packets cannot change it.
    if (this.ids.isUsable && facts.ipId >= 0) this.#reportLate(facts);
  }

  /** `psn` is a retransmission. If it follows a packet that was taken for late, that one was a retransmission too. */
  #resolveLate(facts: MutableFacts, psn: number): void {
    const late = this.#late;
    if (late === undefined) return;
    if (psn !== late.to || this.run !== undefined) {
      this.#reportLate(facts);
      return;
    }
    this.#late = undefined;
    const named = this.isNamed(late.psn);
    bookLost(this.counts, 1, named);
    this.counts.retransmittedPackets++;
    this.#loss = { ...late, durationNs: -1, openedNs: late.timeNs - late.durationNs, named };
    const trigger = this.triggerOf(facts, late.psn) ?? this.fallbackTrigger(late.psn);
    this.run = newRun(late, trigger, facts, false);
    this.onRunStart(facts, late.psn, trigger);
  }

  #reportLate(facts: MutableFacts): void {
    const late = this.#late;
    this.#late = undefined;
    if (late === undefined) return;
    this.counts.reorderedPackets++;
    this.state.emit('reordering', facts, this.sender, late);
  }

  /**
   * Without identifications: a packet that counts as lost comes once more, by itself and without a cause, after its
   * retransmission. Right behind that it is a copy of it.
   */
  protected isLateOriginal(facts: MutableFacts, psn: number, count: number): boolean {
    const { memory, run } = this;
    if ((memory.flagsOf(psn) & (PacketFlag.BookedLost | PacketFlag.Late)) !== PacketFlag.BookedLost) return false;
    if (this.ids.isUsable || this.continuesRun(facts, psn)) return false;
    if (run?.cursor === psn + count && (!this.ids.varies || memory.isSameFrame(psn, facts))) return false;
    return this.triggerOf(facts, psn) === undefined;
  }

  protected handleLateOriginal(facts: MutableFacts, psn: number): void {
    facts.marks |= Mark.Late;
    facts.refersTo = this.memory.frameOf(psn);
    this.memory.noteEarlierSending(psn, facts);
    this.memory.addFlag(psn, PacketFlag.Late);
    this.onLateOriginal(psn);
    const loss = this.#loss;
    const booked = unbookPacket(this.counts, this.memory, psn);
    if (booked && loss !== undefined && psn >= loss.psn && psn < loss.to) this.#retractLoss(facts, loss, psn);
    this.counts.reorderedPackets++;
    const { refersTo } = facts;
    this.state.emit('reordering', facts, this.sender, { psn, refersTo, reason: 'after-retransmission' });
  }

  #retractLoss(facts: MutableFacts, loss: PendingLoss, psn: number): void {
    const [before, behind] = lossWithout(loss, psn);
    this.#loss = before;
    this.#reportLoss(facts);
    this.#loss = behind;
  }

  #countLoss(facts: MutableFacts, psn: number, count: number, hole: Hole): void {
    if (this.damaged.takeAll(psn, psn + count) > 0) return;
    const named = this.isNamed(psn);
    bookLost(this.counts, 1, named);
    const loss = this.#loss;
    if (loss?.to === psn && !named && isExtensible(loss)) {
      loss.count++;
      loss.to = psn + count;
    } else {
      if (loss !== undefined) this.#reportLoss(facts);
      this.#loss = { ...pendingReport(facts, psn, count, hole.openedFrame, -1), openedNs: hole.openedNs, named };
    }
    this.memory.put(psn, facts, this.memory.flagsOf(psn) | lostFlags(named), this.state.acked);
  }

  #reportLoss(facts: MutableFacts): void {
    const loss = this.#loss;
    this.#loss = undefined;
    if (loss !== undefined) this.state.emit('loss', facts, this.sender, loss);
  }
}

/** A copy without a usable identification follows its original so soon. */
const COPY_NS = 500_000;
/** Between packets of one run: of the one expected, and of one behind it. */
const RUN_PAUSE_NS = 1_000_000_000;
const RUN_JUMP_NS = 1_000_000;
/** PSNs that may be missing in between when a lone packet may have come late. */
const MOST_SKIPPED = 4;
/** A capture with several queues may have an ACK before the packets that it acknowledges: they may still follow. */
const GRACE_NS = 1_000_000;
