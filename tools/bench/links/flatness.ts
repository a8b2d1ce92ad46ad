/** Whether memory is flat: a rule on samples over time, and nothing else. */

export interface Sample {
  readonly seconds: number;
  readonly bytes: number;
}

export interface Flatness {
  /** Of the line through the samples that count, by least squares. */
  readonly slopeMibPerMin: number;
  /** Largest less smallest of the samples that count. */
  readonly spreadMib: number;
  readonly flat: boolean;
}

/**
 * The last four fifths of the samples count: what grows at first are caches and compiled code. Flat is what grows by no more than
 * `MAX_SLOPE_MIB_PER_MIN` and stays within `MAX_SPREAD_MIB`. Fewer than two samples that count are flat.
 */
export function flatness(samples: readonly Sample[]): Flatness {
  const counted = samples.slice(Math.floor(samples.length / 5));
  const slopeMibPerMin = (slope(counted) * 60) / MIB;
  const bytes = counted.map((sample) => sample.bytes);
  const spreadMib = counted.length === 0 ? 0 : (Math.max(...bytes) - Math.min(...bytes)) / MIB;
  return { slopeMibPerMin, spreadMib, flat: slopeMibPerMin <= MAX_SLOPE_MIB_PER_MIN && spreadMib <= MAX_SPREAD_MIB };
}

/** Bytes a second. */
function slope(samples: readonly Sample[]): number {
  const mean = (of: (sample: Sample) => number): number =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
  const [middle, level] = [mean(({ seconds }) => seconds), mean(({ bytes }) => bytes)];
  let [covariance, variance] = [0, 0];
  for (const { seconds, bytes } of samples) {
    covariance += (seconds - middle) * (bytes - level);
    variance += (seconds - middle) ** 2;
  }
  return variance === 0 ? 0 : covariance / variance;
}

const MIB = 0x10_00_00;
export const MAX_SLOPE_MIB_PER_MIN = 1;
export const MAX_SPREAD_MIB = 32;
