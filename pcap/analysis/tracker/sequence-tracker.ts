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
 * - Without identifications, what comes between two packets of a run was sent before (`out-of-turn.ts`).
 * A loss is reported when its retransmission has come. A late original after its own retransmission takes the loss
 * back, unless it was reported already.
 */
import { Mark } from '../facts.ts';
import type { Hole } from './holes.ts';
import type { MutableFacts } from './mutable-facts.ts';
import { isOfEarlierRun, isOvertakenIn, isSentBefore, type OutOfTurn, outOfTurn, RUN_JUMP_NS } from './out-of-turn.ts';
import { askedAck, PacketFlag } from './packet-memory.ts';
import {
  isFarFromNak,
  isFillAfterNak,
  isLastAgain,
  isStraggler,
  newRun,
  type PendingReport,
  pendingReport,
  type RetransmissionRun,
  runDetails,
} from './pending-report.ts';
import { SequenceRole } from './sequence-role.ts';

export abstract class SequenceTracker extends SequenceRole {
  #late: PendingReport | undefined;
  /** The last packet, where it may have come out of turn in a run: what it seems to begin is not certain. */
  protected aside: OutOfTurn | undefined;

  /** Whether the packet at hand is a second copy of a frame, made by the network or by the mirror. */
  protected isCopy(facts: MutableFacts, psn: number): boolean {
    const counts = facts.ipId >= 0 && this.ids.isUsable;
    if (counts && this.memory.isEarlierSending(psn, facts)) return true;
    if (!this.memory.isSameFrame(psn, facts)) return false;
    // Identifications that vary belong to one frame each, also before they are known to count.
    if (counts || (facts.ipId >= 0 && this.ids.varies)) return true;
    if (this.continuesRun(facts, psn) || this.#late?.to === psn || this.aside?.cursor === psn) return false;
    if (facts.timeNs - this.memory.timeOf(psn) > COPY_NS) return false;
    return this.triggerOf(facts, psn) === undefined;
  }

  protected reportCopy(facts: MutableFacts, psn: number): void {
    facts.marks |= Mark.Copy;
    facts.refersTo = this.memory.frameOf(psn);
    this.state.report.copies++;
    this.state.emit('copy', facts, this.sender, { psn, refersTo: facts.refersTo });
    // What the sender goes back to comes behind it: it was late indeed.
    if (this.#late?.psn === psn) this.#reportLate(facts);
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
    if (evicted !== undefined) this.#reportUnfilled(facts, evicted);
  }

  /** The packet at hand takes [psn, psn + count), which begins in `hole`. Returns whether it is an original. */
  protected fillHole(facts: MutableFacts, psn: number, count: number, hole: Hole): boolean {
    this.holes.fill(hole, psn, psn + count);
    const order = this.ids.compare(facts.ipId, hole.behindId);
    const asked = this.isRequestedAgain(hole) || this.triggerOf(facts, psn) !== undefined;
    const likely = this.continuesRun(facts, psn) || (asked && !this.isTooSoon(facts, psn));
    const repeated = order === 0 ? likely : order > 0;
    if (!repeated) {
      this.onLate(hole.openedNs, facts.timeNs);
      this.#handleLate(facts, psn, count, hole);
      return true;
    }
    this.#resolveLate(facts, psn);
    facts.refersTo = hole.openedFrame;
    this.countRetransmission(facts, psn, count);
    this.losses.count(facts, psn, count, hole);
    if (this.aside !== undefined) this.aside.openedNs = hole.openedNs;
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
      this.counts.wentBack = true;
    }
  }

  protected countRetransmission(facts: MutableFacts, psn: number, count: number): void {
    facts.marks |= Mark.Retransmission;
    if (facts.refersTo < 0) facts.refersTo = this.memory.frameOf(psn);
    this.counts.retransmittedPackets++;
    this.ids.step(facts.ipId);
    this.#settleAside(facts, psn);
    const { run } = this;
    this.aside = this.ids.isUsable ? undefined : outOfTurn(run, facts, psn, count);
    if (run === undefined || !this.continuesRun(facts, psn)) this.#startRun(facts, psn, count);
    else if (!isOfEarlierRun(run, facts, psn, this.ids)) {
      run.count++;
      run.cursor = Math.max(run.cursor, psn + count);
      run.lastNs = facts.timeNs;
      run.lastId = facts.ipId;
    }
    const flags = this.memory.flagsOf(psn) | PacketFlag.Repeated | askedAck(facts);
    this.memory.put(psn, facts, flags, this.state.acked);
  }

  /** A new packet came in order: pending events are certain now. */
  protected reportPending(facts: MutableFacts): void {
    if (this.#late !== undefined) this.#resolveLate(facts, -Infinity);
    if (this.aside !== undefined) this.#settleAside(facts, -Infinity);
    if (this.run !== undefined && !isSentBefore(this.run, facts, this.ids)) {
      if (this.#isLateAfterAll) this.#takeLossBack(facts);
      this.closeRun(facts);
    }
    if (this.losses.pending !== undefined) this.losses.report(facts);
  }

  protected closeRun(facts: MutableFacts): void {
    const { run } = this;
    this.run = undefined;
    if (run !== undefined) this.#endRun(facts, run);
  }

  #endRun(facts: MutableFacts, run: RetransmissionRun): void {
    if (this.isLateAlone(run)) {
      this.#reportLateAlone(facts, run);
      return;
    }
    this.onRunEnd(run);
    if (isStraggler(run, this.ids) && this.losses.isCounted(run.psn) && run.cursor < this.state.next)
      this.losses.doubt(facts, run.psn, { ...run, count: 1, durationNs: -1, reason: 'out-of-turn' });
    this.state.emit('retransmission', facts, this.sender, runDetails(run, run.count));
    // What is pending may have begun another run.
    if (this.run === undefined || this.losses.pending?.frame !== this.run.frame) this.losses.report(facts);
  }

  /** Reports holes that the peer acknowledged a while ago, and that were never filled here. */
  protected closeOldHoles(facts: MutableFacts): void {
    const { list } = this.holes;
    for (let i = list.length - 1; i >= 0; i--) {
      const hole = list[i] as Hole;
      if (hole.acknowledgedNs < 0 || facts.timeNs - hole.acknowledgedNs < GRACE_NS) continue;
      list.splice(i, 1);
      this.#reportUnfilled(facts, hole);
    }
  }

  /** The capture ends: reports everything that is pending. */
  finish(facts: MutableFacts): void {
    this.reportPending(facts);
    const { list } = this.holes;
    for (let hole = list.shift(); hole !== undefined; hole = list.shift()) this.#reportUnfilled(facts, hole);
  }

  /** What is pending was of something else. */
  forget(): void {
    this.holes.list.length = 0;
    this.losses.forget();
    this.run = this.#late = this.aside = undefined;
  }

  #reportUnfilled(facts: MutableFacts, hole: Hole): void {
    this.losses.unfilled(facts, hole, this.isRequestedAgain(hole));
  }

  /** Whether the packet at hand continues the current run of retransmissions. */
  protected continuesRun(facts: MutableFacts, psn: number): boolean {
    const { run } = this;
    if (run === undefined) return false;
    if (psn < run.cursor) return isOvertakenIn(run, facts, psn, this.memory, this.ids);
    const skips = psn > run.cursor + MOST_SKIPPED || (psn > run.cursor && this.isLost(psn));
    if (skips && run.acknowledged && run.count === 1 && !this.ids.isUsable) return false;
    if (this.#isLateFill(facts, psn)) return false;
    return facts.timeNs - run.lastNs < (this.#isNextIn(run, facts, psn) ? RUN_PAUSE_NS : RUN_JUMP_NS);
  }

  /**
   * Its PSN is the next one of the run; or its identification is the one that follows, with those of what is missing in
   * between. Of a READ that is missing one has several PSNs.
   */
  #isNextIn({ cursor, lastId }: RetransmissionRun, { ipId }: MutableFacts, psn: number): boolean {
    const [skipped, sent] = [psn - cursor, this.ids.compare(ipId, lastId)];
    return skipped === 0 || sent === skipped + 1 || (sent > 0 && sent <= skipped && this.state.acked <= cursor);
  }

  /** A single packet filled a hole after a NAK, and what was sent behind it was not sent again: no one went back. */
  get #isLateAfterAll(): boolean {
    return isFillAfterNak(this.run, this.losses.pending, this.ids) && (this.run?.cursor ?? Infinity) < this.state.next;
  }

  /** Or it came before the sender went back to what the NAK had asked for, which is a packet before it. */
  #isLateBefore({ timeNs }: MutableFacts, psn: number): boolean {
    const { psn: first = 0, lastNs = 0 } = this.run ?? {};
    const soon = timeNs - lastNs < RUN_JUMP_NS;
    return isFillAfterNak(this.run, this.losses.pending, this.ids) && psn < first && !this.isNamed(first) && soon;
  }

