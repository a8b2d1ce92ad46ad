/**
 * The retransmission timeout of TCP: from measured round trips, doubled at every expiry.
 *
 * Owns the numbers of RFC 6298. Never sees segments. All times in integer nanoseconds.
 * The floor is that of Linux, 200 ms, and not the second of RFC 6298 (2.4): the wires here are short.
 */
export class RetransmissionTimeout {
  /** The timeout of the next segment. */
  valueNs = INITIAL_NS;
  #smoothedNs = 0;
  #variationNs = 0;
  /** Sequence position whose acknowledgement ends the measurement under way; -1 when none is. */
  #timedUntil = -1;
  #timedSince = 0;

  /** A segment that ends at `position` was sent for the first time. */
  sent(now: number, position: number): void {
    if (this.#timedUntil >= 0) return;
    this.#timedUntil = position;
    this.#timedSince = now;
  }

  /** Everything up to `position` is acknowledged. */
  acknowledged(now: number, position: number): void {
    if (this.#timedUntil >= 0 && position >= this.#timedUntil) {
      this.#measure(now - this.#timedSince);
      this.#timedUntil = -1;
    }
    if (this.#smoothedNs > 0) this.#settle();
  }

  /** RFC 6298 (5.5) and Karn's rule: wait longer, and never measure a retransmitted segment. */
  expired(): void {
    this.valueNs = Math.min(MAX_NS, this.valueNs * 2);
    this.#timedUntil = -1;
  }

  /** RFC 6298 (2.2), (2.3). */
  #measure(roundTripNs: number): void {
    if (this.#smoothedNs === 0) {
      this.#smoothedNs = Math.max(1, roundTripNs);
      this.#variationNs = roundTripNs / 2;
      return;
    }
    this.#variationNs += (Math.abs(this.#smoothedNs - roundTripNs) - this.#variationNs) / 4;
    this.#smoothedNs += (roundTripNs - this.#smoothedNs) / 8;
  }

  #settle(): void {
    const wanted = Math.ceil(this.#smoothedNs + 4 * this.#variationNs);
    this.valueNs = Math.min(MAX_NS, Math.max(MIN_NS, wanted));
  }
}

const INITIAL_NS = 1e9;
const MIN_NS = 200e6;
const MAX_NS = 60e9;
