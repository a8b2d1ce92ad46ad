/**
 * Options and results of a simulation, as plain data. Owns the types, the defaults and the checks that do not depend on
 * the network; topology and switches check their own.
 */
import { RoceError } from '../../../packets/errors.ts';
import type { CongestionOptions } from '../../../transport/congestion/congestion-options.ts';
import type { PortCounters } from '../../../transport/counters.ts';
import type { Deadlock, EgressCounters, FabricTap, SwitchOptions } from '../switching/index.ts';
import { checkTopology, type Topology } from '../topology/index.ts';
import type { Flow } from '../traffic/index.ts';

/** A network, its hosts, and the flows. */
export interface SimulationOptions {
  /** Every choice by chance follows from it: a safe integer. */
  readonly seed: number;
  /** Hosts, switches, links. */
  readonly topology: Topology;
  /** On a ring, every packet goes clockwise, so that buffers depend on each other in a cycle. Default false. */
  readonly clockwise?: boolean;
  /** Of all switches alike. */
  readonly switches?: SwitchOptions;
  /**
   * Of all hosts alike; the line rate is that of each host's link. Default: none, and packets say that they are not
   * ECN-capable.
   */
  readonly congestion?: CongestionOptions;
  /** The flows. Their order is the order of results. */
  readonly flows: readonly Flow[];
  /**
   * The simulation ends then at the latest, nanoseconds; needed for flows without an end. Default: when all flows have
   * ended.
   */
  readonly stopNs?: number;
  /** Payload of a full packet: 256, 512, 1024, 2048 or 4096 bytes. Default 1024. */
  readonly mtu?: number;
  /** How likely each link loses a frame, 0..1. Default 0. */
  readonly loss?: number;
  /** How hosts send. */
  readonly host?: HostOptions;
  /** What is recorded on the way. Default: nothing. */
  readonly probe?: ProbeOptions;
  /** The time over which queues and goodputs are measured. Default: all of it. */
  readonly window?: WindowOptions;
  /** Sees every frame at each link, for captures. */
  readonly tap?: FabricTap;
  /** Called from time to time with the completed share, 0..1. */
  readonly onProgress?: (fraction: number) => void;
}

/** A time to measure over. */
export interface WindowOptions {
  /** Begin, nanoseconds. */
  readonly fromNs: number;
  /** End, nanoseconds; default that of the simulation. */
  readonly toNs?: number;
}

/** How the hosts of a simulation send. */
export interface HostOptions {
  /** Every so many packets request an ACK, 1 or more; default 1. */
  readonly ackEveryPackets?: number;
  /** Packets that may be sent and not acknowledged; default 65,536, which is no window. */
  readonly maxUnacked?: number;
  /**
   * Bytes of a work request, 64 MiB at most; default 1 MiB, and 64 KiB for flows without an end, whose progress is
   * counted in them.
   */
  readonly messageBytes?: number;
  /** Bytes of a flow that are posted ahead of the ACKs; default 16 MiB. */
  readonly aheadBytes?: number;
  /** Local ACK timeout, a code: 4.096 us x 2^code, 1..31; default 10, which is 4.2 ms. */
  readonly ackTimeout?: number;
  /** Timeouts and NAKs in a row without progress before a flow fails, 0..7; default 7. */
  readonly retryCount?: number;
  /** Frames that wait in a NIC for the wire before the device is asked for no more; default 1. */
  readonly nicQueueFrames?: number;
}

/** What is recorded. */
export interface ProbeOptions {
  /** Time between two points, nanoseconds, 1 or more. */
  readonly intervalNs: number;
  /** First point, nanoseconds; default 0. */
  readonly fromNs?: number;
  /** Ports whose queues are recorded and measured, by name: 'switch0:3'. */
  readonly queues?: readonly string[];
  /** Rate, target and alpha: of all flows, or of those with these places in the list. Default false. */
  readonly flows?: boolean | readonly number[];
  /**
   * Points of one series at most, 16 or more: of more, every second one is left out, from then on too. Default 4,096.
   */
  readonly maxPoints?: number;
  /**
   * Time between two looks at the queues for `queueStats`, nanoseconds; default 997: a prime, so that looks do not keep
   * step with packets.
   */
  readonly queueSampleNs?: number;
}

/** The result of a flow. */
export interface FlowResult {
  /** As in `Flow`. */
  readonly src: number;
  /** As in `Flow`. */
  readonly dst: number;
  /** As in `Flow`. */
  readonly bytes: number;
  /** As in `Flow`. */
  readonly startNs: number;
  /** When the last byte was acknowledged; absent: it was not. */
  readonly endNs?: number;
  /** Flow completion time: from the first post to the ACK of the last byte. */
  readonly fctNs?: number;
  /**
   * What that would be at the rate of the links, without any other flow, window or pacing; Infinity for flows without
   * an end.
   */
  readonly idealNs: number;
  /** fctNs / idealNs. */
  readonly slowdown?: number;
  /** Bytes that were acknowledged, counted in whole work requests. */
  readonly deliveredBytes: number;
  /** Payload in bits a second, from the start of the flow to its end, or to the end of the simulation. */
  readonly goodputBps: number;
  /** Payload acknowledged within the window, in bits a second of the window. */
  readonly windowBps: number;
  /**
   * 'done', 'running' when time was up, 'stopped' by `Flow.stopNs`, 'waiting' when it never began, or why it failed.
   */
  readonly status: string;
}

