/**
 * Who has how many of the requests that no application has looked at yet, by listener and by source address, and which
 * of them gives way to another.
 *
 * The source with most requests gives way first, its oldest request before the others; so one source cannot displace
 * others, and of many sources with one request each the oldest goes. Each call takes constant time, but for one step
 * per listener.
 * Owns the counts. Never: a limit, a message, a connection.
 */

interface Source<T> {
  readonly key: string;
  readonly group: Group<T>;
  /** Oldest first. */
  readonly entries: Set<T>;
}

interface Group<T> {
  readonly sources: Map<string, Source<T>>;
  /** Sources by the number of their entries; those that have had it for longest first. */
  readonly byCount: Set<Source<T>>[];
  /** Entries of the source that has most. */
  most: number;
  size: number;
}

/** Shares of listeners (`G`) in entries (`T`). */
export class RequestShares<G, T> {
  readonly #groups = new Map<G, Group<T>>();
  readonly #sources = new Map<T, Source<T>>();

  has(entry: T): boolean {
    return this.#sources.has(entry);
  }

  /** Entries, and listeners that have some. */
  get size(): number {
    return this.#sources.size + this.#groups.size;
  }

  /** Entries of one source at one listener. */
  countOf(listener: G, source: string): number {
    return this.#groups.get(listener)?.sources.get(source)?.entries.size ?? 0;
  }

  add(listener: G, source: string, entry: T): void {
    const group = this.#groups.get(listener) ?? { sources: new Map(), byCount: [], most: 0, size: 0 };
    this.#groups.set(listener, group);
    const known = group.sources.get(source) ?? { key: source, group, entries: new Set<T>() };
    group.sources.set(source, known);
    this.#sources.set(entry, known);
    group.size += 1;
    known.entries.add(entry);
    recount(known, known.entries.size - 1);
    group.most = Math.max(group.most, known.entries.size);
  }

  /** Unknown entries are fine. */
  remove(listener: G, entry: T): void {
    const source = this.#sources.get(entry);
    if (source === undefined) return;
    const { group } = source;
    this.#sources.delete(entry);
    group.size -= 1;
    source.entries.delete(entry);
    recount(source, source.entries.size + 1);
    if (source.entries.size === 0) group.sources.delete(source.key);
    while (group.most > 0 && (group.byCount[group.most]?.size ?? 0) === 0) group.most -= 1;
    if (group.size === 0) this.#groups.delete(listener);
  }

  /** What gives way at this listener to another request of `source`; undefined when that source has most itself. */
  victimAt(listener: G, source: string): T | undefined {
    const group = this.#groups.get(listener);
    return group === undefined || this.countOf(listener, source) >= group.most ? undefined : oldestOf(group);
  }

  /** What gives way, at the listener with most requests, to another request of `source` at `listener`. */
  victim(listener: G, source: string): T | undefined {
    const own = this.#groups.get(listener)?.size ?? 0;
    let biggest: Group<T> | undefined;
    for (const group of this.#groups.values()) if (group.size > (biggest?.size ?? own)) biggest = group;
    return biggest === undefined ? this.victimAt(listener, source) : oldestOf(biggest);
  }
}

/** The source had `before` entries, and has others now. */
function recount<T>(source: Source<T>, before: number): void {
  const { byCount } = source.group;
  const count = source.entries.size;
  byCount[before]?.delete(source);
  if (count === 0) return;
  const same = byCount[count] ?? new Set();
  byCount[count] = same;
  same.add(source);
}

function oldestOf<T>({ byCount, most }: Group<T>): T | undefined {
  for (const source of byCount[most] ?? []) for (const entry of source.entries) return entry;
  return undefined;
}
