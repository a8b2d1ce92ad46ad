/**
 * Which sequence NAKs come too soon to be acted upon. Retransmission began less than a round trip ago: what is refused
 * now was refused before its copy came, and its copy is on its way. A few are acted upon all the same, since a peer
 * that was slow to answer makes the round trip look longer than it is. So a flood of packets that the responder has to
 * refuse makes a requester go back once in a round trip, whatever the responder answers (ref:hostile#SEC-11). Made with
 * the first retransmission after a NAK: connections without loss need none.
 */

/** NAKs that are acted upon though they come too soon, until so many round trips went by without a retransmission. */
const EARLY_NAKS = 4;
const CALM_ROUND_TRIPS = 8;

export class EarlyNaks {
  /** When retransmission last began. */
  #wentBackAt = Number.NEGATIVE_INFINITY;
  /** Sequence NAKs sooner than a round trip after retransmission began, since there was calm. */
  #early = 0;
  /** The shortest round trip measured so far; 0 before the first. */
  #minRttNs = 0;
  /** The packet whose round trip is measured, and when it left; -1: none. */
  #timedPsn = -1;
  #timedAt = 0;

  /** A packet was sent for the first time that requests a reply at once. */
  sent(now: number, psn: number): void {
    if (this.#timedPsn >= 0) return;
    this.#timedPsn = psn;
    this.#timedAt = now;
  }

  /** All before `una` is acknowledged. */
  acknowledged(now: number, una: number): void {
    if (this.#timedPsn < 0 || una <= this.#timedPsn) return;
    this.#timedPsn = -1;
    const rttNs = now - this.#timedAt;
    if (this.#minRttNs === 0 || rttNs < this.#minRttNs) this.#minRttNs = rttNs;
  }

  /** Retransmission begins at `resumePsn`, after a NAK or a timeout. */
  wentBack(now: number, resumePsn: number, afterNak: boolean): void {
    this.#wentBackAt = now;
    // What the responder has refused, or did not answer in time, is answered later than a round trip after it left.
    if (!afterNak || this.#timedPsn === resumePsn) this.#timedPsn = -1;
  }

  /** The packet that is measured will be answered late. */
  stopTiming(): void {
    this.#timedPsn = -1;
  }

  /** Whether a sequence NAK that comes now is to be ignored. */
  ignores(now: number): boolean {
    const since = now - this.#wentBackAt;
    if (since >= CALM_ROUND_TRIPS * this.#minRttNs) this.#early = 0;
    if (since >= this.#minRttNs) return false;
    this.#early += 1;
    return this.#early > EARLY_NAKS;
  }
}
