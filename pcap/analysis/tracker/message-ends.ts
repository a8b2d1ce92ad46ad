/**
 * Where the first messages of a PSN space ended: what the MSN of a response can be compared with.
 *
 * Owns a bounded list. Rule: the MSN counts completed request messages (ref:wire#7); a requester whose first packet seen begins a message may be one
 * that was seen from its beginning, and then the MSN of an answer is the number of messages that ended up to there.
 */
export class MessageEnds {
  readonly #ends: number[] = [];

  /** A message ends with this PSN; of a READ it is the PSN of the request. */
  end(psn: number): void {
    if (this.#ends.length < MOST_ENDS) this.#ends.push(psn);
  }

  /** Whether this MSN is what an answer with this PSN would carry; undefined when nobody knows. */
  matches(psn: number, msn: number): boolean | undefined {
    if (this.#ends.length === MOST_ENDS) return undefined;
    let count = 0;
    for (const end of this.#ends) if (end <= psn) count++;
    return count === msn;
  }
}

const MOST_ENDS = 256;
