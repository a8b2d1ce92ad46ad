/**
 * What a tracker has seen and not reported yet: a loss, a late packet, a run of retransmissions.
 *
 * Owns their shapes. Decides nothing.
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
    before > 0 ? { ...loss, to: psn, count: before } : undefined,
    behind > 0 ? { ...loss, psn: psn + 1, count: behind, named: false } : undefined,
  ];
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

/** A run that begins with what is in `first`. */
export function newRun(
  first: PendingReport,
  trigger: RetransmissionTrigger,
  { timeNs: lastNs, ipId: lastId }: MutableFacts,
  acknowledged: boolean,
): RetransmissionRun {
  return { ...first, trigger, cursor: first.to, lastNs, lastId, acknowledged, causeIsOpen: false };
}

/** Nothing that was captured caused it. */
export const UNKNOWN_TRIGGER: RetransmissionTrigger = {
  cause: 'unknown',
  refersTo: -1,
  durationNs: -1,
  reason: undefined,
};
