/** How often something was so, how often it was told, and how often rightly. Owns the sums and the shares. */

/** What is counted. */
export interface Share {
  /** So it was. */
  real: number;
  /** Of these, told. */
  found: number;
  /** Told without being so. */
  falsely: number;
}

export function noShare(): Share {
  return { real: 0, found: 0, falsely: 0 };
}

/** Adds what is told, each once, to what is so. */
export function compare(real: ReadonlySet<number>, told: ReadonlySet<number>, into: Share): void {
  into.real += real.size;
  for (const each of told) {
    if (real.has(each)) into.found++;
    else into.falsely++;
  }
}

/** The sum of two. */
export function addShare(one: Share, other: Share): Share {
  return { real: one.real + other.real, found: one.found + other.found, falsely: one.falsely + other.falsely };
}

/** Of what is told, the share that is so; undefined where nothing is told. */
export function precisionOf({ found, falsely }: Share): number | undefined {
  return found + falsely === 0 ? undefined : found / (found + falsely);
}

/** Of what is so, the share that is told; undefined where nothing is. */
export function recallOf({ real, found }: Share): number | undefined {
  return real === 0 ? undefined : found / real;
}
