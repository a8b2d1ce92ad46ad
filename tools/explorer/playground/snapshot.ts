/**
 * Everything there is to see at one moment, as plain data: queue pairs with both of their machines, queues, timers,
 * rates, memory, completions and packets under way. Owns the shapes and the copying; changes nothing.
 */
import { defined } from 'rocev2/packets';
import {
  type CmInspection,
  type CmState,
  QP_STATE_NAMES,
  type QpInspection,
  type QpState,
  type RateState,
  RcQueuePair,
  UnreliableQueuePair,
} from 'rocev2/transport';
import type { ConnectedEnd, PlaygroundHost } from './ends.ts';
import { type ByteRange, REGION_NAMES, type RegionName } from './memory.ts';
import type { PolledCompletion } from './notes.ts';
import type { PacketSummary } from './packet-view.ts';
import type { RunEnd, ScenarioRun, SessionStep } from './run.ts';

/** The whole session at one moment. */
export interface Snapshot {
  /** Steps taken. */
  readonly position: number;
  readonly timeNs: number;
  readonly end: RunEnd;
  /** Undefined before the first. */
  readonly last: SessionStep | undefined;
  readonly hosts: readonly HostSnapshot[];
  /** Packets on their way, oldest first. */
  readonly inFlight: readonly PacketSummary[];
}

/** One host. */
export interface HostSnapshot {
  readonly name: string;
  readonly address: string;
  readonly queuePairs: readonly QpSnapshot[];
  readonly memory: readonly RegionSnapshot[];
  /** Oldest first. */
  readonly completions: readonly PolledCompletion[];
  /** Those that are not 0. */
  readonly counters: Readonly<Record<string, number>>;
  /** Bytes that wait in the switch for this host; in a ring, all that wait in its switch. */
  readonly queuedBytes: number;
  /** Its switch has asked it to pause. */
  readonly paused: boolean;
  /** In a ring: the next switch has asked its switch to pause. */
  readonly switchPaused: boolean;
  /** Packets sent. */
  readonly sent: number;
}

/** One queue pair. */
export interface QpSnapshot extends QpInspection {
  readonly connection: number;
  readonly side: 0 | 1;
  readonly qpn: number;
  /** Host and number of the peer. */
  readonly peerHost: number;
  readonly peerQpn: number;
  readonly state: QpState;
  readonly stateName: (typeof QP_STATE_NAMES)[number];
  /** Where its connection stands for the connection manager; absent: it knows of none. */
  readonly cm?: CmState;
  /** Its timers, and when they expire. */
  readonly timers: readonly TimerSnapshot[];
  /** Where congestion control stands; absent without it. */
  readonly rate?: RateState;
}

/** A deadline. */
export interface TimerSnapshot {
  readonly name: 'ACK timeout' | 'RNR pause' | 'rate' | CmTimerName;
  readonly deadlineNs: number;
  /** Of a message that is sent again: how often that may still happen. */
  readonly retriesLeft?: number;
}

/** What the connection manager waits for: until it sends a message again, or does not, or its state ends. */
export type CmTimerName =
  | `${'REQ' | 'REP' | 'DREQ'} again`
  | `no ${'REP' | 'RTU' | 'DREP'}`
  | 'no sign of the peer'
  | 'no answer'
  | 'TIMEWAIT'
  | 'refusal';

/** One region of memory. */
export interface RegionSnapshot {
  readonly name: RegionName;
  readonly iova: bigint;
  readonly rkey: number;
  /** The memory itself: to be read, and not to be kept. */
  readonly bytes: Uint8Array;
  /** What has changed with the last thing that was asked for. */
  readonly changed: readonly ByteRange[];
}

