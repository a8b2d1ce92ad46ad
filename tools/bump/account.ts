/**
 * The record of a bump, as data for a JSON file. Owns the shape.
 * Times are `seconds.nanoseconds` since 1970 as text: what `frame.time_epoch` is in Wireshark, and more digits than a
 * double has.
 */
import type { FaultDirection, NotifierCounters, PathCounters, WireFaults, WireRule } from 'rocev2/faults';

export interface BumpAccount {
  readonly seed: number;
  /** Names of the two links. */
  readonly a: string;
  readonly b: string;
  readonly started: string;
  readonly ended: string;
  /** Why it ended, when it did so by itself: a link was lost. */
  readonly error?: string;
  /** The capture whose frame numbers the events name; absent when there was none. */
  readonly capture?: string;
  /** Why the capture ends before the bump did; absent: it does not. */
  readonly captureError?: string;
  readonly faults: WireFaults;
  readonly rules: readonly RuleAccount[];
  readonly directions: Readonly<Record<FaultDirection, DirectionAccount>>;
  /** What came of packets that were marked, by their direction; absent without a notifier. */
  readonly notifications?: Readonly<Record<FaultDirection, Readonly<NotifierCounters>>>;
  /** In the order in which they were seen. */
  readonly connections: readonly ConnectionAccount[];
  /**
   * Everything that was done to a frame, in the order in which it was decided: when the frame came in, or when it left
   * the queue for a rate.
   */
  readonly events: readonly EventAccount[];
  /** Events that are missing above because there were too many. */
  readonly eventsOmitted: number;
}

export interface RuleAccount {
  readonly name: string;
  readonly rule: WireRule;
  /** Frames for which all conditions held but `nth`, `every`, `probability` and `times`. */
  readonly matches: number;
  readonly applied: number;
  /** Frames to which the action could not be done: not ECN-capable, no such field, no such bit. */
  readonly impossible: number;
}

/** Frames of one direction, by outcome. */
export type DirectionAccount = Readonly<PathCounters>;

/** The outcomes of a frame, in the order of a table. */
export const FRAME_FATES = [
  'forwarded',
  'dropped',
  'duplicated',
  'delayed',
  'reordered',
  'corrupted',
  'marked',
  'notified',
  'rewritten',
  'overflow',
  'oversize',
] as const satisfies readonly (keyof DirectionAccount)[];

export interface ConnectionAccount {
  readonly connection: number;
  /** Learned from connection management, or from the traffic. */
  readonly learnt: 'cm' | 'traffic';
  readonly a: EndAccount;
  readonly b: EndAccount;
}

export interface EndAccount {
  readonly address: string;
  /** Absent: not seen. */
  readonly qpn?: number;
  /** The first PSN of requests from this end; absent: it has sent none, and none was announced. */
  readonly startingPsn?: number;
}

export interface EventAccount {
  readonly time: string;
  readonly direction: FaultDirection;
  /** Numbers in the capture: `frame.number == N`. `out` has one for each copy that left; empty when it was dropped. */
  readonly in?: number;
  readonly out?: readonly number[];
  /** Of a congestion notification: number of the frame it is about, as it came in. */
  readonly about?: number;
  /** What was done, in words, as in the comment. */
  readonly action: string;
  /** Names of the rules that did it; none when it was done by chance. */
  readonly rules: readonly string[];
  /** Name of the opcode; absent for a frame that is not RoCE, as all below. */
  readonly opcode?: string;
  readonly qpn?: number;
  readonly psn?: number;
  readonly connection?: number;
  readonly sourceQpn?: number;
  readonly relativePsn?: number;
  readonly iteration?: number;
}
