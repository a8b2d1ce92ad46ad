/**
 * The fluid model beside a variant: its parameters from those of the scenario, its values for verdicts, its curves for
 * plots. Owns the translation; the model is src/sim/fluid.
 */

import { convergenceBound, type FluidParameters, fixedPoint, integrate, phaseMargin } from 'rocev2/fluid';
import { buildTopology, clockwiseRoutes, pathBetween, shortestPaths } from 'rocev2/sim';
import { MLX_DEFAULTS, PAPER_DEFAULTS } from 'rocev2/transport';
import type { FluidCurve } from '../report/run-plots.ts';
import type { FluidFigure } from '../scenario/expect.ts';
import type { Variant } from '../scenario/schema.ts';
import { allFlows } from '../scenario/traffic.ts';

/**
 * What the model is told of a variant; undefined where it has no say: another reaction than DCQCN, or nothing is
 * marked.
 */
export function fluidParameters(name: string, variant: Variant): FluidParameters | undefined {
  const { fluid, switches } = variant;
  const clocks = clocksOf(variant);
  if (fluid === undefined || switches.ecn === undefined || clocks === undefined) return undefined;
  if (fluid.variants !== undefined && !fluid.variants.includes(name)) return undefined;
  const flows = allFlows(variant).map(({ flow }) => flow);
  const { rateBps, roundTripNs } = wayOf(variant, flows[0]);
  return {
    ...clocks,
    ...switches.ecn,
    byteCounterBytes: clocks.byteCounterBytes === 0 ? Infinity : clocks.byteCounterBytes,
    capacityBps: fluid.capacityBps ?? rateBps,
    packetBits: fluid.packetBits,
    flows: fluid.flows ?? flows.length,
    feedbackDelayNs: fluid.feedbackDelayNs ?? roundTripNs,
  };
}

type Clocks = Pick<
  FluidParameters,
  'byteCounterBytes' | 'timerNs' | 'alphaTimerNs' | 'cnpTimerNs' | 'fastRecoveryStages' | 'g' | 'aiRateBps'
>;

/**
 * The knobs of a profile by the model's names. The model knows no hyper increase, and of `mlx` none of what makes it
 * differ.
 */
function clocksOf({ congestion }: Variant): Clocks | undefined {
  const { reaction, notification } = congestion ?? {};
  if (reaction?.kind !== 'dcqcn' || notification === false || notification === undefined) return undefined;
  if (reaction.profile === 'paper') {
    const { byteCounterBytes, rateTimerNs, alphaTimerNs, fastRecoveryStages, g, aiRateBps } = {
      ...PAPER_DEFAULTS,
      ...reaction.parameters,
    };
    const cnpTimerNs = notification.minTimeBetweenCnpsNs;
    return { byteCounterBytes, timerNs: rateTimerNs, alphaTimerNs, cnpTimerNs, fastRecoveryStages, g, aiRateBps };
  }
  const mlx = { ...MLX_DEFAULTS, ...reaction.parameters };
  return {
    byteCounterBytes: mlx.rpgByteResetBytes,
    timerNs: mlx.rpgTimeResetNs,
    alphaTimerNs: mlx.dceTcpRttNs,
    cnpTimerNs: Math.max(
      mlx.rateReduceMonitorPeriodNs,
      notification.signal === 'cnp' ? notification.minTimeBetweenCnpsNs : 0,
    ),
    fastRecoveryStages: mlx.rpgThreshold,
    g: 1 - mlx.dceTcpG / 1024,
    aiRateBps: mlx.rpgAiRateBps,
  };
}

/** A value of the model. */
export function fluidValue(parameters: FluidParameters, figure: FluidFigure): number | undefined {
  switch (figure) {
    case 'convergenceNs':
      return convergenceBound(parameters).seconds * 1e9;
    case 'phaseMargin':
      return phaseMargin(parameters);
    default:
      return fixedPoint(parameters)[figure];
  }
}

/** What the model does over the time of the run, with every flow starting when it does there. */
export function fluidCurves(name: string, variant: Variant, endNs: number): FluidCurve[] {
  const parameters = fluidParameters(name, variant);
  if (parameters === undefined) return [];
  const starts = allFlows(variant).map(({ flow }) => flow.startNs);
  const together = starts.every((start) => start === starts[0]) || starts.length !== parameters.flows;
  const trace = integrate(parameters, {
    durationNs: endNs,
    sampleNs: endNs / CURVE_POINTS,
    maxRateBps: parameters.capacityBps,
    ...(together ? {} : { perFlow: starts.map((startNs) => ({ startNs })) }),
  });
  const of = trace.times.length;
  const curve = (kind: FluidCurve['kind'], values: readonly number[], from = 0, flow = {}): FluidCurve => ({
    ...{ variant: name, kind, timesNs: trace.times.slice(from, of), values: values.slice(from, of) },
    ...flow,
  });
  return [
    curve('queueBytes', trace.queueBytes),
    ...trace.flows.slice(0, MAX_FLOW_CURVES).flatMap(({ rateBps, targetBps, alpha }, flow) => {
      // Before its start a flow has no rate: its curve begins there.
      const from = trace.times.findIndex((time) => together || time >= (starts[flow] ?? 0));
      const own = trace.flows.length === 1 ? {} : { flow };
      return [
        curve('rateBps', rateBps, from, own),
        curve('targetRateBps', targetBps, from, own),
        curve('alpha', alpha, from, own),
      ];
    }),
  ];
}

/** The last link on the way of a flow, and there and back of an idle network. */
function wayOf(variant: Variant, flow: { readonly src: number; readonly dst: number } | undefined) {
  const topology = buildTopology(variant.topology);
  const routes = variant.clockwise ? clockwiseRoutes(topology) : shortestPaths(topology);
  const path = flow === undefined ? [] : pathBetween(topology, routes, flow.src, flow.dst);
  return {
    rateBps: path.reduce((least, edge) => Math.min(least, edge.rateBps), Infinity),
    roundTripNs: 2 * path.reduce((sum, edge) => sum + edge.delayNs, 0),
  };
}

const CURVE_POINTS = 1000;
const MAX_FLOW_CURVES = 4;
