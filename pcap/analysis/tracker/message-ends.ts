/**
 * Where the first messages of a PSN space ended, to compare with the MSN of a response.
 *
 * Owns a bounded list. Rule: the MSN counts completed request messages (ref:wire#7). If the first captured packet of a
 * requester begins a message, the capture may have the requester from its start. Then the MSN of a response is the
 * number of messages that ended up to there.
 */
export class MessageEnds {
  readonly #ends: number[] = [];

  /** A message ends with this PSN; of a READ it is the PSN of the request. */
  end(psn: number): void {
    if (this.#ends.length < MOST_ENDS) this.#ends.push(psn);
  }

  /** Whether a response with this PSN would carry this MSN; undefined when that is unknown. */
  matches(psn: number, msn: number): boolean | undefined {
    if (this.#ends.length === MOST_ENDS) return undefined;
    let count = 0;
    for (const end of this.#ends) if (end <= psn) count++;
    return count === msn;
  }
}

const MOST_ENDS = 256;
