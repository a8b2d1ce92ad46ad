/**
 * The fixed point of DCQCN: the rate, target, marking probability, alpha and queue at which nothing changes any more.
 * Owns the solution of the fixed-point equation (ref:dcqcn#5.2). phase-margin.ts computes its stability,
 * delay-equations.ts the way to it.
 */
import { bisect } from './bisect.ts';
import { markingProbability, markingTerms } from './marking.ts';
import { type FluidParameters, inPackets, type PacketUnits } from './parameters.ts';

/** The state in which the fluid model does not change. */
export interface FixedPoint {
  /** R_C = C/N: every flow has its fair share, bits a second. */
  readonly rateBps: number;
  /** R_T*, bits a second: a little above R_C, for increases undo what CNPs cut. */
  readonly targetRateBps: number;
  /** p*, in (0, 1). */
  readonly markingProbability: number;
  /** alpha*, in (0, 1). */
  readonly alpha: number;
  /**
   * q*: the queue at which RED marks p*. Undefined where p* is above Pmax: RED never marks that share, and the queue
   * stays at Kmax.
   */
  readonly queueBytes: number | undefined;
}

/**
 * The fixed point (ref:dcqcn#5.2). p*, alpha* and q* depend on C and N only through C/N.
 * @throws RoceError ERR_ROCE_ARGUMENT for a parameter out of range
 */
export function fixedPoint(parameters: FluidParameters): FixedPoint {
  const units = inPackets(parameters);
  const rate = units.fairShare;
  const x = fixedPointExponent(units);
  const { a, b, d, alpha } = markingTerms(x, rate, units);
  const p = markingProbability(x);
  const target = rate + (a * alpha) / ((b + d) * units.cnpTimer);
  return {
    rateBps: rate * parameters.packetBits,
    targetRateBps: target * parameters.packetBits,
    markingProbability: p,
    alpha,
    queueBytes: queueMarking(p, parameters),
  };
}

/**
 * By how much the two sides of the fixed-point equation differ, as the logarithm of their quotient; it grows with the
 * marking exponent x and is 0 at rest. From dR_C/dt = 0 comes R_T - R_C = a alpha / ((b+d) tau), from dR_T/dt = 0 comes
 * R_T - R_C = tau R_AI R_C (c+e) / a; both together are a^2 alpha / ((b+d)(c+e)) = tau^2 R_AI R_C.
 */
export function fixedPointImbalance(x: number, units: PacketUnits): number {
  const { a, b, c, d, e, alpha } = markingTerms(x, units.fairShare, units);
  const cuts = 2 * Math.log(a) + Math.log(alpha);
  const increases = Math.log(b + d) + Math.log(c + e);
  return cuts - increases - Math.log(units.cnpTimer ** 2 * units.aiRate * units.fairShare);
}

/**
 * The closed form for p* that was published, from a series in p cut off after its first term. It is 16 % too high for
 * one flow and 70 % for a hundred (ref:dcqcn#5.2): for comparison, and for the phase margin, which its authors computed
 * with it. Not limited to 1.
 * @throws RoceError ERR_ROCE_ARGUMENT for a parameter out of range
 */
export function approximateMarking(parameters: FluidParameters): number {
  const { aiRate, alphaTimer, byteCounter, timer, fairShare } = inPackets(parameters);
  return Math.cbrt((aiRate / (alphaTimer * fairShare ** 2)) * (1 / byteCounter + 1 / (timer * fairShare)) ** 2);
}

/** The queue in bytes at which RED marks the share p; undefined above Pmax. */
export function queueMarking(p: number, { kminBytes, kmaxBytes, pmax }: FluidParameters): number | undefined {
  return p > pmax ? undefined : kminBytes + (p / pmax) * (kmaxBytes - kminBytes);
}

/**
 * The one root. Each factor of the left side grows with x and each of the right falls, so there is no second, and since
 * the imbalance runs from minus to plus infinity there always is one. Sought in ln x, for x spans many powers of ten.
 */
function fixedPointExponent(units: PacketUnits): number {
  const imbalance = (lnX: number) => fixedPointImbalance(Math.exp(lnX), units);
  let low = FIRST_GUESS;
  while (imbalance(low) > 0) low -= STRIDE;
  let high = FIRST_GUESS;
  while (imbalance(high) < 0) high += STRIDE;
  return Math.exp(bisect(imbalance, low, high));
}

/** ln of a marking exponent of 0.1 %, and how far to look at a time: a factor of about 55. */
const FIRST_GUESS = Math.log(1e-3);
const STRIDE = 4;
