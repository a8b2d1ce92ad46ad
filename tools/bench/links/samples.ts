/**
 * The two ways to measure: how long each round trip takes, and how many things happen a second. Owns the arithmetic;
 * depends on no peer.
 */
import type { Figures } from './protocol.ts';

/** Durations, collected without making garbage on the way. */
export class Samples {
  #values = new Float64Array(0x1_00_00);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  clear(): void {
    this.#count = 0;
  }

  /** In milliseconds, as `performance.now` counts. */
  add(value: number): void {
    if (this.#count === this.#values.length) {
      const larger = new Float64Array(this.#values.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#count++] = value;
  }

  /** Median and 99th percentile in microseconds. */
  figures(): Figures {
    const sorted = this.#values.slice(0, this.#count).sort();
    const at = (share: number): number => 1000 * (sorted[Math.floor(sorted.length * share)] ?? Number.NaN);
    return { p50: at(0.5), p99: at(0.99) };
  }
}

/** Things that happen between the first moment and the last, and when to begin no more of them. */
export class Interval {
  readonly #until: number;
  #first = -1;
  #last = 0;
  #count = 0;

  constructor(seconds: number) {
    this.#until = performance.now() + seconds * 1000;
  }

  /** Whether the time was not up at the last tick. */
  get running(): boolean {
    return this.#last < this.#until;
  }

  /**
   * `count` things have happened since the tick before. Those of the first tick happened before anything was measured.
   */
  tick(count: number): void {
    this.#last = performance.now();
    if (this.#first < 0) this.#first = this.#last;
    else this.#count += count;
  }

  /** Things a second; not a number when there was one tick only. */
  get rate(): number {
    return (this.#count * 1000) / (this.#last - this.#first);
  }
}
