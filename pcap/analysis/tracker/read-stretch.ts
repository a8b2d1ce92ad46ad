/**
 * READ responses that come one right behind the other: an ACK or a NAK has to wait for them.
 *
 * Owns when the last stretch of these began and ended.
 */
export class ReadStretch {
  #firstNs = Number.NEGATIVE_INFINITY;
  #lastNs = Number.NEGATIVE_INFINITY;

  /** A response comes. */
  add(timeNs: number): void {
    if (timeNs - this.#lastNs >= HELD_UP_NS) this.#firstNs = timeNs;
    this.#lastNs = timeNs;
  }

  /** When an answer that comes at `timeNs` would have come at the earliest if it did not wait. */
  dueNs(timeNs: number): number {
    return timeNs - this.#lastNs < HELD_UP_NS ? this.#firstNs : timeNs;
  }
}

/** An ACK that had to wait for a READ response comes so soon behind it. */
const HELD_UP_NS = 2_000;
