/**
 * Values over time that never take more room than they were given: when there are too many points, every second one
 * goes, and from then on only every second one comes. So points stay at equal distances, the first stays, and a short
 * peak between two points may be missed. Owns the points; `probes.ts` decides when to sample.
 */
import type { ProbeSeries, QueueStats, SeriesKind } from './options.ts';
import { quantileOfSorted } from './statistics.ts';

/** Records a series. */
export class SeriesRecorder implements ProbeSeries {
  readonly kind: SeriesKind;
  readonly of: string;
  readonly unit: string;
  readonly times: number[] = [];
  readonly values: number[] = [];
  readonly #maxPoints: number;
  #every = 1;
  #skip = 0;

  constructor(kind: SeriesKind, of: string, unit: string, maxPoints: number) {
    this.kind = kind;
    this.of = of;
    this.unit = unit;
    // Even, so that the point after the last one that goes is one to keep.
    this.#maxPoints = maxPoints - (maxPoints % 2);
  }

  add(time: number, value: number): void {
    if (this.#skip > 0) {
      this.#skip--;
      return;
    }
    if (this.times.length === this.#maxPoints) {
      keepEverySecond(this.times);
      keepEverySecond(this.values);
      this.#every *= 2;
    }
    this.times.push(time);
    this.values.push(value);
    this.#skip = this.#every - 1;
  }

  /** As plain data. */
  take(): ProbeSeries {
    const { kind, of, unit, times, values } = this;
    return { kind, of, unit, times, values };
  }
}

/** Samples a queue at equal intervals. */
export class QueueMeter {
  readonly name: string;
  /** Bytes, of looks at equal distances. */
  readonly #kept: number[] = [];
  #every = 1;
  #skip = 0;
  #samples = 0;
  #sum = 0;
  #squares = 0;
  #max = 0;

  constructor(name: string) {
    this.name = name;
  }

  add(bytes: number): void {
    this.#samples++;
    this.#sum += bytes;
    this.#squares += bytes * bytes;
    if (bytes > this.#max) this.#max = bytes;
    if (this.#skip > 0) {
      this.#skip--;
      return;
    }
    if (this.#kept.length === MAX_KEPT) {
      keepEverySecond(this.#kept);
      this.#every *= 2;
    }
    this.#kept.push(bytes);
    this.#skip = this.#every - 1;
  }

  /** Statistics of the samples. */
  take(): QueueStats {
    const sorted = Float64Array.from(this.#kept).sort();
    const samples = this.#samples;
    const mean = samples === 0 ? 0 : this.#sum / samples;
    const variance = samples === 0 ? 0 : this.#squares / samples - mean * mean;
    const at = (q: number): number => (samples === 0 ? 0 : quantileOfSorted(sorted, q));
    return {
      name: this.name,
      samples,
      mean,
      deviation: Math.sqrt(Math.max(0, variance)),
      p5: at(0.05),
      p50: at(0.5),
      p95: at(0.95),
      max: this.#max,
    };
  }
}

function keepEverySecond(list: number[]): void {
  let to = 0;
  for (let from = 0; from < list.length; from += 2) list[to++] = list[from] ?? 0;
  list.length = to;
}

/** A power of two. */
const MAX_KEPT = 1 << 18;