/** What a series is about. */
export type SeriesKind = 'queue' | 'rate' | 'target' | 'alpha' | 'notifications' | 'pauses';

/** Values over time. */
export interface ProbeSeries {
  /** What. */
  readonly kind: SeriesKind;
  /** Of what: a port, or 'flow 3'; 'all' for sums over the network. */
  readonly of: string;
  /** 'bytes', 'bit/s', '' or 'packets'. Notifications and pauses are counted from the start. */
  readonly unit: string;
  /** Nanoseconds. */
  readonly times: readonly number[];
  /** At these times. */
  readonly values: readonly number[];
}

/** A queue over the window: bytes, as looks at equal distances found it. */
export interface QueueStats {
  /** Port. */
  readonly name: string;
  /** Looks. */
  readonly samples: number;
  /** Mean of all looks. */
  readonly mean: number;
  /** Standard deviation of all looks. */
  readonly deviation: number;
  /** Quantiles; of more than 262,144 looks every second, fourth ... is taken. */
  readonly p5: number;
  /** Median. */
  readonly p50: number;
  /** See `p5`. */
  readonly p95: number;
  /** Of all looks. */
  readonly max: number;
}

/** The result of a simulation. */
export interface SimulationResult {
  /** When it ended, virtual nanoseconds: with the last flow, or at `stopNs`. Everything is counted up to then. */
  readonly endNs: number;
  /** In the order of `SimulationOptions.flows`. */
  readonly flows: readonly FlowResult[];
  /** What was recorded. */
  readonly series: readonly ProbeSeries[];
  /** Queues of `ProbeOptions.queues` over the window. */
  readonly queueStats: readonly QueueStats[];
  /** Of all hosts together. */
  readonly hosts: Readonly<PortCounters>;
  /** Of all ports of switches and hosts together. */
  readonly network: Readonly<NetworkTotals>;
  /** By port, of those that have sent anything, in the order of nodes: hosts first. */
  readonly ports: readonly PortResult[];
  /** Cycles of buffers that waited for each other, as found. */
  readonly deadlocks: readonly Deadlock[];
  /** Packets with payload that were delivered, each once. */
  readonly dataPackets: number;
  /**
   * Events of the network: frames that began to leave or came out of a link, and what else happens at a time of its
   * own.
   */
  readonly events: number;
  /** Turns of the world. Alone of all results, they depend on the probes. */
  readonly steps: number;
}

/** What one sending end of a link has done. */
export interface PortResult extends Readonly<EgressCounters> {
  /** 'switch0:3', 'host2:0'. */
  readonly name: string;
}

/** Sums over the ports of a network, in frames unless it says otherwise. */
export interface NetworkTotals {
  /** Sent. */
  frames: number;
  /** Sent. */
  bytes: number;
  /** Marked Congestion Experienced. */
  marked: number;
  /** Dropped for want of room. */
  dropped: number;
  /** Lost by chance. */
  lost: number;
  /** Pauses sent. */
  pausesSent: number;
  /** How long priorities of ports were paused, nanoseconds. */
  pausedNs: number;
  /** Most bytes that ever waited at one port. */
  peakQueueBytes: number;
}

/** `HostOptions` with the defaults in. */
export type HostSettings = Required<Omit<HostOptions, 'messageBytes'>> & Pick<HostOptions, 'messageBytes'>;

/** @throws RoceError ERR_ROCE_ARGUMENT naming what is out of range */
export function hostOptions(asked: HostOptions = {}): HostSettings {
  const host: HostSettings = { ...HOST_DEFAULTS, ...asked };
  demandWhole('host.messageBytes', host.messageBytes ?? 1, 1, MAX_MESSAGE_BYTES);
  for (const name of ['ackEveryPackets', 'maxUnacked', 'aheadBytes', 'nicQueueFrames'] as const)
    demandWhole(`host.${name}`, host[name], 1, MAX_BYTES);
  demandWhole('host.ackTimeout', host.ackTimeout, 1, 31);
  demandWhole('host.retryCount', host.retryCount, 0, 7);
  return host;
}

