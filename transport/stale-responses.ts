/**
 * Which responses tell of a new gap. After a READ was requested again, what was sent before the repetition came still
 * arrives: it lies behind the same gap, and a repetition for it repeats what is under way already. A requester that
 * took it for a new gap would repeat all of its READs each time that the gap got shorter by a packet.
 *
 * Responses of one stream come in order, apart from single ones that are late or lost. So a repetition shows by two
 * responses in sequence that lie no further than what came before. What goes on from there, and single responses,
 * are of the past (ref:conformance#REQ-14, REQ-23). Where this is wrong, the ACK timer decides. Made with the first gap:
 * connections without loss need none.
 */

export class StaleResponses {
  /** First extended PSN that was requested once only; what lies before may come twice. */
  #repeatedTo = 0;
  /** How far the responses that came before the repetition have come; Infinity once the repetition has shown. */
  #staleTo = Number.POSITIVE_INFINITY;
  /** The response that came last, and whether it lay no further than those before. */
  #last = -1;
  #wentBack = false;

  /** All from the gap that the response `psn` has shown to before `sentPsn` is requested again. */
  repeated(psn: number, sentPsn: number): void {
    this.#repeatedTo = sentPsn;
    this.#staleTo = psn;
    this.#last = psn;
    this.#wentBack = false;
  }

  /** After a timeout nothing of the past is expected any more. */
  timedOut(): void {
    this.#repeatedTo = 0;
  }

  /** The expected response came, or one before it. */
  inOrder(psn: number): void {
    if (this.#wentBack && psn === this.#last + 1) this.#staleTo = Number.POSITIVE_INFINITY;
    this.#last = psn;
    this.#wentBack = true;
  }

  /** Whether a response behind a gap, of requests before `sentPsn`, is of the past. */
  isStale(psn: number, sentPsn: number): boolean {
    const follows = psn === this.#last + 1;
    const runs = follows && this.#wentBack;
    const wentBack = psn <= this.#staleTo;
    this.#last = psn;
    this.#wentBack = wentBack;
    if (psn >= this.#repeatedTo || runs) return false;
    // None follows the last one.
    if (wentBack) return psn + 1 < sentPsn;
    if (follows) this.#staleTo = psn;
    return true;
  }
}
