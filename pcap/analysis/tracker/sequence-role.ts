/**
 * What tells requests from responses, where both are placed by one set of rules (`sequence-tracker.ts`).
 *
 * Owns what a tracker of either has to say, and what is true where it says nothing. Decides nothing else.
 */
import type { DamagedPsns } from './damaged-psns.ts';
import type { Hole, Holes } from './holes.ts';
import type { IpIdOrder } from './id-order.ts';
import type { MutableFacts } from './mutable-facts.ts';
import type { PacketMemory } from './packet-memory.ts';
import { PendingLosses } from './pending-losses.ts';
import { type RetransmissionRun, type RetransmissionTrigger, UNKNOWN_TRIGGER } from './pending-report.ts';
import type { PsnSpaceState } from './psn-space-state.ts';
import type { PacketCounts } from './requester-figures.ts';

export abstract class SequenceRole {
  readonly state: PsnSpaceState;
  protected run: RetransmissionRun | undefined;
  protected readonly losses: PendingLosses;

  constructor(state: PsnSpaceState) {
    this.state = state;
    this.losses = new PendingLosses(this);
  }

  abstract get sender(): 0 | 1;

  /** The identifications of the sender: all its packets share one counter. */
  protected get ids(): IpIdOrder {
    return this.state.conversation.end(this.sender).ids;
  }

  abstract get counts(): PacketCounts;
  abstract get memory(): PacketMemory;
  abstract get damaged(): DamagedPsns;
  protected abstract get holes(): Holes;
  /** Why the sender would retransmit from this PSN now; undefined when there is no cause. */
  protected abstract triggerOf(facts: MutableFacts, psn: number): RetransmissionTrigger | undefined;
  /** The trigger that is reported where `triggerOf` has none. */
  protected fallbackTrigger(_facts: MutableFacts, _psn: number): RetransmissionTrigger {
    return UNKNOWN_TRIGGER;
  }

  protected isRequestedAgain(hole: Hole): boolean {
    return hole.requestedAgain;
  }

  /** A run of retransmissions begins: reports what belongs to its trigger. */
  protected abstract onRunStart(facts: MutableFacts, psn: number, trigger: RetransmissionTrigger): void;
  /** Whether the peer asked for this very packet, which it lacked then. */
  isNamed(psn: number): boolean {
    const { requester, askedPsn, askedResponse } = this.state;
    return psn === (this.sender === requester ? askedPsn : askedResponse);
  }

  /** A run of retransmissions ended: reports what is certain only now. */
  protected onRunEnd(_run: RetransmissionRun): void {}

  /** Whether what looked like a run of retransmissions was one packet that came late, after its retransmission. */
  protected isLateAlone(_run: RetransmissionRun): boolean {
    return false;
  }

  /** Whether this packet counts as lost, or may have to. */
  protected isLost(psn: number): boolean {
    return this.losses.isCounted(psn);
  }

  /** No retransmission comes so soon after what asked for this packet. */
  protected isTooSoon(_facts: MutableFacts, _psn: number): boolean {
    return false;
  }

  /** A packet filled the hole that was seen at `openedNs`, and it was no retransmission. */
  protected onLate(_openedNs: number, _timeNs: number): void {}

  protected onLateOriginal(_psn: number, _timeNs: number): void {}

  /** A run goes on that another one seemed to have replaced, of which nothing is true but its packet. */
  protected onRunResumed(_run: RetransmissionRun, _instead: RetransmissionRun): void {}
}