/** @throws RoceError ERR_ROCE_ARGUMENT naming the invalid option */
export function checkOptions(options: SimulationOptions): void {
  const { flows, stopNs, window, probe, mtu = DEFAULT_MTU } = options;
  const topology = checkTopology(options.topology);
  demandWhole('seed', options.seed, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  if (!PATH_MTUS.includes(mtu)) refuse(`mtu is ${mtu}: it is one of ${PATH_MTUS.join(', ')}`);
  if (stopNs !== undefined) demandWhole('stopNs', stopNs, 1, MAX_NS);
  for (const [index, flow] of flows.entries()) checkFlow(flow, `flows[${index}]`, topology.hostCount, stopNs);
  checkRelays(flows);
  if (window !== undefined) {
    // A window behind the end would measure nothing, and report 0.
    demandWhole('window.fromNs', window.fromNs, 0, stopNs === undefined ? MAX_NS : stopNs - 1);
    if (window.toNs !== undefined) demandWhole('window.toNs', window.toNs, window.fromNs + 1, MAX_NS);
  }
  if (probe === undefined) return;
  demandWhole('probe.intervalNs', probe.intervalNs, 1, MAX_NS);
  demandWhole('probe.fromNs', probe.fromNs ?? 0, 0, MAX_NS);
  demandWhole('probe.maxPoints', probe.maxPoints ?? MIN_POINTS, MIN_POINTS, MAX_POINTS);
  demandWhole('probe.queueSampleNs', probe.queueSampleNs ?? 1, 1, MAX_NS);
  if (typeof probe.flows === 'object')
    for (const [index, flow] of probe.flows.entries())
      demandWhole(`probe.flows[${index}]`, flow, 0, Math.max(0, flows.length - 1));
}

function checkFlow(flow: Flow, where: string, hostCount: number, stopNs: number | undefined): void {
  const { src, dst, bytes, startNs, priority = DEFAULT_PRIORITY, operation = 'write' } = flow;
  demandWhole(`${where}.src`, src, 0, hostCount - 1);
  demandWhole(`${where}.dst`, dst, 0, hostCount - 1);
  if (src === dst) refuse(`${where}: host ${src} sends to itself`);
  if (bytes === Infinity) {
    if (stopNs === undefined && flow.stopNs === undefined) refuse(`${where} has no end: stopNs is needed`);
  } else demandWhole(`${where}.bytes`, bytes, 1, Number.MAX_SAFE_INTEGER);
  demandWhole(`${where}.startNs`, startNs, 0, MAX_NS);
  demandWhole(`${where}.priority`, priority, 0, 7);
  if (flow.stopNs !== undefined) demandWhole(`${where}.stopNs`, flow.stopNs, startNs + 1, MAX_NS);
  if (flow.messageBytes !== undefined) demandWhole(`${where}.messageBytes`, flow.messageBytes, 1, MAX_MESSAGE_BYTES);
  if (!OPERATIONS.includes(operation))
    refuse(`${where}.operation is ${operation}: it is one of ${OPERATIONS.join(', ')}`);
}

/** What a host passes on comes to it by one flow and leaves it by one, message for message. */
function checkRelays(flows: readonly Flow[]): void {
  const messages = new Map<string, number>();
  const ends = new Set<string>();
  for (const [index, { relay, operation, bytes, messageBytes = Infinity, src, dst }] of flows.entries()) {
    if (relay === undefined) continue;
    const where = `flows[${index}]`;
    if (operation !== 'send') refuse(`${where} relays: its operation is send`);
    if (!(messageBytes <= bytes) || bytes === Infinity) refuse(`${where} relays: it has bytes and messageBytes`);
    const count = Math.ceil(bytes / messageBytes);
    if (count !== (messages.get(relay) ?? count)) refuse(`${where}: flows of relay ${relay} have as many messages`);
    messages.set(relay, count);
    for (const end of [`${relay} from ${src}`, `${relay} to ${dst}`]) {
      if (ends.has(end)) refuse(`${where}: two flows of relay ${end}`);
      ends.add(end);
    }
  }
}

function demandWhole(name: string, value: number, min: number, max: number): void {
  if (!Number.isSafeInteger(value) || value < min || value > max)
    refuse(`${name} is ${value}: it is a whole number from ${min} to ${max}`);
}

function refuse(why: string): never {
  throw new RoceError('ERR_ROCE_ARGUMENT', `simulation: ${why}`);
}

/** Payload of a full packet by default: the largest path MTU of a link of 1,500 bytes. */
export const DEFAULT_MTU = 1024;
/** The priority of RoCE traffic: DSCP 26 is 3 x 8 + 2 (ref:dcqcn#2). */
export const DEFAULT_PRIORITY = 3;
/** Points of a series by default. */
export const DEFAULT_POINTS = 4_096;

const HOST_DEFAULTS: Omit<HostSettings, 'messageBytes'> = {
  ackEveryPackets: 1,
  maxUnacked: 65_536,
  aheadBytes: 1 << 24,
  ackTimeout: 10,
  retryCount: 7,
  nicQueueFrames: 1,
};
const PATH_MTUS: readonly number[] = [256, 512, 1024, 2048, 4096];
const OPERATIONS: readonly string[] = ['write', 'send', 'read'];
const MIN_POINTS = 16;
const MAX_POINTS = 1 << 22;
const MAX_NS = 1e15;
const MAX_BYTES = 2 ** 31 - 1;
/** The memories of hosts are as long as a work request. */
const MAX_MESSAGE_BYTES = 1 << 26;
