/**
 * Linear equations over bits: which subset of effects adds up to what was seen.
 *
 * Owns the elimination. An effect is a row of 32-bit words, one word for each packet of the sample. Contains nothing
 * about packets.
 */

/** The solution of `sum of chosen effects = target`. */
export interface Solution {
  /** Which effects are chosen; of several choices one. */
  readonly chosen: readonly boolean[];
  /** Whether there is only this choice. */
  readonly unique: boolean;
}

/** Solves it; undefined when no choice gives the target. */
export function solve(effects: readonly (readonly number[])[], target: readonly number[]): Solution | undefined {
  const basis: Reduced[] = [];
  for (const [index, effect] of effects.entries()) {
    const reduced = reduce(basis, { words: [...effect], chosen: new Set([index]), pivot: -1 });
    reduced.pivot = pivotOf(reduced.words);
    if (reduced.pivot >= 0) basis.push(reduced);
  }
  const rest = reduce(basis, { words: [...target], chosen: new Set(), pivot: -1 });
  if (pivotOf(rest.words) >= 0) return undefined;
  return {
    chosen: effects.map((_, index) => rest.chosen.has(index)),
    unique: basis.length === effects.length,
  };
}

interface Reduced {
  readonly words: number[];
  readonly chosen: Set<number>;
  /** Number of the first bit that is set: no other row of the basis has it first. */
  pivot: number;
}

/**
 * Adds rows of the basis until none of their pivots is left. Rows are in the order of creation, so a later row never
 * brings back an earlier pivot.
 */
function reduce(basis: readonly Reduced[], row: Reduced): Reduced {
  for (const { words, chosen, pivot } of basis) {
    if (!bitIsSet(row.words, pivot)) continue;
    for (const [index, word] of words.entries()) row.words[index] = ((row.words[index] ?? 0) ^ word) >>> 0;
    for (const index of chosen) if (!row.chosen.delete(index)) row.chosen.add(index);
  }
  return row;
}

function pivotOf(words: readonly number[]): number {
  const index = words.findIndex((word) => word !== 0);
  return index < 0 ? -1 : 32 * index + Math.clz32(words[index] ?? 0);
}

function bitIsSet(words: readonly number[], bit: number): boolean {
  return (((words[bit >> 5] ?? 0) >>> (31 - (bit & 31))) & 1) === 1;
}
