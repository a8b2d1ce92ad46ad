/**
 * All checks on one run: the trace is whole, the go-back-N machines of both ends, what their NAKs and repetitions took,
 * notifications, and counters. Pure: a list of packets goes in, results come out. Owns which checks a run is given, and
 * what makes a trace worth none.
 */
import { type CnpOptions, cnpCheck } from './cnp.ts';
import type { TrafficConnection } from './connection.ts';
import { counterCheck, type PortCounters } from './counters.ts';
import type { CheckResult } from './findings.ts';
import { gbnReceiverCheck } from './gbn-receiver.ts';
import { gbnSenderCheck, type Pace } from './gbn-sender.ts';
import { readGbnCheck } from './read-gbn.ts';
import type { Trace, TracePacket, TrafficEnd } from './trace.ts';

export { type CnpOptions, cnpCheck, expectedCnps } from './cnp.ts';
export type { TrafficConnection } from './connection.ts';
export { counterCheck, expectedCounters } from './counters.ts';
export type { CheckResult } from './findings.ts';
export { gbnReceiverCheck } from './gbn-receiver.ts';
export { gbnSenderCheck, type Pace } from './gbn-sender.ts';
export { readGbnCheck } from './read-gbn.ts';
export { readTrace, type Trace, type TracePacket, type TrafficEnd } from './trace.ts';

/** What is known of a run beside its trace. */
export interface RunFacts {
  readonly connections: readonly TrafficConnection[];
  /** They carry READs, and nothing else; otherwise none. */
  readonly reads: boolean;
  readonly pace: Pace;
  /** Ends whose `rcvd_seq_err` counts implied NAKs as well: counters of one name need not mean one thing. */
  readonly countImplied?: readonly TrafficEnd[];
  /** Packets that the bump was to touch; absent: as many as there are. */
  readonly injected?: number;
  /** Counters of the ends that have some, before and after. */
  readonly counters: Readonly<
    Partial<Record<TrafficEnd, { readonly before: PortCounters; readonly after: PortCounters }>>
  >;
  /** The end whose notifications are judged. */
  readonly cnp?: { readonly end: TrafficEnd; readonly options: CnpOptions };
}

/** Every check that the run allows. Nothing is judged on a trace that `traceFault` finds wanting: ask first. */
export function checkRun(trace: Trace, facts: RunFacts): CheckResult[] {
  const { connections, reads, pace, counters, cnp, countImplied = [] } = facts;
  const results = connections.flatMap((connection) =>
    reads
      ? readGbnCheck(trace, connection, pace)
      : [...gbnSenderCheck(trace, connection, pace), ...gbnReceiverCheck(trace, connection)],
  );
  if (cnp !== undefined) results.push(...cnpCheck(trace, cnp.end, cnp.options));
  for (const end of ['a', 'b'] as const) {
    const counted = counters[end];
    if (counted === undefined) continue;
    const timeouts = sumOf('timeouts', end, results);
    const impliedNaks = countImplied.includes(end) ? sumOf('askedAtOnceNsCount', end, results) : 0;
    const goesBack = sumOf('goesBack', end, results);
    results.push(...counterCheck(trace, end, { ...counted, connections, timeouts, goesBack, impliedNaks }));
  }
  return results;
}

/**
 * Why nothing can be judged by this trace: the bump did not do what it was to do, or packets passed it that the capture
 * does not have. Undefined: it is whole. (Lumina's integrity_check: every packet of the sender is delivered, or was
 * taken away on purpose.)
 */
export function traceFault(
  { packets, injections }: Trace,
  { injected, connections }: Pick<RunFacts, 'injected' | 'connections'>,
): string | undefined {
  if (injected !== undefined && injections.length !== injected)
    return `the bump was to touch ${injected} packets, and touched ${injections.length}`;
  for (const { requester } of connections)
    if (!packets.some(({ end, way }) => end === requester && way === 'sent'))
      return `nothing came from end ${requester}`;
  const touched = new Map(injections.map(({ packet, deeds }) => [packet.number, deeds]));
  for (const end of ['a', 'b'] as const) {
    const due = new Map<string, number>();
    for (const packet of packets) {
      if (packet.end !== end || packet.way !== 'sent') continue;
      const deeds = touched.get(packet.number) ?? [];
      // Who can say what a damaged packet looks like, or how many copies there are: those are not counted.
      if (deeds.some((deed) => deed !== 'marked' && deed !== 'delayed' && deed !== 'held back')) continue;
      count(due, packet, 1);
    }
    for (const packet of packets) if (packet.end !== end && packet.way === 'got') count(due, packet, -1);
    const missing = [...due].find(([, left]) => left > 0);
    if (missing !== undefined) return `a packet from end ${end} came to the bump and is nowhere else: ${missing[0]}`;
  }
  return undefined;
}

function count(due: Map<string, number>, { opcode, psn, destQpn }: TracePacket, by: number): void {
  const key = `opcode ${opcode}, PSN ${psn}, queue pair ${destQpn}`;
  due.set(key, (due.get(key) ?? 0) + by);
}

/** A figure of that end, over all connections. */
function sumOf(name: string, end: TrafficEnd, results: readonly CheckResult[]): number {
  const figures = new Set(results.filter((one) => one.end === end).map((one) => one.figures));
  return [...figures].reduce((sum, { [name]: value }) => sum + (typeof value === 'number' ? value : 0), 0);
}
