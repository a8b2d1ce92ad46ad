/**
 * Sums up a simulation: the result of each flow, and the counters of all hosts and ports together. Pure functions of
 * what there is.
 */
import { PortCounters } from '../../../transport/counters.ts';
import type { EgressPort, SwitchOptions } from '../switching/index.ts';
import type { PathFinder } from '../topology/index.ts';
import type { FlowRun } from './flow-run.ts';
import { idealNs } from './ideal.ts';
import type { FlowResult, NetworkTotals, PortResult } from './options.ts';

/** What the result of a flow depends on beside the flow. */
export interface ResultContext {
  /** When the simulation ended. */
  readonly endNs: number;
  readonly mtu: number;
  readonly paths: PathFinder;
  readonly switches: SwitchOptions;
  /** Length of the window. */
  readonly windowNs: number;
}

/** The result of a flow that has delivered so much within the window. */
export function flowResult(run: FlowRun, windowBytes: number, context: ResultContext): FlowResult {
  const { flow, messageBytes, deliveredBytes, status } = run;
  const { src, dst, bytes, startNs, operation = 'write' } = flow;
  const { mtu, switches, paths, windowNs } = context;
  const forwardBytes = switches.forwarding === 'cut-through' ? CUT_THROUGH_BYTES : Infinity;
  const { processingNs = 0 } = switches;
  const what = { bytes, messageBytes, mtu, operation, forwardBytes, processingNs };
  const ideal = idealNs(paths.path(src, dst), what);
  const fctNs = status === 'done' ? (run.endNs ?? 0) - startNs : undefined;
  const activeNs = (run.endNs ?? context.endNs) - startNs;
  return {
    ...{ src, dst, bytes, startNs },
    ...(fctNs === undefined ? {} : { endNs: startNs + fctNs, fctNs }),
    idealNs: ideal,
    ...(fctNs === undefined ? {} : { slowdown: fctNs / ideal }),
    deliveredBytes,
    goodputBps: activeNs > 0 ? (8e9 * deliveredBytes) / activeNs : 0,
    windowBps: windowNs > 0 ? (8e9 * windowBytes) / windowNs : 0,
    status,
  };
}

/** Packets with payload that a flow has delivered, each once. */
export function packetsDelivered({ deliveredBytes, messageBytes }: FlowRun, mtu: number): number {
  const messages = Math.floor(deliveredBytes / messageBytes);
  return messages * Math.ceil(messageBytes / mtu) + Math.ceil((deliveredBytes - messages * messageBytes) / mtu);
}

/** Counters of all hosts together. */
export function hostTotals(all: readonly Readonly<PortCounters>[]): PortCounters {
  const totals = new PortCounters();
  for (const counters of all)
    for (const name of Object.keys(totals) as (keyof PortCounters)[]) totals[name] += counters[name];
  return totals;
}

/** Counters of every port that has sent anything. */
export function portResults(ports: readonly EgressPort[]): PortResult[] {
  return ports.filter(({ counters }) => counters.frames > 0).map(({ name, counters }) => ({ name, ...counters }));
}

/** Counters of all ports together. */
export function networkTotals(ports: readonly EgressPort[]): NetworkTotals {
  const totals: NetworkTotals = {
    ...{ frames: 0, bytes: 0, marked: 0, dropped: 0, lost: 0, pausesSent: 0, pausedNs: 0, peakQueueBytes: 0 },
  };
  for (const { counters } of ports) {
    for (const name of SUMMED) totals[name] += counters[name];
    totals.peakQueueBytes = Math.max(totals.peakQueueBytes, counters.peakQueueBytes);
  }
  return totals;
}

const SUMMED = ['frames', 'bytes', 'marked', 'dropped', 'lost', 'pausesSent', 'pausedNs'] as const;
/** As of the switches. */
const CUT_THROUGH_BYTES = 64;
