/**
 * What a simulation of one variant gave, as the rest of `roce sim` sees it: plain data that crosses threads. Owns the
 * types alone; `engine.ts` makes one of what `simulate` returns.
 */
import type { Quantity, Scalar } from '../scenario/figures.ts';

export interface RunOutcome {
  readonly endNs: number;
  /** Counts of the event queue, for measuring speed. */
  readonly events: number;
  readonly flows: readonly FlowOutcome[];
  readonly series: readonly OutcomeSeries[];
  /** Queues over the window, looked at far more often than they are drawn. */
  readonly queues: readonly QueueSummary[];
  /** What is counted over the whole run and not made of `flows`. */
  readonly counts: Readonly<Partial<Record<Scalar, number>>>;
}

export interface FlowOutcome {
  readonly group: string;
  readonly src: number;
  readonly dst: number;
  /** Infinity: until the end of the run; null where it has been through JSON. */
  readonly bytes: number;
  readonly startNs: number;
  /** Absent: it has not ended well. */
  readonly fctNs?: number;
  readonly slowdown?: number;
  readonly deliveredBytes: number;
  readonly goodputBps: number;
  /** Within the window of the scenario, where it has one. */
  readonly windowBps?: number;
  /** 'done', 'running', 'stopped', 'waiting', or why it failed. */
  readonly status: string;
}

export interface QueueSummary {
  readonly port: string;
  readonly mean: number;
  readonly stddev: number;
  readonly p5: number;
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

/** What is drawn over time. */
export type OutcomeSeriesKind =
  | Extract<Quantity, 'queueBytes' | 'rateBps' | 'alpha'>
  | 'targetRateBps'
  | 'cnps'
  | 'pauses';

export interface OutcomeSeries {
  readonly kind: OutcomeSeriesKind;
  /** What it belongs to: a port, `switch0:3`; a flow, by its place in `flows`; or the whole run. */
  readonly of: string | number;
  /** Ascending, in nanoseconds. */
  readonly times: readonly number[];
  /** As many. */
  readonly values: readonly number[];
}
