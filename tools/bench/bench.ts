/**
 * A bench compares a figure of ours with its peer or its bound, both measured in the same run, in short turns, so that
 * other load on the machine affects both. Owns the measuring and the row; depends on no bench.
 */

export interface BenchSettings {
  /** Repetitions of each side; the median counts. */
  readonly rounds: number;
  /** How much of the usual work to do: 1, or far less to see that a bench runs at all. */
  readonly scale: number;
}

export interface Goal {
  /** Whether the ratio should be at least or at most `ratio`. */
  readonly sense: '>=' | '<=';
  readonly ratio: number;
}

export interface BenchRow {
  readonly name: string;
  /** Ours, in `unit`. */
  readonly value: number;
  readonly unit: string;
  /** What it is compared with. */
  readonly peer: string;
  /** The peer's, in `unit`. */
  readonly peerValue: number;
  /** `value / peerValue`; the median of the rounds' ratios. */
  readonly ratio: number;
  /** ">= 50"; empty when the figure has no goal. */
  readonly goal: string;
  /** Whether the goal is met; null when there is none. */
  readonly met: boolean | null;
  /** What `value` consists of, where that is known. */
  readonly parts?: readonly BenchPart[];
}

/** A part of a figure, in its unit. */
export interface BenchPart {
  readonly name: string;
  readonly value: number;
}

/** A bench that could not run here. */
export interface SkippedBench {
  readonly name: string;
  /** A sentence. */
  readonly skipped: string;
}

export interface Bench {
  readonly name: string;
  readonly title: string;
  run(settings: BenchSettings): Promise<BenchRow | SkippedBench>;
}

/** What a bench measures: a run of either side returns one figure, both in the same unit. */
export interface BenchSides {
  readonly unit: string;
  readonly peer: string;
  readonly goal?: Goal;
  ours(): number | Promise<number>;
  theirs(): number | Promise<number>;
}

/** Runs both sides once unmeasured, then in turns; medians of the rounds. */
export async function contest(name: string, { rounds }: BenchSettings, sides: BenchSides): Promise<BenchRow> {
  const ours: number[] = [];
  const theirs: number[] = [];
  await sides.ours();
  await sides.theirs();
  for (let round = 0; round < rounds; round++) {
    ours.push(await sides.ours());
    theirs.push(await sides.theirs());
  }
  return rowFrom(name, sides, ours, theirs);
}

/** A row from the figures of both sides, one of each a round. */
export function rowFrom(
  name: string,
  { unit, peer, goal }: Pick<BenchSides, 'unit' | 'peer' | 'goal'>,
  ours: readonly number[],
  theirs: readonly number[],
): BenchRow {
  const ratio = median(ours.map((value, round) => value / (theirs[round] ?? Number.NaN)));
  return {
    name,
    value: median(ours),
    unit,
    peer,
    peerValue: median(theirs),
    ratio,
    goal: goal === undefined ? '' : `${goal.sense} ${goal.ratio}`,
    met: goal === undefined ? null : goal.sense === '>=' ? ratio >= goal.ratio : ratio <= goal.ratio,
  };
}

/** Of at least one value; the mean of the middle two for an even count. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const high = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? high : ((sorted[middle - 1] ?? Number.NaN) + high) / 2;
}

/** How long `work` takes, in seconds. */
export function secondsOf(work: () => void): number {
  const began = performance.now();
  work();
  return (performance.now() - began) / 1000;
}

/** `count` scaled and whole, at least `least`. */
export function scaled(count: number, { scale }: BenchSettings, least = 1): number {
  return Math.max(least, Math.round(count * scale));
}