  #reportLateAlone(facts: MutableFacts, { psn, frame, timeNs, refersTo }: RetransmissionRun): void {
    this.counts.retransmittedPackets--;
    this.losses.wasLate(facts, psn);
    this.onLateOriginal(psn, timeNs);
    this.state.emit('reordering', facts, this.sender, { psn, frame, timeNs, refersTo, reason: 'after-retransmission' });
    this.losses.report(facts);
  }

  /** One packet alone filled a hole after a NAK, and the next one of its run is sent for another reason than that. */
  #isLateFill(facts: MutableFacts, psn: number): boolean {
    const { run, losses, ids, state } = this;
    if (psn !== run?.cursor || ids.isUsable || run.count > 1 || run.trigger.cause !== 'nak') return false;
    if (!losses.isCounted(run.psn)) return false;
    const { cause, durationNs = 0 } = this.triggerOf(facts, psn) ?? {};
    const reacts = facts.timeNs - durationNs > run.lastNs && durationNs >= state.soonestReactionNs;
    return cause === 'timeout' || (cause === 'nak' && reacts);
  }

  #takeFillBack(facts: MutableFacts, run: RetransmissionRun): void {
    if (this.losses.pending?.psn === run.psn) this.#takeLossBack(facts);
    else this.#reportLateAlone(facts, run);
    this.run = undefined;
  }

  #takeLossBack(facts: MutableFacts): void {
    this.run = undefined;
    const loss = this.losses.takeBack(facts);
    if (loss !== undefined) this.onLate(loss.openedNs, loss.timeNs);
  }

  /** The packet before this one may have come out of turn: now it is known. */
  #settleAside(facts: MutableFacts, psn: number): void {
    const aside = this.aside;
    this.aside = undefined;
    if (aside === undefined) return;
    const { run, cursor } = aside;
    const instead = run === this.run ? undefined : this.run;
    const soon = facts.timeNs - run.lastNs < RUN_JUMP_NS && this.losses.isCounted(aside.psn);
    const resumed = soon && psn === cursor;
    // Neither does the run go on, nor what seemed to begin.
    const alone = soon && instead?.count === 1 && psn < instead.cursor && aside.openedNs < 0;
    if (!resumed && !alone) {
      if (instead !== undefined) this.#endRun(facts, run);
      return;
    }
    this.run = run;
    if (instead === undefined) run.count--;
    else this.onRunResumed(run, instead);
    run.cursor = cursor;
    run.lastNs = aside.lastNs;
    this.#reportOutOfTurn(facts, aside);
  }

  #reportOutOfTurn(facts: MutableFacts, { psn, cursor, openedNs, frame, timeNs, refersTo }: OutOfTurn): void {
    if (openedNs >= 0) this.onLate(openedNs, timeNs);
    // The run has passed it, and its retransmission may be late.
    if (openedNs >= 0 && psn < cursor) {
      this.losses.doubt(facts, psn, { frame, timeNs, refersTo, reason: 'out-of-turn' });
      return;
    }
    this.counts.retransmittedPackets--;
    this.losses.wasLate(facts, psn);
    this.memory.addFlag(psn, PacketFlag.Late);
    this.onLateOriginal(psn, timeNs);
    const reason = openedNs >= 0 ? undefined : 'after-retransmission';
    this.state.emit('reordering', facts, this.sender, { psn, frame, timeNs, refersTo, reason });
  }

  /** A single packet came that was lost, and then the sender goes back to one before it. */
  #isLateBehind(psn: number): boolean {
    const { run } = this;
    if (run === undefined || this.ids.isUsable || run.count > 1 || run.trigger.cause !== 'nak') return false;
    return psn < run.psn && this.isNamed(psn) && this.losses.isCounted(run.psn) && this.losses.pending?.psn !== run.psn;
  }

  #startRun(facts: MutableFacts, psn: number, count: number): void {
    if (this.run !== undefined && this.#isLateBehind(psn)) {
      this.onRunResumed(this.run, this.run);
      this.#reportLateAlone(facts, this.run);
      this.run = undefined;
    }
    // The NAK would have brought more than what filled the hole: it was lost.
    const afterTimeout = this.#isLateAfterAll && this.triggerOf(facts, psn)?.cause === 'timeout';
    if (afterTimeout || this.#isLateBefore(facts, psn)) this.#takeLossBack(facts);
    else if (this.run !== undefined && this.#isLateFill(facts, psn)) this.#takeFillBack(facts, this.run);
    const trigger = this.triggerOf(facts, psn) ?? this.fallbackTrigger(facts, psn);
    if (!this.ids.isUsable && isLastAgain(this.run, trigger, psn + count) && this.losses.isCounted(psn))
      this.losses.doubt(facts, psn, { refersTo: facts.refersTo, reason: 'came-twice' });
    if (this.aside === undefined) this.closeRun(facts);
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
    this.counts.retransmittedPackets++;
    this.losses.wereLost(late);
    const trigger = this.triggerOf(facts, late.psn) ?? this.fallbackTrigger(facts, late.psn);
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
   * Without identifications: a packet that counts as lost comes once more, alone and without a cause. Right behind its
   * retransmission it is a copy of that.
   */
  protected isLateOriginal(facts: MutableFacts, psn: number, count: number): boolean {
    const { memory, run } = this;
    if (!this.losses.isCounted(psn)) return false;
    if (this.ids.isUsable || this.continuesRun(facts, psn)) return false;
    if (run?.cursor === psn + count && (!this.ids.varies || memory.isSameFrame(psn, facts))) return false;
    const trigger = this.triggerOf(facts, psn);
    return trigger === undefined || (run?.cursor === psn + count && isFarFromNak(trigger, this.state.nak, psn));
  }

  protected handleLateOriginal(facts: MutableFacts, psn: number): void {
    facts.marks |= Mark.Late;
    facts.refersTo = this.memory.frameOf(psn);
    this.memory.noteEarlierSending(psn, facts);
    this.memory.addFlag(psn, PacketFlag.Late);
    this.onLateOriginal(psn, facts.timeNs);
    this.losses.wasLate(facts, psn);
    const { refersTo } = facts;
    this.state.emit('reordering', facts, this.sender, { psn, refersTo, reason: 'after-retransmission' });
  }
}

/** A copy without a usable identification follows its original so soon. */
const COPY_NS = 500_000;
/** Between packets of one run: of the one expected. */
const RUN_PAUSE_NS = 1_000_000_000;
/** PSNs that may be missing in between when a lone packet may have come late. */
const MOST_SKIPPED = 4;
/** A capture with several queues may have an ACK before the packets that it acknowledges. */
const GRACE_NS = 1_000_000;
