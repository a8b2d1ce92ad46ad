/**
 * Which port of many stands out, and since when.
 *
 * Owns the statistic: the share of all that was counted, and the ratio to the median of the ports. Both are robust: one
 * port that is far off moves neither.
 */
import { countOf, difference, type PortDelta, placeOf } from './difference.ts';
import { ALL_KINDS, type Kind } from './kinds.ts';
import type { Snapshot } from './snapshot.ts';

/** A port that has counted much more of a kind than the others. */
export interface Outlier {
  readonly kind: Kind;
  /** "node7 mlx5_0/1". */
  readonly port: string;
  readonly value: number;
  /** Of what all ports counted, 0 to 1. */
  readonly share: number;
  /** Of the ports that count it, this one included. */
  readonly median: number;
  readonly ports: number;
  /** With more than two snapshots: milliseconds since 1970 of the last snapshot before it began; else undefined. */
  readonly sinceMs: number | undefined;
  /** With more than two snapshots: the place in the series of the snapshot before it began, from 1. */
  readonly sinceSnapshot: number | undefined;
}

/** The ports that stand out, those with the largest share first. `series`: the snapshots of each host, in order. */
export function outliersOf(
  deltas: readonly PortDelta[],
  series: ReadonlyMap<string, readonly Snapshot[]> = new Map(),
): Outlier[] {
  const found: Outlier[] = [];
  for (const kind of ALL_KINDS) {
    if (TRAFFIC.has(kind)) continue;
    const counting = deltas.filter(({ figures }) => figures.has(kind));
    if (counting.length < LEAST_PORTS) continue;
    const values = counting.map((delta) => countOf(delta, kind));
    const total = values.reduce((sum, value) => sum + value, 0);
    const median = medianOf(values);
    for (const delta of counting) {
      const value = countOf(delta, kind);
      if (value < LEAST_VALUE || value < LEAST_RATIO * Math.max(median, 1)) continue;
      const begun = beginning(series.get(delta.host) ?? [], delta.port, kind);
      found.push({
        kind,
        port: placeOf(delta),
        value,
        share: value / total,
        median,
        ports: counting.length,
        sinceMs: begun?.timeMs,
        sinceSnapshot: begun?.at,
      });
    }
  }
  return found.sort((a, b) => b.share - a.share || b.value - a.value).slice(0, MOST_OUTLIERS);
}

/** The snapshot before the first step in which a fair part of the growth lies. */
function beginning(
  snapshots: readonly Snapshot[],
  port: string,
  kind: Kind,
): { at: number; timeMs: number | undefined } | undefined {
  if (snapshots.length < 3) return undefined;
  const steps = snapshots.slice(1).map((after, at) => {
    const delta = difference(snapshots[at], after).deltas.find((each) => each.port === port);
    return delta === undefined ? 0 : countOf(delta, kind);
  });
  const most = Math.max(...steps);
  const at = steps.findIndex((value) => value >= most * FAIR_PART);
  return at < 0 || most === 0 ? undefined : { at: at + 1, timeMs: snapshots[at]?.timeMs };
}

export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

/** What grows with the work of a host, and says nothing about its health. */
const TRAFFIC: ReadonlySet<Kind> = new Set<Kind>([
  'rx-packets',
  'tx-packets',
  'priority-rx',
  'priority-tx',
  'cm-accepted',
  'cm-reply-received',
]);
const LEAST_PORTS = 3;
const LEAST_VALUE = 10;
const LEAST_RATIO = 5;
const FAIR_PART = 0.1;
const MOST_OUTLIERS = 20;
