/**
 * The runs that published results are about, as options of a simulation, and what theory says of them where the source
 * has no figure. Sources: ref:dcqcn#6.1, ref:dcqcn#6.2 (parameters of the peer's runs), ref:dcqcn#5.2 (fixed point),
 * ref:dcqcn#5.7 (goodput under loss).
 */

import { mean, type SimulationOptions, type SimulationResult } from '../../../src/sim/simulation/index.ts';
import { star } from '../../../src/sim/topology/index.ts';
import type { CongestionOptions } from '../../../transport/congestion/congestion-options.ts';
import { hpccParameters } from '../../../transport/congestion/dcqcn-parameters.ts';

/**
 * ref:dcqcn#6.2: so many senders to one, 100 Gb/s, 1 us links; the mark comes with the acknowledge, and there is no
 * byte counter.
 */
export function hpccIncast(senders: number, bytes: number, timers: 'mlx' | 'paper', seed = 1): SimulationOptions {
  return {
    seed,
    topology: star({ hosts: senders + 1, link: { rateBps: 100e9, delayNs: 1_000 } }),
    switches: { flowControl: 'pfc', bufferBytes: 32e6, ecn: { kminBytes: 400e3, kmaxBytes: 1_600e3, pmax: 0.2 } },
    congestion: {
      reaction: { kind: 'dcqcn', profile: 'mlx', parameters: hpccParameters(100e9, timers) },
      notification: { signal: 'ack' },
    },
    flows: Array.from({ length: senders }, (_, src) => ({ src, dst: senders, bytes, startNs: 0 })),
  };
}

/** Mean flow completion time in microseconds. */
export function meanFctUs({ flows }: SimulationResult): number {
  return mean(flows.map(({ fctNs = Number.NaN }) => fctNs / 1_000));
}

/** One row of ref:dcqcn#6.1: so many endless flows to one at 40 Gb/s. */
export interface FixedPointRow {
  readonly flows: number;
  readonly pmax: number;
  readonly kmaxBytes: number;
  readonly aiRateBps: number;
  /** Of every link; the loop is four links long. */
  readonly delayNs?: number;
  /**
   * 'two-clocks': the peer's variant, marks in acknowledges. 'paper': notification packets, as the authors describe it.
   * 'periods': the same, at most one in each period of tau, as in the authors' simulator and in their model.
   */
  readonly rules: 'two-clocks' | 'paper' | 'periods';
  readonly warmUpNs: number;
  readonly windowNs: number;
  readonly seed?: number;
}

/** The queue to look at is `queueStats[0]`. */
export function fixedPointRun(row: FixedPointRow): SimulationOptions {
  const { flows, pmax, kmaxBytes, delayNs = 1_000, warmUpNs, windowNs, rules, seed = 1 } = row;
  return {
    seed,
    topology: star({ hosts: flows + 1, link: { rateBps: 40e9, delayNs } }),
    switches: { flowControl: 'pfc', bufferBytes: 32e6, ecn: { kminBytes: 5e3, kmaxBytes, pmax } },
    congestion: congestionOf(row),
    flows: Array.from({ length: flows }, (_, src) => ({
      src,
      dst: flows,
      bytes: Infinity,
      startNs: 0,
      ...PACKETS[rules],
    })),
    stopNs: warmUpNs + windowNs,
    window: { fromNs: warmUpNs },
    host: { messageBytes: rules === 'paper' ? 16_384 : MODEL_PAYLOAD_BYTES },
    probe: { intervalNs: 100_000, queues: [`switch0:${flows}`] },
  };
}

function congestionOf(row: FixedPointRow): CongestionOptions {
  if (row.rules === 'two-clocks') return twoClocks(row);
  return row.rules === 'paper' ? paperRules(row) : { ...paperRules(row), notification: { spacing: 'period' } };
}

