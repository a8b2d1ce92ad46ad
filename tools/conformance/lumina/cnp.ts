/**
 * Congestion notifications against the marks that drew them: how far apart they are, and what the distance is kept for:
 * the port, the pair of addresses, the destination or the flow. Rules: CNP-05, CNP-07, CNP-08 (Lumina's cnp_check, its
 * pacing modes and its NACK-triggered CNPs).
 *
 * Owns the classification and the bound. Looks at one end as the notification point; which other end it speaks to, the
 * packets say.
 */
import { Op } from 'rocev2/packets';
import { type CheckResult, Findings } from './findings.ts';
import { us } from './gbn-sender.ts';
import type { Trace, TracePacket, TrafficEnd } from './trace.ts';

export const CNP_SCOPES = ['port', 'destination', 'address pair', 'flow'] as const;
/** What a notification point keeps one distance for. */
export type CnpScope = (typeof CNP_SCOPES)[number];

export interface CnpOptions {
  /**
   * What is known of its distance, in nanoseconds; absent: the least that is seen between two of a flow is taken for
   * it.
   */
  readonly minTimeBetweenCnpsNs?: number;
  /** Queue pairs of that end that packets are marked for, and of the peers that they speak to. */
  readonly flows: readonly { readonly qpn: number; readonly peerQpn: number }[];
  /** How far times of the bump may be from those of the device. */
  readonly slackNs: number;
}

export function cnpCheck(trace: Trace, end: TrafficEnd, options: CnpOptions): CheckResult[] {
  const found = new Findings('cnp', end, ['CNP-05', 'CNP-07', 'CNP-08']);
  const here = trace.packets.filter((packet) => packet.end === end && packet.whole);
  const marks = here.filter(({ way, marked, opcode }) => way === 'got' && marked && opcode !== Op.Cnp);
  const cnps = here.filter(({ way, opcode }) => way === 'sent' && opcode === Op.Cnp);
  const naks = here.filter(({ way, syndrome }) => way === 'sent' && syndrome === 0x60);
  Object.assign(found.figures, { marks: marks.length, cnps: cnps.length, naks: naks.length });
  const drawn = causes(found, { marks, cnps, naks }, options);
  if (drawn.length > 0) paces(found, marks, drawn, options);
  return found.results();
}

interface Seen {
  readonly marks: readonly TracePacket[];
  readonly cnps: readonly TracePacket[];
  readonly naks: readonly TracePacket[];
}

/**
 * The CNPs that marks drew: each has a mark of its flow before it that no other has used up. The rest came with a NAK,
 * or from nowhere.
 */
function causes(found: Findings, { marks, cnps, naks }: Seen, { flows }: CnpOptions): TracePacket[] {
  const drawn: TracePacket[] = [];
  let withNak = 0;
  for (const flow of flows) {
    const notifications = cnps.filter(({ destQpn }) => destQpn === flow.peerQpn);
    let used = Number.NEGATIVE_INFINITY;
    for (const notification of notifications) {
      const { timeNs, number } = notification;
      const mark = marks.findLast((one) => one.destQpn === flow.qpn && one.number < number);
      const byMark = mark !== undefined && mark.number > used;
      if (byMark) drawn.push(notification);
      used = mark?.number ?? used;
      const besideNak = naks.some((nak) => nak.destQpn === flow.peerQpn && Math.abs(nak.timeNs - timeNs) < NEAR_NS);
      if (!byMark && besideNak) withNak++;
      found.seen('CNP-05', byMark || besideNak ? undefined : `a CNP to queue pair ${flow.peerQpn} without a mark`);
    }
  }
  // Silence without a mark is a rule kept as well.
  if (marks.length === 0 && cnps.length === 0) found.seen('CNP-05');
  for (const _ of naks) found.seen('CNP-08');
  found.figures['cnpsWithNaks'] = withNak;
  return drawn.sort((a, b) => a.number - b.number);
}

function paces(
  found: Findings,
  marks: readonly TracePacket[],
  cnps: readonly TracePacket[],
  { minTimeBetweenCnpsNs, flows, slackNs }: CnpOptions,
): void {
  const groups = (scope: CnpScope): number[][] => {
    const lists = new Map<string, number[]>();
    for (const packet of cnps) {
      const key = keyOf(packet, scope);
      lists.set(key, [...(lists.get(key) ?? []), packet.timeNs]);
    }
    return [...lists.values()].map(gaps);
  };
  const least = (scope: CnpScope): number => Math.min(...groups(scope).flat());
  const bound = minTimeBetweenCnpsNs ?? least('flow');
  const scope = CNP_SCOPES.find((one) => least(one) >= bound - slackNs);
  Object.assign(found.figures, { pacedBy: scope ?? 'nothing', flows: flows.length });
  found.spread('cnpGapNs', groups(scope ?? 'flow').flat());
  for (const gap of groups('flow').flat())
    found.seen('CNP-07', gap < bound - slackNs ? `two CNPs of a flow are ${us(gap)} apart` : undefined);
  if (scope === undefined || !Number.isFinite(bound)) return;
  const { most, least: fewest } = expectedCnps(marks, scope, bound, slackNs);
  found.figures['expectedCnps'] = most;
  // A scope that is kept by chance explains fewer CNPs than there are, never more.
  found.seen(
    'CNP-07',
    cnps.length <= most && cnps.length >= fewest
      ? undefined
      : `${cnps.length} CNPs, where ${marks.length} marks paced by ${scope} draw ${fewest} to ${most}`,
  );
}

/**
 * How many CNPs these marks draw when at most one is sent for each `scope` in `boundNs`, with times that may be off by
 * `slackNs`.
 */
export function expectedCnps(
  marks: readonly TracePacket[],
  scope: CnpScope,
  boundNs: number,
  slackNs: number,
): { readonly least: number; readonly most: number } {
  const count = (distance: number): number => {
    const last = new Map<string, number>();
    let total = 0;
    for (const packet of marks) {
      const key = keyOf(answerTo(packet), scope);
      if (packet.timeNs - (last.get(key) ?? Number.NEGATIVE_INFINITY) < distance) continue;
      last.set(key, packet.timeNs);
      total++;
    }
    return total;
  };
  return { least: count(boundNs + slackNs), most: count(Math.max(0, boundNs - slackNs)) };
}

/** As a CNP for it would be addressed; a flow is known by the queue pair here, which marks name and CNPs do not. */
function answerTo(packet: TracePacket): TracePacket {
  return { ...packet, source: packet.destination, destination: packet.source };
}

function keyOf({ source, destination, destQpn }: TracePacket, scope: CnpScope): string {
  switch (scope) {
    case 'port':
      return '';
    case 'destination':
      return destination;
    case 'address pair':
      return `${source} ${destination}`;
    case 'flow':
      return `${source} ${destination} ${destQpn}`;
  }
}

const gaps = (times: readonly number[]): number[] => times.slice(1).map((time, i) => time - (times[i] ?? time));

/** A CNP that a NAK brings leaves with it. */
const NEAR_NS = 1e6;
