/**
 * Where a function crosses zero, between two points of which it is known to have different signs.
 * Owns the halving: slower than Newton's method, and it cannot miss, run off or depend on a first guess.
 */
import { invariant } from '../../../packets/errors.ts';

/**
 * The zero of `f` in [low, high], both finite, to the last bit; f(low) <= 0 <= f(high), and Infinity counts as a sign.
 */
export function bisect(f: (x: number) => number, low: number, high: number): number {
  invariant(f(low) <= 0 && f(high) >= 0, 'the ends of the interval enclose a zero');
  let below = low;
  let above = high;
  for (let halvings = 0; halvings < MAX_HALVINGS; halvings++) {
    const middle = below + (above - below) / 2;
    if (middle <= below || middle >= above) break;
    if (f(middle) < 0) below = middle;
    else above = middle;
  }
  return above;
}

/** Enough to go from the whole range of a double to two neighbours. */
const MAX_HALVINGS = 2200;
