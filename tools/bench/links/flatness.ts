/** Whether memory is flat: a rule on samples over time, and nothing else. */

export interface Sample {
  readonly seconds: number;
  readonly bytes: number;
}

export interface Flatness {
  /** How far the line through the samples that count, by least squares, rises from the first of them to the last. */
  readonly riseMib: number;
  /** Largest less smallest of the samples that count. */
  readonly spreadMib: number;
  readonly flat: boolean;
}

/**
 * The last four fifths of the samples count: what grows at first are caches and compiled code. Flat is what rises by no
 * more than `MAX_RISE_MIB` in all, which is 1 MiB a minute in a run of ten minutes, and stays within `MAX_SPREAD_MIB`.
 * The longer the run, the smaller the leak that shows.
 */
export function flatness(samples: readonly Sample[]): Flatness {
  const counted = samples.slice(Math.floor(samples.length / 5));
  const [first, last] = [counted[0], counted[counted.length - 1]];
  if (first === undefined || last === undefined) return { riseMib: 0, spreadMib: 0, flat: true };
  const riseMib = (slope(counted) * (last.seconds - first.seconds)) / MIB;
  const bytes = counted.map((sample) => sample.bytes);
  const spreadMib = (Math.max(...bytes) - Math.min(...bytes)) / MIB;
  return { riseMib, spreadMib, flat: riseMib <= MAX_RISE_MIB && spreadMib <= MAX_SPREAD_MIB };
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
export const MAX_RISE_MIB = 8;
export const MAX_SPREAD_MIB = 32;
