/**
 * What a tracker has seen and not reported yet: a loss, a late packet, a run of retransmissions.
 *
 * Owns their shapes. Decides nothing. All of a kind are made by one literal: what is spread from another object may
 * have a hidden class of its own, which costs more than all the rest that is done about a lost packet.
 */

import type { TransportEvent, TransportEventReason } from '../types.ts';
import type { IpIdOrder } from './id-order.ts';
import type { MutableFacts } from './mutable-facts.ts';
import type { PendingNak } from './outdated-naks.ts';

/** Why packets are retransmitted. Its fields are those of the event. */
export interface RetransmissionTrigger {
  readonly cause: NonNullable<TransportEvent['cause']>;
  readonly refersTo: number;
  readonly durationNs: number;
  readonly reason: TransportEventReason | undefined;
}

/** The requester waited in vain. */
export function isTimeout({ cause, reason }: RetransmissionTrigger): boolean {
  return cause === 'timeout' || reason === 'after-timeout';
}

export interface PendingReport {
  readonly psn: number;
  /** The PSN behind it. */
  to: number;
  /** Packets; a READ is one, though it takes many PSNs. */
  count: number;
  readonly frame: number;
  readonly timeNs: number;
  readonly refersTo: number;
  readonly durationNs: number;
}

export interface PendingLoss extends PendingReport {
  /** When the hole was seen. */
  readonly openedNs: number;
  /** Its first packet was asked for by its PSN; no other one is in the same report. */
  readonly named: boolean;
}

/** The run is nothing but what filled a hole after a NAK, and no identification tells what that was. */
export function isFillAfterNak(
  run: RetransmissionRun | undefined,
  loss: PendingLoss | undefined,
  ids: IpIdOrder,
): boolean {
  return !ids.isUsable && run?.trigger.cause === 'nak' && run.psn === loss?.psn && run.count === loss.count;
}

/**
 * The last packet of a run that no NAK caused, up to `to`, comes once more for a NAK: the sender goes back for that as
 * well, or one of the two is the original.
 */
export function isLastAgain(
  run: RetransmissionRun | undefined,
  { cause }: RetransmissionTrigger,
  to: number,
): run is RetransmissionRun {
  return cause === 'nak' && run !== undefined && run.trigger.cause !== 'nak' && run.cursor === to;
}

/**
 * A sender that goes back for this NAK begins long before `psn`: with the last packet of a run it does not, unless all
 * in between is lost.
 */
export function isFarFromNak({ cause }: RetransmissionTrigger, nak: PendingNak | undefined, psn: number): boolean {
  return cause === 'nak' && nak !== undefined && nak.psn < psn - 1;
}

/** One packet alone, which nothing caused: where it was missing, the original or its retransmission came late. */
export function isStraggler({ trigger, count }: RetransmissionRun, ids: IpIdOrder): boolean {
  return !ids.isUsable && trigger.cause === 'unknown' && count === 1;
}

/** Behind a named packet of several PSNs nobody could tell the next one. */
export function isExtensible({ named, psn, to, count }: PendingLoss): boolean {
  return !named || to - psn === count;
}

/** The loss without the packet of `psn`: what is before it, and what is behind it; undefined where there is nothing. */
export function lossWithout(loss: PendingLoss, psn: number): (PendingLoss | undefined)[] {
  const behind = Math.min(loss.to - psn - 1, loss.count - 1);
  const before = loss.count - behind - 1;
  return [
    before > 0 ? lossOf(loss, loss.psn, psn, before, loss.named) : undefined,
    behind > 0 ? lossOf(loss, psn + 1, loss.to, behind, false) : undefined,
  ];
}

function lossOf(
  { frame, timeNs, refersTo, durationNs, openedNs }: PendingLoss,
  psn: number,
  to: number,
  count: number,
  named: boolean,
): PendingLoss {
  return pendingLoss({ psn, to, count, frame, timeNs, refersTo, durationNs }, durationNs, openedNs, named);
}

export interface RetransmissionRun extends PendingReport {
  readonly trigger: RetransmissionTrigger;
  /** The next PSN of the run. */
  cursor: number;
  /** Time and identification of its last packet. */
  lastNs: number;
  lastId: number;
  /** Its first packet had been acknowledged. */
  readonly acknowledged: boolean;
  /** Its cause is reported when it ends, unless it was one late packet. */
  causeIsOpen: boolean;
}

/** A run as an event. */
export interface RunDetails extends RetransmissionTrigger {
  readonly psn: number;
  readonly count: number;
  readonly frame: number;
  readonly timeNs: number;
}

/** One packet that takes `psnCount` PSNs. */
export function pendingReport(
  facts: MutableFacts,
  psn: number,
  psnCount: number,
  refersTo: number,
  durationNs: number,
): PendingReport {
  return { psn, to: psn + psnCount, count: 1, frame: facts.packet.number, timeNs: facts.timeNs, refersTo, durationNs };
}

/** What is reported of a run, or of its first packet. */
export function runDetails({ psn, frame, timeNs, trigger }: RetransmissionRun, count: number): RunDetails {
  const { cause, refersTo, durationNs, reason } = trigger;
  return { cause, refersTo, durationNs, reason, psn, count, frame, timeNs };
}

/** A loss that begins with what is in `first`, which lasts for `durationNs`. */
export function pendingLoss(
  { psn, to, count, frame, timeNs, refersTo }: PendingReport,
  durationNs: number,
  openedNs: number,
  named: boolean,
): PendingLoss {
  return { psn, to, count, frame, timeNs, refersTo, durationNs, openedNs, named };
}

/** A run that begins with what is in `first`. */
export function newRun(
  first: PendingReport,
  trigger: RetransmissionTrigger,
  { timeNs: lastNs, ipId: lastId }: MutableFacts,
  acknowledged: boolean,
): RetransmissionRun {
  return {
    psn: first.psn,
    to: first.to,
    count: first.count,
    frame: first.frame,
    timeNs: first.timeNs,
    refersTo: first.refersTo,
    durationNs: first.durationNs,
    trigger,
    cursor: first.to,
    lastNs,
    lastId,
    acknowledged,
    causeIsOpen: false,
  };
}

/** Nothing that was captured caused it. */
export const UNKNOWN_TRIGGER: RetransmissionTrigger = {
  cause: 'unknown',
  refersTo: -1,
  durationNs: -1,
  reason: undefined,
};