/** No byte counter; hyper increase like additive increase, as in the peer's run. */
function paperRules({ aiRateBps }: FixedPointRow): CongestionOptions {
  const parameters = { byteCounterBytes: 0, aiRateBps, haiRateBps: aiRateBps };
  return { reaction: { kind: 'dcqcn', profile: 'paper', parameters } };
}

/** tau 50 us, tau' 55 us, T 55 us, F 5, g 1/256, clamp on, minimum 10 Mb/s. */
function twoClocks({ aiRateBps }: FixedPointRow): CongestionOptions {
  const parameters = {
    clampTgtRate: true,
    rpgTimeResetNs: 55_000,
    rpgByteResetBytes: 0,
    rpgThreshold: 5,
    rpgMinRateBps: 10e6,
    rpgAiRateBps: aiRateBps,
    rpgHaiRateBps: aiRateBps,
    dceTcpG: 1_020,
    dceTcpRttNs: 55_000,
    rateReduceMonitorPeriodNs: 50_000,
    initialAlphaValue: 1_024,
  };
  return { reaction: { kind: 'dcqcn', profile: 'mlx', parameters }, notification: { signal: 'ack' } };
}

/**
 * Mean queue at which the `paper` rules themselves stand still. The fluid model of ref:dcqcn#5.1 cuts once in tau when
 * anything in it was marked, which is what the two clocks do. With notification packets the next cut needs a mark
 * *after* tau has passed, tau + 1/lambda in the mean when marks come at rate lambda: fewer cuts, fewer updates of
 * alpha, and, as T is longer than tau by little, an increase nearly always before the next cut. So the queue stands
 * higher. With r = exp(-lambda T) and c = exp(lambda tau), n rounds come before a cut with P(n >= k) = c r^k; alpha is
 * then 1 / (1 + E n), and of a cut alpha/2 a part 2^-n is left, against R_AI for every round past F.
 */
export function paperQueueBytes({ flows, pmax, kmaxBytes, aiRateBps }: FixedPointRow): number {
  const rateBps = 40e9 / flows;
  let [low, high] = [1, 1e5];
  for (let step = 0; step < 100; step++) {
    const middle = Math.sqrt(low * high);
    if (drift(middle, rateBps, aiRateBps) > 0) low = middle;
    else high = middle;
  }
  const marking = low / (rateBps / (8 * FRAME_BYTES));
  return KMIN_BYTES + (marking / pmax) * (kmaxBytes - KMIN_BYTES);
}

/** By how much the rate grows from cut to cut in the mean, when marks come at rate `lambda`. */
function drift(lambda: number, rateBps: number, aiRateBps: number): number {
  const r = Math.exp(-T * lambda);
  const c = Math.exp(TAU * lambda);
  const reached = (k: number): number => c * r ** k;
  const rounds = reached(1) / (1 - r);
  const alpha = 1 / (1 + rounds);
  const left = 1 - (c * (r / 2)) / (1 - r / 2);
  // In additive increase the rate lags behind its target by R_AI (1 - 2^-j) after j rounds.
  let gained = reached(F + 1) / (1 - r);
  for (let j = 1; j < 1_000; j++) gained -= (reached(F + j) - reached(F + j + 1)) * (1 - 2 ** -j);
  return aiRateBps * gained - ((rateBps * alpha) / 2) * left;
}

/** Of 1,024 bytes of payload on Ethernet. */
export const FRAME_BYTES = 1_082;
/**
 * The fixed points of ref:dcqcn#5.2 are of packets of 1,000 bytes, and grow with them: SENDs of one packet, 1,002 bytes
 * on the wire. With packets of 1,024 bytes of payload they are 8 % higher.
 */
const MODEL_PAYLOAD_BYTES = 942;
const PACKETS = { paper: {}, 'two-clocks': { operation: 'send' }, periods: { operation: 'send' } } as const;
const KMIN_BYTES = 5_000;
const TAU = 50e-6;
const T = 55e-6;
const F = 5;
