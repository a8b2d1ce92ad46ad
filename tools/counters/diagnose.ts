/**
 * Snapshots to findings. Owns which snapshots are compared with which, and the order of what is found. No I/O, no
 * clock.
 */
import { SEVERITIES, SYMPTOMS } from 'rocev2/pcap';
import { difference, type PortDelta } from './difference.ts';
import type { CounterFinding, FindingDraft } from './finding.ts';
import { type Outlier, outliersOf } from './fleet.ts';
import { FLEET_RULES, NETWORK_RULES } from './rules-network.ts';
import { TRANSPORT_RULES } from './rules-transport.ts';
import type { Snapshot } from './snapshot.ts';

/** What counters say. */
export interface CounterAnalysis {
  /** Hosts with at least one port compared; an empty name where nothing says it. */
  readonly hosts: readonly string[];
  readonly ports: readonly PortDelta[];
  readonly findings: readonly CounterFinding[];
  /** Ports that stand out among many. */
  readonly outliers: readonly Outlier[];
  /** About the comparison: hosts and ports without a counterpart, wraps, resets, lines that were not read. */
  readonly remarks: readonly string[];
}

/** Compares the first and the last snapshot of each host, which may come in any order. */
export function diagnose(snapshots: readonly Snapshot[]): CounterAnalysis {
  const series = new Map<string, readonly Snapshot[]>();
  for (const snapshot of snapshots) series.set(snapshot.host, [...(series.get(snapshot.host) ?? []), snapshot]);
  const remarks: string[] = snapshots.filter(({ unreadCount }) => unreadCount > 0).map(unreadText);
  const ports: PortDelta[] = [];
  const alone: string[] = [];
  for (const [host, found] of series) {
    const ordered = inOrder(found);
    series.set(host, ordered);
    const [first, last] = [ordered[0], ordered.at(-1)];
    if (first === undefined || last === undefined) continue;
    if (first === last && series.size > 1) {
      alone.push(host);
      continue;
    }
    const { deltas, remarks: said } = difference(first === last ? undefined : first, last);
    ports.push(...deltas);
    remarks.push(...said);
    if (first === last)
      remarks.push(
        'There is one snapshot, so all figures are those since the counters began: what is old and what is new cannot be told apart.',
      );
    else if (deltas.some(({ seconds }) => seconds === undefined))
      remarks.push(
        `${host === '' ? 'The snapshots have' : `${host} has`} no dates, or dates out of order: there are no rates.`,
      );
  }
  for (const host of alone)
    remarks.push(`${host === '' ? 'One snapshot without a host' : `Host ${host}`} is there once only: not compared.`);
  return {
    hosts: [...new Set(ports.map(({ host }) => host))],
    ports,
    findings: findingsOf(ports),
    outliers: outliersOf(ports, series),
    remarks,
  };
}

function findingsOf(ports: readonly PortDelta[]): CounterFinding[] {
  const rules = [...TRANSPORT_RULES, ...NETWORK_RULES];
  const drafts = [
    ...FLEET_RULES.map((rule) => rule(ports)),
    ...ports.flatMap((port) => rules.map((rule) => rule(port, ports))),
  ].filter((draft) => draft !== undefined);
  return drafts
    .map(complete)
    .sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity))
    .slice(0, MOST_FINDINGS);
}

function complete(draft: FindingDraft): CounterFinding {
  const symptom = SYMPTOMS.find(({ id }) => id === draft.id);
  const {
    evidence = {},
    advice = symptom?.advice ?? [],
    commands = (symptom?.commands ?? []).filter((command) => !command.includes('FILE')),
  } = draft;
  return { ...draft, evidence, advice, commands };
}

/** By date where all have one, else by what their names say, else as they were given. */
function inOrder(snapshots: readonly Snapshot[]): Snapshot[] {
  const dated = snapshots.every(({ timeMs }) => timeMs !== undefined);
  return [...snapshots].sort((a, b) => (dated ? (a.timeMs ?? 0) - (b.timeMs ?? 0) : compareStages(a.stage, b.stage)));
}

function compareStages(a: string, b: string): number {
  const rank = (stage: string): number => (/^before/i.test(stage) ? 0 : /^after/i.test(stage) ? 2 : 1);
  if (a === '' || b === '' || a === b) return 0;
  return rank(a) - rank(b) || a.localeCompare(b, 'en', { numeric: true });
}

function unreadText({ origin, unread, unreadCount }: Snapshot): string {
  return `${origin}: ${unreadCount} line${unreadCount === 1 ? ' was' : 's were'} not read, such as "${unread[0] ?? ''}".`;
}

const MOST_FINDINGS = 200;
