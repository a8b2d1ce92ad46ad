/**
 * What a responder makes of PSNs that no honest peer would send: how far from the expected one they may be, how many of
 * them still draw an answer, and when there are so many that somebody must be guessing (ref:hostile#SEC-01). A few
 * numbers for each queue pair, whatever comes; made with the first such PSN.
 */
import type { PortCounters } from './counters.ts';
import { MAX_PSN_WINDOW } from './defences.ts';

/** Answers to PSNs outside of the window: so many at once, and one more in each interval. */
const ANSWER_BURST = 8;
const ANSWER_INTERVAL_NS = 10_000_000;

/** So many PSNs outside of the window within this time are an alarm (ref:hostile#SEC-01). */
const ALARM_PSNS = 4096;
const ALARM_NS = 1_000_000_000;

/** A READ that was executed shows what the peer may have outstanding: so many of its like. */
const READS_AHEAD = 4;

/** How far from the expected PSN a peer may be that has READs of so many response packets outstanding. */
export function reachOfRead(packets: number): number {
  return Math.min(READS_AHEAD * packets, MAX_PSN_WINDOW);
}

export class PsnGuard {
  readonly #counters: PortCounters;
  /** PSNs of a READ of this connection make the window at least so wide. */
  #reach = 0;
  /** The answers given are those of the intervals up to this time. */
  #answeredUntil = 0;
  #countedFrom = 0;
  #counted = 0;

  constructor(counters: PortCounters) {
    this.#counters = counters;
  }

  /** A READ was executed that makes the window so wide. */
  widen(reach: number): void {
    if (reach > this.#reach) this.#reach = reach;
  }

  /** Whether a PSN so far `away` from the expected one, beyond the plain window, is outside; counts it if so. */
  isOutside(now: number, away: number): boolean {
    if (away <= this.#reach) return false;
    this.#counters.psnOutsideWindow += 1;
    if (now - this.#countedFrom >= ALARM_NS) {
      this.#countedFrom = now;
      this.#counted = 0;
    }
    this.#counted += 1;
    if (this.#counted === ALARM_PSNS) this.#counters.psnAlarm += 1;
    return true;
  }

  /** Whether an answer is left for a PSN outside of the window; takes it. */
  takeAnswer(now: number): boolean {
    const from = Math.max(this.#answeredUntil, now);
    if (from - now > (ANSWER_BURST - 1) * ANSWER_INTERVAL_NS) return false;
    this.#answeredUntil = from + ANSWER_INTERVAL_NS;
    return true;
  }
}
