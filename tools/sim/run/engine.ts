/**
 * From a variant to `simulate` of src/sim/simulation and back: the one place that knows both. Owns the translation;
 * what a simulation does is not its matter.
 */

import { defined } from 'rocev2/packets';
import {
  buildTopology,
  PathFinder,
  portName,
  type ProbeSeries as RawSeries,
  type SimulationOptions,
  type SimulationResult,
  type SwitchOptions,
  shortestPaths,
  simulate,
  type Topology,
} from 'rocev2/sim';
import type { Variant } from '../scenario/schema.ts';
import { allFlows, type GroupedFlow } from '../scenario/traffic.ts';
import { HostCapture } from './capture.ts';
import type { FlowOutcome, OutcomeSeries, OutcomeSeriesKind, RunOutcome } from './outcome.ts';

export interface CaptureRequest {
  readonly path: string;
  /** Frames at most. */
  readonly frames: number;
}

export interface EngineOptions {
  /** Hears how far the simulation is, 0..1. */
  readonly tell: (share: number) => void;
  readonly capture?: CaptureRequest;
}

/** Simulates one variant. @throws RoceError for what the simulation refuses, InvariantError for a bug of ours */
export function simulateVariant(variant: Variant, { tell, capture }: EngineOptions): RunOutcome {
  const topology = buildTopology(variant.topology);
  const flows = allFlows(variant);
  const tap = capture && new HostCapture(capture.path, capture.frames, topology);
  try {
    const result = simulate({
      ...simulationOptions(variant, topology, flows),
      onProgress: tell,
      ...defined({ tap }),
    });
    return outcomeOf(result, flows, topology, variant.window !== undefined);
  } finally {
    tap?.close();
  }
}

function simulationOptions(variant: Variant, topology: Topology, flows: readonly GroupedFlow[]): SimulationOptions {
  const { seed, clockwise, switches, host, congestion, mtu, loss, stopNs, window, probe } = variant;
  return {
    ...{ seed, topology, clockwise, host, mtu, loss },
    switches: switchOptions(switches),
    flows: flows.map(({ flow }) => flow),
    ...defined({ congestion, stopNs, window }),
    ...(probe === undefined ? {} : { probe: { ...probe, queues: probe.queues ?? receiverQueues(topology, flows) } }),
  };
}

function switchOptions({ losslessPriorities, ecnPriorities, ...rest }: Variant['switches']): SwitchOptions {
  return {
    ...rest,
    losslessPriorities: bits(losslessPriorities),
    ...(ecnPriorities === undefined ? {} : { ecnPriorities: bits(ecnPriorities) }),
  };
}

function bits(priorities: readonly number[]): number {
  return priorities.reduce((set, priority) => set | (1 << priority), 0);
}

/** Where most flows end: there queues are. */
function receiverQueues(topology: Topology, flows: readonly GroupedFlow[]): string[] {
  const counts = new Map<number, number>();
  for (const { flow } of flows) counts.set(flow.dst, (counts.get(flow.dst) ?? 0) + 1);
  const finder = new PathFinder(topology, shortestPaths(topology));
  return [...counts]
    .sort(([a, x], [b, y]) => y - x || a - b)
    .slice(0, MAX_QUEUES)
    .map(([host]) => finder.lastHop(host))
    .map(({ node, port }) => portName(topology, node, port));
}

function outcomeOf(
  result: SimulationResult,
  flows: readonly GroupedFlow[],
  topology: Topology,
  windowed: boolean,
): RunOutcome {
  const { hosts, network, ports, deadlocks, dataPackets } = result;
  const stopped = ports.filter(({ pausedNs, creditStalls }) => pausedNs > 0 || creditStalls > 0);
  const hostPorts = new Set(
    topology.nodeNames.slice(0, topology.hostCount).map((_, host) => portName(topology, host, 0)),
  );
  return {
    endNs: result.endNs,
    events: result.steps,
    flows: result.flows.map((flow, index) => flowOutcome(flow, flows[index]?.group ?? '', windowed)),
    series: result.series.map(seriesOf),
    queues: result.queueStats.map(({ name, deviation, mean, p5, p50, p95, max }) => ({
      port: name,
      stddev: deviation,
      ...{ mean, p5, p50, p95, max },
    })),
    counts: {
      dropped: network.dropped,
      lost: network.lost,
      marked: network.marked,
      pauses: network.pausesSent,
      pausedNs: network.pausedNs,
      stalls: ports.reduce((sum, port) => sum + port.pausesReceived + port.creditStalls, 0),
      stalledPorts: stopped.length,
      stalledHosts: stopped.filter(({ name }) => hostPorts.has(name)).length,
      cnps: hosts.npCnpSent,
      retransmitted: hosts.retransmittedPkts,
      timeouts: hosts.localAckTimeoutErr,
      deadlocks: deadlocks.length,
      dataPackets,
      ...stepOf(result, flows, topology),
    },
  };
}

/** The time of a training step, and the least that the links of its hosts allow. Nothing where no ring is complete. */
function stepOf(
  result: SimulationResult,
  flows: readonly GroupedFlow[],
  topology: Topology,
): Partial<Record<'stepNs' | 'stepIdealNs' | 'stepSlowdown', number>> {
  const bytes = new Map<number, number>();
  let [fromNs, toNs] = [Infinity, 0];
  for (const [index, { flow }] of flows.entries()) {
    if (flow.relay === undefined) continue;
    bytes.set(flow.src, (bytes.get(flow.src) ?? 0) + flow.bytes);
    fromNs = Math.min(fromNs, flow.startNs);
    toNs = Math.max(toNs, result.flows[index]?.endNs ?? Infinity);
  }
  if (bytes.size === 0 || toNs === Infinity) return {};
  const ideals = topology.edges.map(
    ({ a, b, rateBps }) => (8e9 * Math.max(bytes.get(a) ?? 0, bytes.get(b) ?? 0)) / rateBps,
  );
  const stepIdealNs = ideals.reduce((most, ideal) => Math.max(most, ideal), 0);
  const stepNs = toNs - fromNs;
  return { stepNs, stepIdealNs, stepSlowdown: stepNs / stepIdealNs };
}

function flowOutcome(flow: SimulationResult['flows'][number], group: string, windowed: boolean): FlowOutcome {
  const { src, dst, bytes, startNs, fctNs, slowdown, deliveredBytes, goodputBps, windowBps, status } = flow;
  return {
    ...{ group, src, dst, bytes, startNs, deliveredBytes, goodputBps, status },
    ...defined({ fctNs, slowdown }),
    ...(windowed ? { windowBps } : {}),
  };
}

function seriesOf({ kind, of, times, values }: RawSeries): OutcomeSeries {
  const flow = /^flow (\d+)$/.exec(of)?.[1];
  return { kind: KINDS[kind], of: flow === undefined ? of : Number(flow), times, values };
}

const KINDS: Readonly<Record<RawSeries['kind'], OutcomeSeriesKind>> = {
  queue: 'queueBytes',
  rate: 'rateBps',
  target: 'targetRateBps',
  alpha: 'alpha',
  notifications: 'cnps',
  pauses: 'pauses',
};
const MAX_QUEUES = 8;