/** What there is to see of a run. */
export function takeSnapshot(run: ScenarioRun): Snapshot {
  const { network, hosts, steps, end, packets } = run;
  return {
    ...{ position: steps.length, timeNs: run.now, end, last: steps[steps.length - 1] },
    hosts: hosts.list.map((host, index) => ({
      ...{ name: host.name, address: String(host.address) },
      queuePairs: hosts.endpoints.filter((one) => one.host === index).map((one) => qpSnapshot(one, run)),
      memory: REGION_NAMES.map((name) => regionSnapshot(host, name)),
      completions: hosts.completions.filter((one) => one.host === index),
      counters: countersOf(host),
      queuedBytes: network.queuedBytes(index),
      ...network.pausesOf(index),
      sent: network.flights.filter(({ from, copyOf }) => from === index && copyOf === 0).length,
    })),
    inFlight: network.inFlight().map((flight) => packets.summary(flight)),
  };
}

/** What a queue pair is doing. */
export function inspectionOf({ core }: ConnectedEnd['qp']): QpInspection {
  if (core instanceof RcQueuePair || core instanceof UnreliableQueuePair) return core.inspect();
  return { sends: [], receives: [] };
}

function qpSnapshot(endpoint: ConnectedEnd, { hosts }: ScenarioRun): QpSnapshot {
  const { connection, side, qp } = endpoint;
  const peer = hosts.peerOf(endpoint);
  const inspection = inspectionOf(qp);
  const { congestion } = qp;
  const cm = hosts.connecting.inspectionOf(endpoint);
  return {
    ...inspection,
    ...{ connection, side, qpn: qp.qpn, peerHost: peer.host, peerQpn: peer.qp.qpn },
    ...{ state: qp.state, stateName: QP_STATE_NAMES[qp.state], timers: [...timersOf(qp, inspection), ...cmTimers(cm)] },
    ...defined({ rate: congestion, cm: cm?.state }),
  };
}

function timersOf({ core }: ConnectedEnd['qp'], { requester }: QpInspection): TimerSnapshot[] {
  const timers: TimerSnapshot[] = [];
  if (requester !== undefined && requester.deadline < Infinity)
    timers.push({ name: requester.rnrWaiting ? 'RNR pause' : 'ACK timeout', deadlineNs: requester.deadline });
  const paced = core.pacer?.deadline ?? Infinity;
  if (paced < Infinity) timers.push({ name: 'rate', deadlineNs: paced });
  return timers;
}

/** The one timer that the connection manager has for a connection. */
function cmTimers(cm: CmInspection | undefined): TimerSnapshot[] {
  const waits = cm && WAITS[cm.state];
  if (cm === undefined || waits === undefined || cm.deadline === Infinity) return [];
  const { deadline: deadlineNs, retriesLeft } = cm;
  if (cm.next === 'wait') return [{ name: 'no sign of the peer', deadlineNs }];
  if (cm.next === 'repeat' && waits.sent !== undefined)
    return [{ name: `${waits.sent} again`, deadlineNs, retriesLeft }];
  return [{ name: waits.end, deadlineNs }];
}

function regionSnapshot({ memory }: PlaygroundHost, name: RegionName): RegionSnapshot {
  const { iova, rkey, bytes } = memory.regions[name];
  return {
    ...{ name, iova, rkey, bytes },
    // Compares every byte: only on request.
    get changed() {
      return memory.changed(name);
    },
  };
}

function countersOf({ device }: PlaygroundHost): Record<string, number> {
  const all: [string, number][] = [...Object.entries(device.counters), ...Object.entries(device.portCounters)];
  return Object.fromEntries(all.filter(([, value]) => value !== 0));
}

/** By state: the message that has no answer yet, and what the time without one ends in. */
const WAITS: Readonly<
  Partial<
    Record<CmState, { readonly sent?: 'REQ' | 'REP' | 'DREQ'; readonly end: Exclude<CmTimerName, `${string} again`> }>
  >
> = {
  'req-sent': { sent: 'REQ', end: 'no REP' },
  'mra-req-rcvd': { sent: 'REQ', end: 'no REP' },
  'req-rcvd': { end: 'no answer' },
  'mra-req-sent': { end: 'no answer' },
  'rep-sent': { sent: 'REP', end: 'no RTU' },
  'mra-rep-rcvd': { sent: 'REP', end: 'no RTU' },
  'dreq-sent': { sent: 'DREQ', end: 'no DREP' },
  timewait: { end: 'TIMEWAIT' },
  rejected: { end: 'refusal' },
};
