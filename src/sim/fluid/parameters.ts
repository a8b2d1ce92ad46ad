/**
 * Parameters of the fluid model of DCQCN: one bottleneck, N equal flows, and the settings of switch, receiver and
 * sender. Owns the parameters, their check, and the one place where bits and nanoseconds become packets and seconds.
 * Computes nothing.
 * Source: ref:dcqcn#2 (profile `paper`, the numbers of the authors' own programs), ref:dcqcn#5 (units).
 */
import { RoceError } from '../../../packets/errors.ts';

/** One bottleneck and the flows through it. Plain data: it goes through JSON and `postMessage`. */
export interface FluidParameters {
  /** C: rate of the bottleneck, bits a second, above 0. */
  readonly capacityBps: number;
  /** Bits of a packet, above 0: marking is decided per packet, so the model counts in packets (ref:dcqcn#5: 8000). */
  readonly packetBits: number;
  /** N: flows through the bottleneck, a whole number from 1. */
  readonly flows: number;
  /** B: bytes between two increases, above 0; Infinity for a sender without a byte counter. */
  readonly byteCounterBytes: number;
  /** T: nanoseconds between two increases, above 0. */
  readonly timerNs: number;
  /** tau': nanoseconds between two updates of alpha, above 0. */
  readonly alphaTimerNs: number;
  /** tau: the least nanoseconds between two CNPs of one flow, above 0. */
  readonly cnpTimerNs: number;
  /**
   * F: increases that only halve the distance to the target rate, before the target itself grows; a whole number from
   * 1.
   */
  readonly fastRecoveryStages: number;
  /** Gain of alpha, between 0 and 1, both excluded. */
  readonly g: number;
  /** R_AI: what the target rate grows by at each later increase, bits a second, above 0. */
  readonly aiRateBps: number;
  /** Bytes queued up to which nothing is marked, 0 or more. */
  readonly kminBytes: number;
  /** Bytes queued from which everything is marked, above `kminBytes`. */
  readonly kmaxBytes: number;
  /** Share of packets marked at `kmaxBytes`, above 0 and at most 1. */
  readonly pmax: number;
  /** tau*: nanoseconds from a change of the queue to the sender's reaction, 0 or more. */
  readonly feedbackDelayNs: number;
}

/**
 * Two flows on 40 Gb/s with the parameters of the paper and the loop delay of its stable examples (ref:dcqcn#2, profile
 * `paper`).
 */
export const PAPER_FLUID: FluidParameters = {
  capacityBps: 40e9,
  packetBits: 8000,
  flows: 2,
  byteCounterBytes: 10e6,
  timerNs: 55_000,
  alphaTimerNs: 55_000,
  cnpTimerNs: 50_000,
  fastRecoveryStages: 5,
  g: 1 / 256,
  aiRateBps: 40e6,
  kminBytes: 5000,
  kmaxBytes: 200_000,
  pmax: 0.01,
  feedbackDelayNs: 4000,
};

/**
 * Refuses parameters for which the equations are undefined. @throws RoceError ERR_ROCE_ARGUMENT that names the
 * parameter and its range
 */
export function checkFluidParameters(parameters: FluidParameters): void {
  for (const name of POSITIVE) demand(isPositive(parameters[name]), name, 'above 0 and finite', parameters[name]);
  const { byteCounterBytes, flows, fastRecoveryStages, g, kminBytes, kmaxBytes, pmax, feedbackDelayNs } = parameters;
  demand(byteCounterBytes > 0, 'byteCounterBytes', 'above 0, or Infinity for none', byteCounterBytes);
  demand(isCount(flows), 'flows', 'a whole number from 1', flows);
  demand(isCount(fastRecoveryStages), 'fastRecoveryStages', 'a whole number from 1', fastRecoveryStages);
  demand(g > 0 && g < 1, 'g', 'between 0 and 1, both excluded', g);
  demand(kminBytes >= 0, 'kminBytes', '0 or more', kminBytes);
  demand(kminBytes < kmaxBytes, 'kmaxBytes', `above kminBytes (${kminBytes})`, kmaxBytes);
  demand(pmax > 0 && pmax <= 1, 'pmax', 'above 0 and at most 1', pmax);
  demand(
    feedbackDelayNs >= 0 && feedbackDelayNs < Infinity,
    'feedbackDelayNs',
    '0 or more and finite',
    feedbackDelayNs,
  );
}

/** The parameters in the units of the equations: packets, packets a second, seconds. */
export interface PacketUnits {
  /** C in packets a second. */
  readonly capacity: number;
  /** C/N in packets a second: the rate of every flow at rest. */
  readonly fairShare: number;
  /** N. */
  readonly flows: number;
  /** B in packets. */
  readonly byteCounter: number;
  /** T in seconds. */
  readonly timer: number;
  /** tau' in seconds. */
  readonly alphaTimer: number;
  /** tau in seconds. */
  readonly cnpTimer: number;
  /** F. */
  readonly stages: number;
  /** Gain of alpha. */
  readonly g: number;
  /** R_AI in packets a second. */
  readonly aiRate: number;
  /** Kmin in packets. */
  readonly kmin: number;
  /** Kmax in packets. */
  readonly kmax: number;
  /** Pmax. */
  readonly pmax: number;
  /** tau* in seconds. */
  readonly delay: number;
}

/** Checked parameters in packets and seconds. @throws RoceError ERR_ROCE_ARGUMENT, see `checkFluidParameters` */
export function inPackets(parameters: FluidParameters): PacketUnits {
  checkFluidParameters(parameters);
  const { packetBits, flows } = parameters;
  const capacity = parameters.capacityBps / packetBits;
  return {
    capacity,
    fairShare: capacity / flows,
    flows,
    byteCounter: (parameters.byteCounterBytes * 8) / packetBits,
    timer: parameters.timerNs / NS_PER_S,
    alphaTimer: parameters.alphaTimerNs / NS_PER_S,
    cnpTimer: parameters.cnpTimerNs / NS_PER_S,
    stages: parameters.fastRecoveryStages,
    g: parameters.g,
    aiRate: parameters.aiRateBps / packetBits,
    kmin: (parameters.kminBytes * 8) / packetBits,
    kmax: (parameters.kmaxBytes * 8) / packetBits,
    pmax: parameters.pmax,
    delay: parameters.feedbackDelayNs / NS_PER_S,
  };
}

/** Refuses an argument. @throws RoceError ERR_ROCE_ARGUMENT that names it and its range, unless `holds` */
export function demand(holds: boolean, name: string, range: string, value: number | undefined): void {
  if (!holds) throw new RoceError('ERR_ROCE_ARGUMENT', `${name} is ${range}, not ${value}`);
}

/** Above 0 and finite. */
export function isPositive(value: number): boolean {
  return value > 0 && value < Infinity;
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 1;
}

/** Nanoseconds of a second. */
export const NS_PER_S = 1e9;

const POSITIVE = [
  'capacityBps',
  'packetBits',
  'timerNs',
  'alphaTimerNs',
  'cnpTimerNs',
  'aiRateBps',
  'kmaxBytes',
] as const satisfies readonly (keyof FluidParameters)[];
