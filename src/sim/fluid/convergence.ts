/**
 * How long until two flows of different rates are nearly equal: an upper bound (ref:dcqcn#5.3).
 * Owns the bound. delay-equations.ts integrates the actual course.
 *
 * The model behind it: the flows are cut together, recover for dT* alpha intervals, are cut again. Each such cycle
 * shrinks the difference of two rates by (1 - alpha/2) (ref:dcqcn#5.5), so the number of cycles follows from how small
 * it shall be.
 */
import { bisect } from './bisect.ts';
import { type FluidParameters, inPackets } from './parameters.ts';

/** The bound and what it is made of. */
export interface ConvergenceBound {
  /** Seconds until two flows differ by less than 10 % of the fair share. */
  readonly seconds: number;
  /** alpha* just before a cut, in (0, 1). */
  readonly alpha: number;
  /** How many cycles of cut and recovery that takes; not rounded. */
  readonly cycles: number;
  /** dT*: alpha intervals of one cycle. */
  readonly periodsPerCycle: number;
}

/**
 * The bound of ref:dcqcn#5.3. alpha* solves alpha = (1-g)^(dT* - 1) ((1-g) alpha + g): a cut raises alpha once, dT* - 1
 * quiet intervals decay it. (The appendix of the paper has dT* there, which does not reproduce its own data.)
 * @throws RoceError ERR_ROCE_ARGUMENT for a parameter out of range
 */
export function convergenceBound(parameters: FluidParameters): ConvergenceBound {
  const { capacity, flows, alphaTimer, g, aiRate, kmax } = inPackets(parameters);
  const fillPeriods = (Math.sqrt(1 + (8 * kmax) / (flows * aiRate * alphaTimer)) - 1) / 2;
  const periods = (alpha: number) => 2 + (fillPeriods / 2 + capacity / (2 * flows * aiRate)) * alpha;
  // In logarithms the left side grows faster than the right, so there is one zero; alpha = 1 is always beyond it.
  const surplus = (alpha: number) =>
    Math.log(alpha) - (periods(alpha) - 1) * Math.log1p(-g) - Math.log((1 - g) * alpha + g);
  const alpha = bisect(surplus, 0, 1);
  const cycles = Math.log(REMAINING_DIFFERENCE / flows) / Math.log1p(-alpha / 2);
  const periodsPerCycle = periods(alpha);
  return { seconds: alphaTimer * periodsPerCycle * cycles, alpha, cycles, periodsPerCycle };
}

/** Of the fair share. */
const REMAINING_DIFFERENCE = 0.1;
