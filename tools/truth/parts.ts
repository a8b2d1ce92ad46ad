/**
 * Captures that lack something, or that are of both hosts: what the analyzer makes of them.
 *
 * Owns how such a capture is made of a run, and what is counted: alarms that are errors, and losses that were none.
 */

import type { Analysis, CapturedPacket, TransportEvent } from 'rocev2/pcap';
import { Prng } from 'rocev2/sim';
import { analyze } from './judge.ts';
import type { KnownRun } from './recording.ts';

/** The figures of one kind and one sort of capture. */
export interface PartRow {
  readonly kind: string;
  readonly capture: string;
  readonly captures: number;
  /** Captures with a finding that is an error. */
  readonly withErrors: number;
  /** Requests that the wire lost, that are told to be lost, and those of them that were not. */
  readonly lost: number;
  readonly told: number;
  readonly falselyTold: number;
}

/** The sorts of captures, by name: how each is made of a run. */
const SORTS: Readonly<Record<string, (run: KnownRun, random: Prng) => CapturedPacket[]>> = {
  'both hosts, one clock': (run) => merged(run, 0),
  'both hosts, clocks 1 ms apart': (run) => merged(run, 1_000_000),
  'one packet in 10': ({ requester }, random) => requester.filter(() => random.below(10) === 0),
  '5 % missing': ({ requester }, random) => requester.filter(() => random.below(20) > 0),
  'requests only': ({ requester }) => requester.filter(({ direction }) => direction === requester[0]?.direction),
  'answers only': ({ requester }) => requester.filter(({ direction }) => direction !== requester[0]?.direction),
};

/** What is made of one run. */
export function partsOf(kind: string, run: KnownRun, seed: number): PartRow[] {
  const lost = run.naks.filter(({ missing }) => missing === 'lost');
  const lostPsns = new Set(lost.map(({ psn }) => psn));
  for (const { psn, missing } of run.gaps) if (missing === 'lost') lostPsns.add(psn);
  return Object.entries(SORTS).map(([capture, make]) => {
    const packets = make(run, new Prng(seed).fork(capture)).map((packet, i) => ({ ...packet, number: i + 1 }));
    const analysis = analyze(packets);
    const told = lossesOf(analysis);
    return {
      kind,
      capture,
      captures: 1,
      withErrors: analysis.findings.some(({ severity }) => severity === 'error') ? 1 : 0,
      lost: lost.length,
      told: told.length,
      falselyTold: falselyTold(told, lostPsns),
    };
  });
}

/** One row for each kind and sort. */
export function sumParts(rows: readonly PartRow[]): PartRow[] {
  const sums = new Map<string, PartRow>();
  for (const row of rows) {
    const key = `${row.kind}|${row.capture}`;
    const sum = sums.get(key);
    sums.set(key, {
      ...row,
      captures: row.captures + (sum?.captures ?? 0),
      withErrors: row.withErrors + (sum?.withErrors ?? 0),
      lost: row.lost + (sum?.lost ?? 0),
      told: row.told + (sum?.told ?? 0),
      falselyTold: row.falselyTold + (sum?.falselyTold ?? 0),
    });
  }
  return [...sums.values()];
}

/** Requests that are told to be lost, at the first interface. */
function lossesOf({ events, conversations }: Analysis): TransportEvent[] {
  const first = conversations[0]?.id;
  return events.filter(
    ({ kind, count, requester, sender, conversation }) =>
      kind === 'loss' && requester === 0 && sender === 0 && conversation === first && count === 1,
  );
}

/** How many of these are not true; of those that are told by their number, how many are told too often. */
export function falselyTold(
  told: readonly Pick<TransportEvent, 'psn' | 'among'>[],
  lostPsns: ReadonlySet<number>,
): number {
  const groups = new Map<string, { readonly among: readonly number[]; told: number }>();
  for (const { psn, among = [psn] } of told) {
    const key = among.join();
    const group = groups.get(key) ?? { among, told: 0 };
    group.told++;
    groups.set(key, group);
  }
  let falsely = 0;
  for (const { among, told: count } of groups.values())
    falsely += Math.max(0, count - among.filter((psn) => lostPsns.has(psn)).length);
  return falsely;
}

/** Two interfaces, by their own clocks. */
function merged({ requester, responder }: KnownRun, offsetNs: number): CapturedPacket[] {
  const there = responder.map((packet) => {
    const timeNs = packet.seconds * 1e9 + packet.nanoseconds + offsetNs;
    return { ...packet, interfaceIndex: 1, seconds: Math.floor(timeNs / 1e9), nanoseconds: timeNs % 1e9 };
  });
  const timeOf = ({ seconds, nanoseconds }: CapturedPacket): number => seconds * 1e9 + nanoseconds;
  return [...requester, ...there].sort((one, other) => timeOf(one) - timeOf(other));
}
