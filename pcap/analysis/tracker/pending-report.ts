/**
 * What a tracker has seen and not reported yet: a loss, a late packet, a run of retransmissions.
 *
 * Owns their shapes. Decides nothing.
 */
import type { TransportEvent, TransportEventReason } from '../types.ts';
import type { MutableFacts } from './mutable-facts.ts';

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
}

export interface RetransmissionRun extends PendingReport {
  readonly trigger: RetransmissionTrigger;
  /** The next PSN of the run. */
  cursor: number;
  lastNs: number;
  /** Its first packet had been acknowledged. */
  readonly acknowledged: boolean;
  /** It is reported as a timeout when it ends, unless it was one late packet. */
  timeoutIsOpen: boolean;
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
  { timeNs: lastNs }: MutableFacts,
  acknowledged: boolean,
): RetransmissionRun {
  return { ...first, trigger, cursor: first.to, lastNs, acknowledged, timeoutIsOpen: false };
}

/** Nothing that was captured caused it. */
export const UNKNOWN_TRIGGER: RetransmissionTrigger = {
  cause: 'unknown',
  refersTo: -1,
  durationNs: -1,
  reason: undefined,
};
