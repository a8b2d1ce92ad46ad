/**
 * The right-hand sides of the fluid model (ref:dcqcn#5.1): how fast queue, rates, targets and alphas change. Owns the
 * layout of a state: the queue in packets, then for each flow R_C and R_T in packets a second and alpha. A flow with
 * R_C = 0 does not send: it has not started. Pure; the past comes in as a second state.
 */
import {
  additiveIncreasesPerPacket,
  increasesPerPacket,
  markedWithin,
  markingExponent,
  redProbability,
} from './marking.ts';
import type { PacketUnits } from './parameters.ts';

/** Place of the queue in a state. */
export const QUEUE = 0;
/** Place of the first flow. */
export const FIRST_FLOW = 1;
/** Numbers of a flow: R_C, R_T, alpha. */
export const PER_FLOW = 3;

/**
 * Into `slopes`: the change per second of `state`, where `delayed` is the state a loop delay earlier. Each flow counts
 * `flowsEach` times in the queue.
 */
export function fluidSlopes(
  units: PacketUnits,
  flowsEach: number,
  state: Float64Array,
  delayed: Float64Array,
  slopes: Float64Array,
): void {
  const marking = markingExponent(redProbability(delayed[QUEUE] as number, units));
  let arriving = 0;
  for (let at = FIRST_FLOW; at < state.length; at += PER_FLOW) {
    arriving += (state[at] as number) * flowsEach;
    flowSlopes(units, marking, delayed[at] as number, state, at, slopes);
  }
  const growth = arriving - units.capacity;
  slopes[QUEUE] = (state[QUEUE] as number) > 0 ? growth : Math.max(0, growth);
}

/**
 * One flow, at `at`. What it sent a loop delay ago was marked with exponent `marking`; a flow that sent nothing then
 * has no marks, and its timer runs all the same.
 */
function flowSlopes(
  units: PacketUnits,
  marking: number,
  delayedRate: number,
  state: Float64Array,
  at: number,
  slopes: Float64Array,
): void {
  const rate = state[at] as number;
  const lead = (state[at + 1] as number) - rate;
  const alpha = state[at + 2] as number;
  if (rate === 0) {
    slopes.fill(0, at, at + PER_FLOW);
    return;
  }
  const { cnpTimer, alphaTimer, byteCounter, timer, stages, aiRate, g } = units;
  const x = delayedRate > 0 ? marking : 0;
  const sent = Math.max(delayedRate, LEAST_RATE);
  const notified = markedWithin(x, cnpTimer * sent);
  const increases = sent * (increasesPerPacket(x, byteCounter) + increasesPerPacket(x, timer * sent));
  const additive =
    sent * (additiveIncreasesPerPacket(x, byteCounter, stages) + additiveIncreasesPerPacket(x, timer * sent, stages));
  slopes[at] = (-rate * alpha * notified) / (2 * cnpTimer) + (lead / 2) * increases;
  slopes[at + 1] = (-lead / cnpTimer) * notified + aiRate * additive;
  slopes[at + 2] = (g / alphaTimer) * (markedWithin(x, alphaTimer * sent) - alpha);
}

/**
 * Packets a second. Stands for 0 where the equations divide by a rate that their product then multiplies with again.
 */
const LEAST_RATE = 1e-9;
