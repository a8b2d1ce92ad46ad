/**
 * A device's counters against the trace: what each of them has to have risen by, from what passed the bump. Lumina
 * found counters of NICs that stood still, so a counter is not trusted. No rule of the registry is about them: a
 * difference is reported, and breaks none.
 *
 * Owns the expectations. Names are those of rdma_rxe's hw_counters (ref:rxe#12), which our device shares; a counter
 * that a device does not have is passed over, one that it has and that stood still is not.
 */
import { defined, OPCODE_FLAGS, Op, OpFlag } from 'rocev2/packets';
import type { Deviation } from '../rules/types.ts';
import { type EndPacket, endPackets, type TrafficConnection, type TrafficRole } from './connection.ts';
import type { CheckResult } from './findings.ts';
import type { Trace, TrafficEnd } from './trace.ts';

export type PortCounters = Readonly<Record<string, number>>;

export interface CounterOptions {
  readonly before: PortCounters;
  readonly after: PortCounters;
  readonly connections: readonly TrafficConnection[];
  /** Timers that ran out at this end, as the go-back-N checks found. */
  readonly timeouts?: number;
  /** Times that it went back for whatever reason, likewise. */
  readonly goesBack?: number;
  /** Gaps in READ responses that it acted upon at once, where its `rcvd_seq_err` counts them as NAKs. */
  readonly impliedNaks?: number;
}

/** One result for each counter that the device has, its name in `check`: `counter rcvd_pkts`. */
export function counterCheck(trace: Trace, end: TrafficEnd, options: CounterOptions): CheckResult[] {
  const { before, after } = options;
  return Object.entries(expectedCounters(trace, end, options)).flatMap(([name, expected]) => {
    const now = after[name];
    if (now === undefined) return [];
    const rose = now - (before[name] ?? 0);
    const ok = rose === expected;
    const difference = ok ? '' : `${name} rose by ${rose}, and the trace has ${expected}`;
    return [{ check: `counter ${name}`, end, seen: 1, ok, difference, variation: '', figures: { rose, expected } }];
  });
}

/** What counters of the device at `end` have to have risen by. */
export function expectedCounters(
  trace: Trace,
  end: TrafficEnd,
  { connections, timeouts, goesBack, impliedNaks = 0 }: Omit<CounterOptions, 'before' | 'after'>,
): Record<string, number> {
  const here = trace.packets.filter((packet) => packet.end === end);
  const got = here.filter(({ way, whole }) => way === 'got' && whole);
  const sent = here.filter(({ way }) => way === 'sent');
  const counted: Record<string, number> = {
    sent_pkts: sent.length,
    rcvd_pkts: got.length,
    bad_icrc: here.filter(({ way, whole }) => way === 'got' && !whole).length,
    np_cnp_sent: sent.filter(({ opcode }) => opcode === Op.Cnp).length,
    np_ecn_marked_roce_packets: got.filter(({ marked, opcode }) => marked && opcode !== Op.Cnp).length,
    ...{ out_of_seq_request: 0, send_rnr_err: 0, duplicate_request: 0, rcvd_seq_err: impliedNaks, rcvd_rnr_err: 0 },
    ...{ retry_exceeded_err: 0, retry_rnr_exceeded_err: 0, retransmitted_pkts: 0 },
    ...{ rdma_sends: 0, rdma_recvs: 0 },
    ...defined({ local_ack_timeout_err: timeouts, completer_retry_err: goesBack }),
  };
  for (const connection of connections) {
    const role: TrafficRole = connection.requester === end ? 'requester' : 'responder';
    const some = role === 'requester' ? ofRequester(trace, connection) : ofResponder(trace, connection);
    for (const [name, value] of Object.entries(some)) counted[name] = (counted[name] ?? 0) + value;
  }
  return counted;
}

function ofRequester(trace: Trace, connection: TrafficConnection): Record<string, number> {
  const steps = endPackets(trace, connection, 'requester');
  let newest = -1;
  let again = 0;
  for (const { way, kind, psn, last } of steps) {
    if (way !== 'sent' || (kind !== 'request' && kind !== 'read-request')) continue;
    if (psn <= newest) again++;
    newest = Math.max(newest, last);
  }
  const gotten = (kind: string): number => steps.filter((one) => one.way === 'got' && one.kind === kind).length;
  const sends = new Set(steps.filter(endsSend).map(({ psn }) => psn)).size;
  return {
    ...{ rcvd_seq_err: gotten('nak'), rcvd_rnr_err: gotten('rnr-nak'), retransmitted_pkts: again },
    rdma_sends: sends,
  };
}

function ofResponder(trace: Trace, connection: TrafficConnection): Record<string, number> {
  const steps = endPackets(trace, connection, 'responder');
  let expected = 0;
  let duplicates = 0;
  let receives = 0;
  for (const step of steps) {
    const { way, kind, psn, last } = step;
    if (way !== 'got' || (kind !== 'request' && kind !== 'read-request')) continue;
    if (psn < expected) duplicates++;
    if (psn !== expected) continue;
    expected = last + 1;
    if (endsSend(step)) receives++;
  }
  const said = (kind: string): number => steps.filter((one) => one.way === 'sent' && one.kind === kind).length;
  return {
    ...{ out_of_seq_request: said('nak'), send_rnr_err: said('rnr-nak'), duplicate_request: duplicates },
    rdma_recvs: receives,
  };
}

/** The last packet of a SEND, towards the responder. */
function endsSend({ kind, packet }: EndPacket): boolean {
  const flags = OPCODE_FLAGS[packet.opcode] ?? 0;
  return kind === 'request' && (flags & OpFlag.Send) !== 0 && (flags & (OpFlag.Last | OpFlag.Only)) !== 0;
}

/** Counters of which we know that a device counts otherwise, and how. */
export const COUNTER_DEVIATIONS: readonly (Deviation & { readonly counter: string })[] = [
  {
    counter: 'rcvd_seq_err',
    device: 'rxe',
    does: 'Counts a sequence NAK only when it acknowledges something: one for the oldest packet that is open is not counted.',
    evidence: 'rxe_comp.c#check_ack; seen live (6.12)',
  },
  {
    counter: 'rcvd_pkts',
    device: 'rxe',
    does: 'Does not count congestion notifications, which it drops.',
    evidence: 'ref:conformance#CNP-03; seen live (6.12)',
  },
];
