/**
 * The seam of congestion control: called by a queue pair before and after it sends. One implementation for each
 * way to react (`make-controller.ts`). Sans I/O and without a timer: `now` is an argument in integer nanoseconds that
 * never goes back, and what would have happened since the last call is caught up with the next call.
 */

/** Decides how fast one queue pair may send. */
export interface RateController {
  /**
   * Bits a second that may leave from `now` on; Infinity while nothing holds the flow back, so that a flow without a
   * limit costs nothing.
   */
  rateBps(now: number): number;
  /** A frame of `bytes`, from the first byte of its link header to the ICRC, has left. */
  sent(now: number, bytes: number): void;
  /** The network is congested: a notification for this flow arrived. */
  notified(now: number): void;
  /**
   * For traces and plots, as of the last call: the rate in bits a second, which is the line rate when there is no
   * limit.
   */
  readonly currentRateBps: number;
  /** The rate that recovery is heading for, in bits a second. */
  readonly targetRateBps: number;
  /** Estimate of the share of packets that meet congestion, 0..1; 0 where the algorithm has none. */
  readonly alpha: number;
}

/** Where a controller stands, as plain data; fields as in `RateController`. */
export interface RateState {
  /** Bits a second that may leave now; the line rate where there is no limit. */
  readonly rateBps: number;
  /** Bits a second that recovery is heading for. */
  readonly targetRateBps: number;
  /** Estimate of congestion, 0..1. */
  readonly alpha: number;
}

/** Where `controller` stands at `now`. */
export function rateState(controller: RateController, now: number): RateState {
  controller.rateBps(now);
  const { currentRateBps, targetRateBps, alpha } = controller;
  return { rateBps: currentRateBps, targetRateBps, alpha };
}
