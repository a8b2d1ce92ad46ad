/**
 * Polynomials with real coefficients, as far as a transfer function needs them: sum, product, value on the imaginary
 * axis, positive roots. Owns no physics. A polynomial is the list of its coefficients, the constant first.
 */
import { bisect } from './bisect.ts';

/** Coefficients, that of the power 0 first. */
export type Polynomial = readonly number[];

/** The sum of all. */
export function sum(...terms: readonly Polynomial[]): Polynomial {
  const length = Math.max(...terms.map((term) => term.length));
  return Array.from({ length }, (_, power) => terms.reduce((total, term) => total + (term[power] ?? 0), 0));
}

/** The product of all. */
export function product(...factors: readonly Polynomial[]): Polynomial {
  return factors.reduce(multiply, [1]);
}

/** The value at a real `x`. */
export function valueAt(polynomial: Polynomial, x: number): number {
  return polynomial.reduceRight((total, coefficient) => total * x + coefficient, 0);
}

/** The angle of the value at i w, in radians, -pi..pi. */
export function angleAt(polynomial: Polynomial, w: number): number {
  const [even, odd] = halves(polynomial);
  return Math.atan2(w * valueAt(odd, w * w), valueAt(even, w * w));
}

/** |P(i w)|^2, as a polynomial in w^2: even and odd powers of i w are its real and its imaginary part. */
export function squaredMagnitude(polynomial: Polynomial): Polynomial {
  const [even, odd] = halves(polynomial);
  return sum(multiply(even, even), multiply([0, 1], multiply(odd, odd)));
}

/**
 * Every x > 0 at which the sign changes, ascending. Between two turning points, which are zeros of the derivative,
 * there is one at most.
 */
export function signChanges(polynomial: Polynomial): readonly number[] {
  const degree = polynomial.findLastIndex((coefficient) => coefficient !== 0);
  if (degree < 1) return [];
  const derivative = polynomial.slice(1, degree + 1).map((coefficient, power) => coefficient * (power + 1));
  const leading = polynomial[degree] ?? 1;
  const beyondAll = 1 + Math.max(...polynomial.slice(0, degree).map((coefficient) => Math.abs(coefficient / leading)));
  const ends = [0, ...signChanges(derivative), beyondAll];
  return ends.slice(1).flatMap((high, index) => {
    const low = ends[index] ?? 0;
    const atLow = valueAt(polynomial, low);
    const atHigh = valueAt(polynomial, high);
    if (atLow < 0 && atHigh > 0) return [bisect((x) => valueAt(polynomial, x), low, high)];
    if (atLow > 0 && atHigh < 0) return [bisect((x) => -valueAt(polynomial, x), low, high)];
    return [];
  });
}

/** i^(2k) is (-1)^k: the coefficients, in powers of w^2, of P(i w) = even + i w odd. */
function halves(polynomial: Polynomial): readonly [even: Polynomial, odd: Polynomial] {
  const signed = (rest: 0 | 1) =>
    polynomial
      .filter((_, power) => power % 2 === rest)
      .map((coefficient, half) => (half % 2 === 0 ? coefficient : -coefficient));
  return [signed(0), signed(1)];
}

function multiply(left: Polynomial, right: Polynomial): Polynomial {
  const result = new Array<number>(Math.max(0, left.length + right.length - 1)).fill(0);
  left.forEach((a, i) => {
    right.forEach((b, j) => {
      result[i + j] = (result[i + j] ?? 0) + a * b;
    });
  });
  return result;
}
