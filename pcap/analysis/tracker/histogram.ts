/**
 * A histogram of durations with buckets that are 3 % wide, so that any number of durations takes a few kilobytes at
 * most.
 *
 * Owns counting and percentiles: 32 buckets for each power of two, exact below 32 ns. It grows only as far as its
 * largest value needs.
 */
import type { LatencyReport } from '../types.ts';

export class Histogram {
  count = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = 0;
  #sum = 0;
  /** The first few durations as they are; most connections of a large capture have no more. */
  #few: number[] | undefined = [];
  #buckets = NO_BUCKETS;

  /** Infinity when there are none. */
  get shortestNs(): number {
    return this.#min;
  }

  /** Counts a duration in nanoseconds; what is negative (a capture whose clock went back) counts as 0. */
  add(durationNs: number): void {
    const value = Math.max(durationNs, 0);
    if (this.#few !== undefined && this.#few.length < FEW) this.#few.push(value);
    else {
      this.#spread();
      this.#put(value);
    }
    this.count++;
    this.#sum += value;
    if (value < this.#min) this.#min = value;
    if (value > this.#max) this.#max = value;
  }

  /** The smallest duration such that `share`, 0..1, of all are not longer, within 3 %; 0 when there are none. */
  percentile(share: number): number {
    if (this.count === 0) return 0;
    const wanted = Math.max(1, Math.ceil(share * this.count));
    if (this.#few !== undefined) return [...this.#few].sort((a, b) => a - b)[wanted - 1] ?? 0;
    let seen = 0;
    for (let bucket = 0; bucket < this.#buckets.length; bucket++) {
      seen += this.#buckets[bucket] ?? 0;
      if (seen >= wanted) return Math.min(this.#max, Math.max(this.#min, middleOf(bucket)));
    }
    return this.#max;
  }

  /** The shortest duration that comes again: `repeats` times or more within 6 %; -1 when none does. */
  shortestRepeated(repeats: number): number {
    this.#spread();
    for (let bucket = 0; bucket < this.#buckets.length; bucket++) {
      const here = this.#buckets[bucket] ?? 0;
      if (here > 0 && here + (this.#buckets[bucket + 1] ?? 0) >= repeats) return Math.max(this.#min, middleOf(bucket));
    }
    return -1;
  }

  report(): LatencyReport {
    if (this.count === 0) return NO_LATENCY;
    return {
      count: this.count,
      minNs: this.#min,
      p50Ns: this.percentile(0.5),
      p99Ns: this.percentile(0.99),
      maxNs: this.#max,
      meanNs: Math.round(this.#sum / this.count),
    };
  }

  /** Puts the first few into buckets. */
  #spread(): void {
    const few = this.#few;
    if (few === undefined) return;
    this.#few = undefined;
    for (const value of few) this.#put(value);
  }

  #put(value: number): void {
    const bucket = bucketOf(value);
    if (bucket >= this.#buckets.length) this.#grow(bucket);
    this.#buckets[bucket] = (this.#buckets[bucket] as number) + 1;
  }

  #grow(bucket: number): void {
    const buckets = new Uint32Array(Math.max(64, Math.ceil((bucket + 1) / 64) * 64));
    buckets.set(this.#buckets);
    this.#buckets = buckets;
  }
}

/** What the report of an empty histogram is. */
export const NO_LATENCY: LatencyReport = { count: 0, minNs: 0, p50Ns: 0, p99Ns: 0, maxNs: 0, meanNs: 0 };

/** The report of a histogram that is made when the first duration comes. */
export function latencyOf(histogram: Histogram | undefined): LatencyReport {
  return histogram?.report() ?? NO_LATENCY;
}

function bucketOf(value: number): number {
  if (value < PER_OCTAVE) return Math.floor(value);
  let shifted = value;
  let octave = 0;
  // Durations beyond four seconds do not fit 32-bit operations.
  for (; shifted >= 0x80_00_00_00; octave += 16) shifted = Math.floor(shifted / 0x1_00_00);
  const bits = 31 - Math.clz32(shifted);
  const shift = bits - OCTAVE_BITS;
  return (octave + shift) * PER_OCTAVE + (shifted >>> shift);
}

function middleOf(bucket: number): number {
  if (bucket < 2 * PER_OCTAVE) return bucket;
  const shift = Math.floor(bucket / PER_OCTAVE) - 1;
  return Math.floor((PER_OCTAVE + (bucket % PER_OCTAVE) + 0.5) * 2 ** shift);
}

const NO_BUCKETS = new Uint32Array(0);
const FEW = 16;
const OCTAVE_BITS = 5;
const PER_OCTAVE = 32;
