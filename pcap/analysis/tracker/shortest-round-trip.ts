/**
 * The shortest round trip of a requester so far, and whether shorter ones are to be expected.
 *
 * Owns both. Where round trips vary, as between busy hosts, the next one is as likely to be the shortest as any before
 * it. A network that does not vary shows its shortest again and again: that one is a bound.
 */
export class ShortestRoundTrip {
  /** Nanoseconds; Infinity: none is known. */
  ns = Number.POSITIVE_INFINITY;
  /** Round trips about as short. */
  #alike = 0;

  add(ns: number): void {
    if (ns >= this.ns) {
      if (ns <= this.ns * ALIKE) this.#alike++;
      return;
    }
    this.#alike = ns * ALIKE >= this.ns ? this.#alike + 1 : 1;
    this.ns = ns;
  }

  /** No answer comes sooner, nanoseconds; 0: that is not known. */
  get boundNs(): number {
    return this.#alike < ENOUGH ? 0 : this.ns * SHARE;
  }
}

/** Round trips that differ by no more are alike. */
const ALIKE = 1.1;
/** So many that are alike are no accident. */
const ENOUGH = 3;
/** Of the shortest: the next one may be a little shorter. */
const SHARE = 0.9;
