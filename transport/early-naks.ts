/**
 * When a requester acts upon sequence NAKs. Retransmission began less than a round trip ago: what is refused now was
 * refused before its copy came, and its copy is on its way, or was lost as well. So the NAK waits until that round trip
 * is over, and is forgotten when its packet is acknowledged meanwhile. A flood of packets that the responder has to
 * refuse makes a requester go back once in a round trip, whatever the responder answers (ref:hostile#SEC-11); a packet
 * that is lost twice costs an honest one a round trip, and no ACK timeout. Made with the first retransmission after a
 * NAK: connections without loss need none.
 */

export class EarlyNaks {
  /** The packet that a NAK which waits has named; -1: none waits. */
  waiting = -1;
  /** When retransmission last began. */
  #wentBackAt = Number.NEGATIVE_INFINITY;
  /** The shortest round trip measured so far; 0 before the first. */
  #minRttNs = 0;
  /** The packet whose round trip is measured, and when it left; -1: none. */
  #timedPsn = -1;
  #timedAt = 0;

  /** From when on a NAK is acted upon. */
  get dueAt(): number {
    return this.#wentBackAt + this.#minRttNs;
  }

  /** A packet was sent for the first time that requests a reply at once. */
  sent(now: number, psn: number): void {
    if (this.#timedPsn >= 0) return;
    this.#timedPsn = psn;
    this.#timedAt = now;
  }

  /** All before `una` is acknowledged. */
  acknowledged(now: number, una: number): void {
    if (una > this.waiting) this.waiting = -1;
    if (this.#timedPsn < 0 || una <= this.#timedPsn) return;
    this.#timedPsn = -1;
    const rttNs = now - this.#timedAt;
    if (this.#minRttNs === 0 || rttNs < this.#minRttNs) this.#minRttNs = rttNs;
  }

  /** Retransmission begins at `resumePsn`, after a NAK or a timeout. */
  wentBack(now: number, resumePsn: number, afterNak: boolean): void {
    this.#wentBackAt = now;
    this.waiting = -1;
    // What the responder has refused, or did not answer in time, is answered later than a round trip after it left.
    if (!afterNak || this.#timedPsn === resumePsn) this.#timedPsn = -1;
  }

  /** Nothing is sent for a while: the packet that is measured will be answered late. */
  pause(): void {
    this.waiting = -1;
    this.#timedPsn = -1;
  }
}
