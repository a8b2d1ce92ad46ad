/**
 * Losses of a PSN space that are counted, and the last of them that is not reported yet.
 *
 * Owns that counts, memory and events say the same, also when a loss turns out to be none.
 */
import type { DamagedPsns } from './damaged-psns.ts';
import { type Hole, unfilledReason } from './holes.ts';
import { bookLost, LastLosses, lostFlags, unbookLost, unbookPacket } from './lost-packets.ts';
import type { MutableFacts } from './mutable-facts.ts';
import { PacketFlag, type PacketMemory } from './packet-memory.ts';
import {
  isExtensible,
  lossWithout,
  type PendingLoss,
  type PendingReport,
  pendingLoss,
  pendingReport,
} from './pending-report.ts';
import type { EventDetails, PsnSpaceState } from './psn-space-state.ts';
import type { PacketCounts } from './requester-figures.ts';

/** Whose losses these are. */
export interface LossOwner {
  readonly state: PsnSpaceState;
  readonly sender: 0 | 1;
  readonly counts: PacketCounts;
  readonly memory: PacketMemory;
  readonly damaged: DamagedPsns;
  /** Whether the peer asked for this very packet. */
  isNamed(psn: number): boolean;
}

export class PendingLosses {
  readonly #owner: LossOwner;
  #loss: PendingLoss | undefined;
  readonly #last = new LastLosses();

  constructor(owner: LossOwner) {
    this.#owner = owner;
  }

  get pending(): PendingLoss | undefined {
    return this.#loss;
  }

  /** The packet at hand is the retransmission of one that is missing here. */
  count(facts: MutableFacts, psn: number, count: number, hole: Hole): void {
    const { counts, damaged, memory, state } = this.#owner;
    if (damaged.takeAll(psn, psn + count) > 0) return;
    const named = this.#owner.isNamed(psn);
    bookLost(counts, 1, named);
    const loss = this.#loss;
    if (loss?.to === psn && !named && isExtensible(loss)) {
      loss.count++;
      loss.to = psn + count;
    } else {
      this.report(facts);
      this.#loss = pendingLoss(pendingReport(facts, psn, count, hole.openedFrame, -1), -1, hole.openedNs, named);
    }
    memory.put(psn, facts, memory.flagsOf(psn) | lostFlags(named), state.acked);
    this.#last.add(psn, named);
  }

  /** What was taken for late was a retransmission. */
  wereLost(late: PendingReport): void {
    const named = this.#owner.isNamed(late.psn);
    bookLost(this.#owner.counts, 1, named);
    this.#loss = pendingLoss(late, -1, late.timeNs - late.durationNs, named);
  }

  /** A hole was never filled. @param asked its packets were requested again */
  unfilled(facts: MutableFacts, hole: Hole, asked: boolean): void {
    const { counts, damaged, sender, state } = this.#owner;
    const { from, to, openedFrame: frame } = hole;
    const lost = asked || !state.reliable;
    const count = to - from - (lost ? damaged.takeAll(from, to) : 0);
    if (count <= 0) return;
    const named = asked && this.#owner.isNamed(from);
    if (lost) bookLost(counts, count, named);
    else counts.unseenPackets += count;
    const reason = unfilledReason(hole, asked, state.reliable);
    state.emit(lost ? 'loss' : 'unseen', facts, sender, { psn: from, count, frame, named, reason });
  }

  /** Whether this packet counts as lost. */
  isCounted(psn: number): boolean {
    const flags = this.#owner.memory.flagsOf(psn) & (PacketFlag.BookedLost | PacketFlag.Late);
    return flags === PacketFlag.BookedLost || this.#last.has(psn);
  }

  /** This packet was late, whether it counts as lost or not. */
  wasLate(facts: MutableFacts, psn: number): void {
    this.#unbook(facts, psn);
    this.#owner.counts.reorderedPackets++;
  }

  /** It cannot be told what became of this packet, which counts as lost. */
  doubt(facts: MutableFacts, psn: number, details: EventDetails): void {
    const { counts, memory, sender, state } = this.#owner;
    this.#unbook(facts, psn);
    memory.addFlag(psn, PacketFlag.Late);
    counts.undecidedPackets++;
    state.emit('missing', facts, sender, { ...details, psn });
  }

  /** All that is pending was late. */
  takeBack(facts: MutableFacts): PendingLoss | undefined {
    const loss = this.#loss;
    this.#loss = undefined;
    if (loss === undefined) return undefined;
    const { counts, memory, sender, state } = this.#owner;
    const { psn, to, count, timeNs, openedNs, named } = loss;
    for (const each of this.#last.takeAll(psn, to)) memory.addFlag(each, PacketFlag.Late);
    unbookLost(counts, count, named);
    counts.retransmittedPackets -= count;
    counts.reorderedPackets += count;
    if (named) counts.filledAlone += count;
    state.emit('reordering', facts, sender, { ...loss, durationNs: timeNs - openedNs });
    return loss;
  }

  report(facts: MutableFacts): void {
    const loss = this.#loss;
    this.#loss = undefined;
    if (loss !== undefined) this.#owner.state.emit('loss', facts, this.#owner.sender, loss);
  }

  forget(): void {
    this.#loss = undefined;
  }

  #unbook(facts: MutableFacts, psn: number): void {
    const loss = this.#loss;
    const { counts, memory } = this.#owner;
    const unbooked = unbookPacket(counts, memory, this.#last, psn);
    if (!unbooked || loss === undefined || psn < loss.psn || psn >= loss.to) return;
    const [before, behind] = lossWithout(loss, psn);
    this.#loss = before;
    this.report(facts);
    this.#loss = behind;
  }
}
