/**
 * Answers of a receiver that are expected, so that they say nothing of a request that it lacked.
 *
 * Owns how many of them are due, and for how long. Three causes: what was sent again behind a request that came late is
 * had twice; a request is sent again although its ACK has passed here; and one is that the receiver may have, after a
 * timeout, or as it came in order before.
 */
export class ExpectedAnswers {
  /** Up to one PSN, as nothing new arrives between these. */
  #explained = 0;
  #explainedPsn = -1;
  #explainedUntilNs = -1;
  #vain = 0;
  #vainUntilNs = -1;
  #unsure = 0;
  #unsureUntilNs = -1;

  /** So many duplicates are answered, by ACKs up to `psn`. */
  duplicates(count: number, psn: number, untilNs: number): void {
    this.#explained = count;
    this.#explainedPsn = psn;
    this.#explainedUntilNs = untilNs;
  }

  /** A request that the receiver has acknowledged is sent again. @param psn -1: it comes again, and nobody sent it */
  sentInVain(psn: number, timeNs: number, untilNs: number): void {
    const known = psn >= 0 && psn <= this.#explainedPsn && this.#explained > 0 && timeNs <= this.#explainedUntilNs;
    if (known) return;
    if (timeNs > this.#vainUntilNs) this.#vain = 0;
    this.#vain++;
    this.#vainUntilNs = untilNs;
  }

  /** A request is sent again that the receiver may have. */
  sentUnsure(timeNs: number, untilNs: number): void {
    if (timeNs > this.#unsureUntilNs) this.#unsure = 0;
    this.#unsure++;
    this.#unsureUntilNs = untilNs;
  }

  /** Whether an ACK up to `psn` answers such a duplicate, which is then no longer due. */
  takeDuplicate(psn: number, timeNs: number): boolean {
    if (this.#explained === 0 || psn !== this.#explainedPsn || timeNs > this.#explainedUntilNs) return false;
    this.#explained--;
    return true;
  }

  /** For how long answers to what was sent in vain are still expected, when this is one; undefined: it is none. */
  takeVain(timeNs: number): number | undefined {
    if (this.#vain === 0 || timeNs > this.#vainUntilNs) return undefined;
    this.#vain--;
    return this.#vainUntilNs - timeNs;
  }

  takeUnsure(timeNs: number): boolean {
    if (this.#unsure === 0 || timeNs > this.#unsureUntilNs) return false;
    this.#unsure--;
    return true;
  }

  /** Until when duplicates behind a late request are answered. */
  get explainedUntilNs(): number {
    return this.#explainedUntilNs;
  }

  forget(): void {
    this.#explained = this.#vain = this.#unsure = 0;
  }
}
