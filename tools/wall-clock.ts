/** Gives monotonic times a date: captures carry the time of day, the wire's clock counts from anywhere. */

/** Says what time of day a time in nanoseconds is. */
export interface Clock {
  at(timeNs: number): { seconds: number; nanoseconds: number };
}

export class WallClock implements Clock {
  readonly #startMs = Date.now();
  #startNs = -1;

  /** The time of day of a monotonic time; the first one asked for counts as the moment this clock was made. */
  at(timeNs: number): { seconds: number; nanoseconds: number } {
    if (this.#startNs < 0) this.#startNs = timeNs;
    const sinceMs = Math.floor((timeNs - this.#startNs) / 1e6);
    const wallMs = this.#startMs + sinceMs;
    const restNs = Math.floor(timeNs - this.#startNs - sinceMs * 1e6);
    return { seconds: Math.floor(wallMs / 1000), nanoseconds: (wallMs % 1000) * 1e6 + restNs };
  }
}
