/**
 * The last times of something, of which it is asked again and again whether one lies between two others.
 *
 * Owns them in their order, so that an answer takes a few comparisons, however many there are. Bounded: the time that
 * was added first makes room.
 */
export class RecentTimes {
  /** By when they were added; in turns once it is full. */
  readonly #added: number[] = [];
  readonly #sorted: number[] = [];
  readonly #most: number;
  /** How many there have been. */
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(timeNs: number): void {
    const at = this.#count++ % this.#most;
    // Times mostly come in their order: the oldest is the first, and the newest the last.
    if (this.#count > this.#most) this.#sorted.splice(firstFrom(this.#sorted, this.#added[at] as number), 1);
    this.#added[at] = timeNs;
    const last = this.#sorted.at(-1);
    if (last === undefined || last <= timeNs) this.#sorted.push(timeNs);
    else this.#sorted.splice(firstFrom(this.#sorted, timeNs), 0, timeNs);
  }

  /** Earliest first. */
  get sorted(): readonly number[] {
    return this.#sorted;
  }

  get length(): number {
    return this.#sorted.length;
  }

  /** Whether one is between these, the later included, or one that is forgotten may be. */
  mayHave(fromNs: number, toNs: number): boolean {
    if (this.#count > this.#most && (this.#sorted[0] as number) >= fromNs) return true;
    return this.has(fromNs, toNs);
  }

  /** Whether one of those that are not forgotten is between these, the later included. */
  has(fromNs: number, toNs: number): boolean {
    const next = this.#sorted[firstBehind(this.#sorted, fromNs)];
    return next !== undefined && next <= toNs;
  }
}

/** Where the first of these is that is `ns` or later. */
export function firstFrom(sorted: readonly number[], ns: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as number) < ns) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Where the first of these is that is later than `ns`. */
function firstBehind(sorted: readonly number[], ns: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as number) <= ns) low = middle + 1;
    else high = middle;
  }
  return low;
}
