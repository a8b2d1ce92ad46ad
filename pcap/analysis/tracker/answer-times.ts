/**
 * When answers come, by the round trips of a space: how soon a retransmission can be answered, when it is, and how much
 * later an answer is still likely to be about it.
 *
 * Owns these times, nanoseconds.
 */
import type { RoundTrips } from './round-trips.ts';

export class AnswerTimes {
  readonly #roundTrips: Pick<RoundTrips, 'shortestNs' | 'longestNs' | 'boundNs' | 'isSteady'>;

  constructor(roundTrips: Pick<RoundTrips, 'shortestNs' | 'longestNs' | 'boundNs' | 'isSteady'>) {
    this.#roundTrips = roundTrips;
  }

  /** The shortest time in which a retransmission can be acknowledged: a shorter packet than any before is so sooner. */
  get soonestNs(): number {
    return this.#roundTrips.boundNs * SHORTER;
  }

  /** The time in which a retransmission is answered. */
  get soonNs(): number {
    const { shortestNs } = this.#roundTrips;
    if (shortestNs === Number.POSITIVE_INFINITY) return EXPECTED_NS;
    return Math.max(SHORTEST_SOON_NS, shortestNs * SOON_ROUND_TRIPS);
  }

  /** How long an answer to what a timeout had sent again is expected: where round trips vary, as long as any took. */
  get expectedNs(): number {
    return this.#roundTrips.isSteady ? this.soonNs : this.longestNs;
  }

  /** A NAK that takes longer did not come at once. */
  get longestNs(): number {
    const { isSteady, shortestNs, longestNs } = this.#roundTrips;
    return isSteady ? Math.max(SHORTEST_SOON_NS, shortestNs * NAK_ROUND_TRIPS) : Math.max(this.soonNs, longestNs);
  }

  /** A request whose ACK takes longer may not have been what draws it. */
  get usualNs(): number {
    const { isSteady, shortestNs } = this.#roundTrips;
    return isSteady ? Math.max(SHORTEST_SOON_NS, shortestNs * ACK_ROUND_TRIPS) : this.longestNs;
  }

  /** A READ whose first response takes so long came in time: round trips do not vary, and it took no longer. */
  isUsual(ns: number): boolean {
    return ns === 0 || (this.#roundTrips.isSteady && ns <= this.usualNs);
  }

  /** A request that was sent again so long before is a less likely cause than a later one. */
  get nearNs(): number {
    return this.soonNs * NEAR;
  }
}

/** How long ACKs of known duplicates are expected. */
export const EXPECTED_NS = 1_000_000;
/** Round trips of ten microseconds or less are a tenth longer for a full frame. */
const SHORTER = 0.9;
const SOON_ROUND_TRIPS = 2.7;
/** Where round trips do not vary, a NAK is as fast as an ACK, but for the length of packets. */
const NAK_ROUND_TRIPS = 1.6;
/** Longer packets take longer, and wait for one another. */
const ACK_ROUND_TRIPS = 1.25;
/** Next to the receiver a round trip takes no time. */
const SHORTEST_SOON_NS = 2_000;
/** A request that was sent again within this many times that is the likely cause of an answer. */
const NEAR = 4;
