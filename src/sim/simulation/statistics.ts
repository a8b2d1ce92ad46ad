/** Numbers that sum up many: fairness, quantiles. Pure functions of lists. */

/** Jain's fairness index, (sum x)^2 / (n sum x^2): 1 when all are alike, 1/n when one has everything. 1 for none. */
export function jainIndex(values: readonly number[]): number {
  let sum = 0;
  let squares = 0;
  for (const value of values) {
    sum += value;
    squares += value * value;
  }
  return squares === 0 ? 1 : (sum * sum) / (values.length * squares);
}

/**
 * The value below which the share `q`, 0..1, of a list lies, with straight lines between neighbours; NaN for none.
 * Takes any order.
 */
export function quantile(values: readonly number[], q: number): number {
  return quantileOfSorted(
    [...values].sort((a, b) => a - b),
    q,
  );
}

/** The same of values that ascend. */
export function quantileOfSorted(sorted: ArrayLike<number>, q: number): number {
  if (sorted.length === 0) return Number.NaN;
  const at = q * (sorted.length - 1);
  const below = sorted[Math.floor(at)] ?? Number.NaN;
  const above = sorted[Math.ceil(at)] ?? below;
  return below + (above - below) * (at - Math.floor(at));
}

/** Mean; NaN for none. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
