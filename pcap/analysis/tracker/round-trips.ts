/**
 * The round trips of a requester: from a request to its ACK.
 *
 * Owns what they tell of the next one. Where they vary, as between busy hosts, the next is as likely to be the shortest
 * as any before it. A network that does not vary shows its shortest again and again, one after the other: that is a
 * bound. Round trips that overlap are no evidence: a busy host takes many requests at a time, and answers them
 * together.
 */
export class RoundTrips {
  /** Nanoseconds; Infinity and 0: none is known. */
  shortestNs = Number.POSITIVE_INFINITY;
  longestNs = 0;
  #sumNs = 0;
  #count = 0;
  /** Those that are about as short as the shortest, each begun when the one before had ended; and when the last did. */
  #alike = 0;
  #alikeEndNs = Number.NEGATIVE_INFINITY;

  /** @param endNs when the answer came */
  add(ns: number, endNs: number): void {
    this.#sumNs += ns;
    this.#count++;
    if (ns > this.longestNs) this.longestNs = ns;
    const shorter = ns * ALIKE < this.shortestNs;
    if (shorter) this.#alike = 0;
    const apart = shorter || endNs - ns >= this.#alikeEndNs;
    if (apart && ns <= this.shortestNs * ALIKE) {
      this.#alike++;
      this.#alikeEndNs = endNs;
    }
    if (ns < this.shortestNs) this.shortestNs = ns;
  }

  /** 0: none is known. */
  get meanNs(): number {
    return this.#count === 0 ? 0 : this.#sumNs / this.#count;
  }

  /** No answer comes sooner, nanoseconds; 0: that is not known. */
  get boundNs(): number {
    return this.isSteady ? this.shortestNs * SHARE : 0;
  }

  /** They do not vary: the shortest came again and again. */
  get isSteady(): boolean {
    return this.#alike >= ENOUGH;
  }
}

/** Round trips that differ by no more are alike. */
const ALIKE = 1.1;
/** So many that are alike are no accident. */
const ENOUGH = 3;
/** Of the shortest: the next one may be a little shorter. */
const SHARE = 0.9;
