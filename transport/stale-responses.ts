/**
 * What a response behind a gap says about the gap. Once a READ is requested again, what was sent before still arrives:
 * it lies behind the same gap, and one more repetition for it would repeat what is under way already. So a gap counts
 * again only where the repetition itself has come, without what is missing.
 *
 * Responses of one stream come in order, apart from single ones that are late or lost. A repetition shows by two
 * responses in sequence that go no further than what came before it. What goes on from there, and single responses,
 * are of the past. Where this is wrong, the ACK timer decides (ref:conformance#REQ-14, REQ-21). Made with the first
 * gap: connections without loss need none.
 */

/** A gap in responses, by the response that came behind it. */
export const Gap = {
  /** What is missing has been requested once. */
  New: 0,
  /** It has been requested again, and that is not answered yet. */
  Known: 1,
  /** It has been requested again, and is missing in the repetition, too. */
  Repeated: 2,
} as const;
export type Gap = (typeof Gap)[keyof typeof Gap];

export class StaleResponses {
  /** First extended PSN that was requested once only; what lies before may come twice. */
  #repeatedTo = 0;
  /** How far the responses that were sent before the repetition have come; Infinity once the repetition has shown. */
  #staleTo = Number.POSITIVE_INFINITY;
  /** The response that came last, and whether it went no further than those before. */
  #last = -1;
  #wentBack = false;
  /** The gap that was last found in a repetition, by its first PSN. */
  #repeatedGap = -1;

  /** All from the gap that the response `psn` has shown to before `sentPsn` is requested again. */
  repeated(psn: number, sentPsn: number): void {
    this.#repeatedTo = sentPsn;
    this.#staleTo = psn;
    this.#last = psn;
    this.#wentBack = false;
  }

  /** The ACK timer has ended: nothing of the past is expected any more. */
  timedOut(): void {
    this.#repeatedTo = 0;
  }

  /** The response that was due came, or one before it. */
  inOrder(psn: number): void {
    if (this.#wentBack && psn === this.#last + 1) this.#staleTo = Number.POSITIVE_INFINITY;
    this.#last = psn;
    this.#wentBack = true;
  }

  /**
   * A response came where `expected` was due, of requests before `sentPsn`. A gap counts again once: what is missing
   * time after time is left to the ACK timer, lest all retries are over within a few round trips.
   */
  judge(psn: number, expected: number, sentPsn: number): Gap {
    const gap = this.#judge(psn, expected, sentPsn);
    if (gap !== Gap.Repeated) return gap;
    if (expected === this.#repeatedGap) return Gap.Known;
    this.#repeatedGap = expected;
    return gap;
  }

  #judge(psn: number, expected: number, sentPsn: number): Gap {
    const follows = psn === this.#last + 1;
    const isRun = follows && this.#wentBack;
    const wentBack = psn <= this.#staleTo;
    this.#last = psn;
    this.#wentBack = wentBack;
    if (expected >= this.#repeatedTo) return Gap.New;
    if (psn >= this.#repeatedTo || isRun) return Gap.Repeated;
    // None follows the last one.
    if (wentBack) return psn + 1 === sentPsn ? Gap.Repeated : Gap.Known;
    if (follows) this.#staleTo = psn;
    return Gap.Known;
  }
}
