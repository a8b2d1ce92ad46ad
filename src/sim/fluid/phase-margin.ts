/**
 * How far the control loop is from oscillation: the phase margin of the fluid model, linearised around its fixed point
 * (ref:dcqcn#5.4). Owns the transfer function of the open loop and its crossings of |H| = 1. Not valid for large
 * oscillations: integrate for those.
 */

import { approximateMarking } from './fixed-point.ts';
import { additiveIncreasesPerPacket, markedWithin, markingExponent } from './marking.ts';
import { type FluidParameters, inPackets } from './parameters.ts';
import { angleAt, type Polynomial, product, signChanges, squaredMagnitude, sum } from './polynomial.ts';

/** Where the gain of the open loop is 1. */
export interface GainCrossing {
  /** Angular frequency, radians a second. */
  readonly radiansPerSecond: number;
  /** 180 degrees and the phase there: the additional lag that the loop tolerates. Below 0 oscillations grow. */
  readonly marginDegrees: number;
}

/**
 * Phase margin in degrees; above 0 the fixed point is stable. Of several crossings that of the smallest magnitude
 * counts. A delay turns the phase and leaves the gain alone, so every microsecond of it costs the same number of
 * degrees.
 *
 * A linear picture with the approximate p*, as its authors used it, and on the safe side: integrated, the networks of
 * ref:dcqcn#5.4 settle down to some -9 degrees and oscillate from -11 on. The exact p* makes it worse: it gives -8
 * degrees instead of +20 for 64 flows with 85 us whose RED goes on to 10 % with the same slope, and they come to rest.
 * What no margin sees is the jump of RED at Kmax: with a fixed point just below it, a small disturbance ends in a
 * lasting oscillation.
 * @throws RoceError ERR_ROCE_ARGUMENT for a parameter out of range
 */
export function phaseMargin(parameters: FluidParameters): number {
  return gainCrossings(parameters).reduce(
    (smallest, { marginDegrees }) => (Math.abs(marginDegrees) < Math.abs(smallest) ? marginDegrees : smallest),
    Infinity,
  );
}

/**
 * All crossings, by frequency. At least one: the gain falls from infinity to 0.
 * @throws RoceError ERR_ROCE_ARGUMENT for a parameter out of range
 */
export function gainCrossings(parameters: FluidParameters): readonly GainCrossing[] {
  const { numerator, denominator } = openLoop(parameters);
  const minus = squaredMagnitude(denominator).map((coefficient) => -coefficient);
  const delaySeconds = inPackets(parameters).delay;
  return signChanges(sum(squaredMagnitude(numerator), minus)).map((squaredFrequency) => {
    const w = Math.sqrt(squaredFrequency);
    const undelayed = degrees(angleAt(numerator, w) - angleAt(denominator, w));
    return { radiansPerSecond: w, marginDegrees: folded(180 + undelayed) - degrees(w * delaySeconds) };
  });
}

/** H(s) exp(s tau*), as a quotient of polynomials in s. Letters as in ref:dcqcn#5.4. */
function openLoop(parameters: FluidParameters): { numerator: Polynomial; denominator: Polynomial } {
  const {
    capacity: C,
    fairShare: R,
    flows: N,
    byteCounter: B,
    timer: T,
    stages: F,
    g,
    ...units
  } = inPackets(parameters);
  const { cnpTimer: tau, alphaTimer, aiRate } = units;
  const p = approximateMarking(parameters);
  const x = markingExponent(Math.min(p, MOST_MARKED));
  const c = additiveIncreasesPerPacket(x, B, F);
  const e = additiveIncreasesPerPacket(x, T * R, F);
  const A = 1 / B + 1 / (T * R);
  const h = 1 / 2 + A / 4;
  const k = (N * units.pmax) / (units.kmax - units.kmin);
  const alpha = markedWithin(x, alphaTimer * R);
  const Rt = R * (1 + ((c + e) * tau * aiRate) / markedWithin(x, tau * R));
  const u = (A * R) / 2 - h * p * R;
  const v = (1 + 2 * F + A / 2) * aiRate;
  const X1 = (h * R ** 2 - h * R * Rt - (R ** 2 * alpha) / 2) * k;
  const X2 = h * p * R - (A * R) / 2 - (p * R * alpha) / 2;
  const X3 = h * p * (R - Rt) + (A * (Rt - R)) / 2 - (p * R * alpha) / 2;
  const X4 = (-p * R ** 2 * g * C * k) / 2;
  const Y1 = u * (p * R + A * aiRate);
  const Y2 = u * (p * R - p * Rt + A * aiRate - v * p);
  const Y3 = u * (R ** 2 - R * Rt - v * R) * k;
  const s = [0, 1];
  const L = [g * C, N];
  const M = [p * R, 1];
  return {
    numerator: sum(product(L, M, [X1, X2]), product(M, [X4]), product(s, L, [Y2]), product(L, [Y3])),
    denominator: product(s, L, sum(product(M, [X3, -1]), [Y1])),
  };
}

function degrees(radians: number): number {
  return (radians * 180) / Math.PI;
}

/** The same angle in -180 (excluded) to 180. */
function folded(angle: number): number {
  return angle - 360 * Math.ceil((angle - 180) / 360);
}

/** The approximation may exceed 1; its exponent is to stay finite. */
const MOST_MARKED = 1 - Number.EPSILON;
