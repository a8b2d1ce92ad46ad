/**
 * What was counted between two snapshots of a host, in kinds.
 *
 * Owns wraps, resets, and how names of one kind go together. A counter of 32 bits, or of a width that nobody knows,
 * that fell from its upper half has wrapped; any other was reset, and what it has now is the least that was counted.
 */
import { ALL_KINDS, type Kind } from './kinds.ts';
import { counterOf } from './names.ts';
import type { PortCounts, Settings, Snapshot } from './snapshot.ts';

/** One port between two snapshots. */
export interface PortDelta {
  /** Empty where nothing says it. */
  readonly host: string;
  readonly port: string;
  /** Between the snapshots; undefined where one has no date. */
  readonly seconds: number | undefined;
  readonly figures: ReadonlyMap<Kind, Figure>;
  readonly settings: Settings;
  /** By name, what no table knows and what grew all the same. */
  readonly unknown: ReadonlyMap<string, number>;
}

/** How much of a kind was counted. */
export interface Figure {
  readonly value: number;
  /** Names of the counters it is read from. */
  readonly names: readonly string[];
  /** By priority, where names have one. */
  readonly priorities: ReadonlyMap<number, number>;
}

/** What there is to say about the comparison itself. */
export interface Comparison {
  readonly deltas: readonly PortDelta[];
  readonly remarks: readonly string[];
}

/** What a port has of a kind, 0 if it does not count it. */
export function countOf({ figures }: PortDelta, kind: Kind): number {
  return figures.get(kind)?.value ?? 0;
}

/** "node1 mlx5_0/1". */
export function placeOf({ host, port }: Pick<PortDelta, 'host' | 'port'>): string {
  return host === '' ? port : `${host} ${port}`;
}

/** Compares; `before` undefined: everything since the counters began. */
export function difference(before: Snapshot | undefined, after: Snapshot): Comparison {
  const remarks: string[] = [];
  const deltas: PortDelta[] = [];
  const seconds = secondsBetween(before, after);
  for (const port of after.ports.values()) {
    const earlier = before?.ports.get(port.name);
    if (before !== undefined && earlier === undefined) {
      remarks.push(`${placeOf({ host: after.host, port: port.name })} is in the later snapshot only: not compared.`);
      continue;
    }
    deltas.push(portDelta(earlier, port, { host: after.host, seconds, remarks }));
  }
  for (const name of before?.ports.keys() ?? []) {
    if (!after.ports.has(name))
      remarks.push(`${placeOf({ host: after.host, port: name })} has gone: it is in the earlier snapshot only.`);
  }
  return { deltas, remarks };
}

function secondsBetween(before: Snapshot | undefined, after: Snapshot): number | undefined {
  if (before?.timeMs === undefined || after.timeMs === undefined || after.timeMs <= before.timeMs) return undefined;
  return (after.timeMs - before.timeMs) / 1000;
}

interface Context {
  readonly host: string;
  readonly seconds: number | undefined;
  readonly remarks: string[];
}

function portDelta(before: PortCounts | undefined, after: PortCounts, { host, seconds, remarks }: Context): PortDelta {
  const sums = new Map<Kind, KindSum>();
  const unknown = new Map<string, number>();
  const wrapped: string[] = [];
  const reset: string[] = [];
  for (const [name, value] of after.values) {
    const earlier = before?.values.get(name) ?? (before === undefined ? 0n : value);
    const known = counterOf(name);
    const { grown, how } = growth(earlier, value, known === undefined || known.row.bits === 32);
    if (how === 'wrap') wrapped.push(name);
    if (how === 'reset') reset.push(name);
    if (known === undefined) {
      if (grown > 0) unknown.set(name, grown);
      continue;
    }
    const { kind } = known.row;
    const sum = sums.get(kind) ?? new KindSum();
    sum.add(name, grown, known.row.part === true, known.priority);
    sums.set(kind, sum);
  }
  const place = placeOf({ host, port: after.name });
  if (wrapped.length > 0)
    remarks.push(`${place}: ${listed(wrapped)} passed 2^32 and began again, which is counted in.`);
  if (reset.length > 0)
    remarks.push(
      `${place}: ${listed(reset)} fell: reset, by a driver or a user. What was counted before that is not known.`,
    );
  const figures = new Map<Kind, Figure>();
  for (const kind of ALL_KINDS) {
    const sum = sums.get(kind);
    if (sum !== undefined) figures.set(kind, sum.figure());
  }
  return { host, port: after.name, seconds, figures, settings: { ...before?.settings, ...after.settings }, unknown };
}

/** Names of one kind on one port. */
class KindSum {
  readonly #names: string[] = [];
  readonly #priorities = new Map<number, number>();
  #parts = 0;
  #whole = 0;

  add(name: string, value: number, part: boolean, priority: number | undefined): void {
    this.#names.push(name);
    if (priority !== undefined) this.#priorities.set(priority, Math.max(value, this.#priorities.get(priority) ?? 0));
    else if (part) this.#parts += value;
    else this.#whole = Math.max(this.#whole, value);
  }

  /** Totals, parts and priorities count the same events, so the largest has them all. */
  figure(): Figure {
    const byPriority = [...this.#priorities.values()].reduce((sum, value) => sum + value, 0);
    return {
      value: Math.max(this.#whole, this.#parts, byPriority),
      names: this.#names,
      priorities: this.#priorities,
    };
  }
}

function growth(before: bigint, after: bigint, may32: boolean): { grown: number; how: 'grown' | 'wrap' | 'reset' } {
  if (after >= before) return { grown: Number(after - before), how: 'grown' };
  if (may32 && before < TWO_32 && before >= TWO_32 / 2n) return { grown: Number(after + TWO_32 - before), how: 'wrap' };
  return { grown: Number(after), how: 'reset' };
}

/** The first three, and how many more there are. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, 3).join(', ');
  return names.length > 3 ? `${shown} and ${names.length - 3} more` : shown;
}

const TWO_32 = 2n ** 32n;
