/**
 * How late requests have been that were overtaken: from when each was sent to the answer that shows it.
 *
 * Owns how much later another one may be: twice as late as any before it. What is late is late by about the same here:
 * where answers come soon after a retransmission again and again, one long after is no sign of lateness.
 */
import type { RoundTrips } from './round-trips.ts';

export class Lateness {
  readonly #roundTrips: Pick<RoundTrips, 'shortestNs' | 'isSteady'>;
  /** Answers that came soon after a retransmission, and others; and the longest times that they took. */
  #near = 0;
  #far = 0;
  #longestNearNs = 0;
  #longestFarNs = 0;

  constructor(roundTrips: Pick<RoundTrips, 'shortestNs' | 'isSteady'>) {
    this.#roundTrips = roundTrips;
  }

  /** A request that was sent at `sentNs` was overtaken, as the answer at `answeredNs` shows. */
  note(sentNs: number, answeredNs: number, near = true): void {
    if (near) {
      this.#near++;
      this.#longestNearNs = Math.max(this.#longestNearNs, answeredNs - sentNs);
    } else {
      this.#far++;
      this.#longestFarNs = Math.max(this.#longestFarNs, answeredNs - sentNs);
    }
  }

  /** Answers come soon after a retransmission here, and round trips do not vary. */
  get isShort(): boolean {
    return this.#roundTrips.isSteady && this.#near >= FEWEST && this.#near >= this.#far;
  }

  /** How long after a request was sent it is answered at the latest, nanoseconds; undefined: none was overtaken yet. */
  get latestNs(): number | undefined {
    const longestNs = this.#longestNs;
    if (longestNs === 0) return undefined;
    const { isSteady, shortestNs } = this.#roundTrips;
    // What is late is late on its way; its answer takes half a round trip, as any does.
    const roundTripNs = isSteady ? Math.min(shortestNs, longestNs) : 0;
    return (longestNs - roundTripNs) * LATER + roundTripNs;
  }

  /** The same, as far as it bounds others: where round trips vary, answers do as well. Infinity: they have no bound. */
  get boundNs(): number {
    const { latestNs } = this;
    return latestNs === undefined || !this.#roundTrips.isSteady ? Number.POSITIVE_INFINITY : latestNs;
  }

  /** Whether an answer at `timeNs` may be about a request that was sent at `sentNs` and was as late as others. */
  fits(sentNs: number, timeNs: number): boolean {
    return timeNs - sentNs <= this.boundNs;
  }

  /** Whether what was so late was no later than others, as answers come soon after a retransmission again and again. */
  isUsual(ns: number): boolean {
    return this.isShort && this.#near >= MANY && ns <= this.#longestNearNs * ALIKE;
  }

  /** Whether nothing is so late here, as answers come soon after a retransmission again and again. */
  isOut(ns: number): boolean {
    return this.isShort && this.#near >= MANY && ns > this.boundNs;
  }

  /** Whether that took longer than with any other: it may be about a request that was sent later. */
  isLonger(sentNs: number, timeNs: number): boolean {
    return this.isShort && timeNs - sentNs > this.#longestNs * ALIKE;
  }

  get #longestNs(): number {
    return this.isShort ? this.#longestNearNs : Math.max(this.#longestNearNs, this.#longestFarNs);
  }
}

/** Of the longest time by which one was late. */
const LATER = 2;
/** So many are no accident. */
const FEWEST = 2;
/** So many show how late it is: where packets are late by much, two may come soon after other retransmissions. */
const MANY = 3;
/** Times that differ by no more are alike. */
const ALIKE = 1.15;
