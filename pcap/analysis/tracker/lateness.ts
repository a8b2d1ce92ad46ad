/**
 * By how much requests come late that others have overtaken, as the answers to them show it.
 *
 * Owns that sample. A path that is longer is longer by about the same each time. Where the lateness of all that is
 * known is alike, what would have been late by another time is no likely cause of an answer. A single one is no rule,
 * and where times differ nothing follows.
 */
export class Lateness {
  /** The latest ones, nanoseconds from the sending of a request to the answer to it. */
  readonly #known: number[] = [];

  /** The answer to a request that came late, behind its retransmission. */
  add(ns: number): void {
    if (this.#known.push(ns) > MOST_KNOWN) this.#known.shift();
  }

  /** Whether it is known, and always about the same. */
  get isEven(): boolean {
    const { length } = this.#known;
    if (length < FEWEST) return false;
    const medianNs = this.#medianNs;
    const others = this.#known.filter((ns) => !isAlike(ns, medianNs)).length;
    return others <= length * OTHERS_SHARE;
  }

  /** Whether an answer after this time is one to what came late, as far as is known. */
  isLikely(ns: number): boolean {
    return !this.isEven || isAlike(ns, this.#medianNs);
  }

  get #medianNs(): number {
    const sorted = [...this.#known].sort((one, other) => one - other);
    return sorted[sorted.length >> 1] ?? 0;
  }
}

function isAlike(ns: number, medianNs: number): boolean {
  return ns <= medianNs * ALIKE && ns * ALIKE >= medianNs;
}

const MOST_KNOWN = 32;
const FEWEST = 2;
const ALIKE = 1.5;
const OTHERS_SHARE = 0.1;
