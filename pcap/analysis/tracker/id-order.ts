/**
 * What the IPv4 identifications of one sender tell about the order in which its packets were sent.
 *
 * Owns the judgement whether they can be trusted: senders that count (rdma_rxe, this project) give each packet a later one, so that an
 * original that comes late has an earlier identification than what overtook it, and a repetition a later one. Senders that always write 0, or random
 * numbers, tell nothing; nor does IPv6. Several flows share one counter, which may therefore jump (ref:rxe#5).
 */
export class IpIdOrder {
  #last = -1;
  #forward = 0;
  #other = 0;

  /** Notes the identification of a packet that came in order; -1: it has none. */
  step(id: number): void {
    if (id < 0 || this.#last < 0) {
      this.#last = id;
      return;
    }
    const step = distance(id, this.#last);
    if (step <= 0) this.#other++;
    else if (step < LONGEST_STEP) this.#forward++;
    // One packet that was overtaken is no new beginning.
    if (step > 0 || step < -LONGEST_STEP) this.#last = id;
  }

  /** Of two halves of one sender: the one that knows more. */
  better(other: IpIdOrder): IpIdOrder {
    return other.#forward + other.#other > this.#forward + this.#other ? other : this;
  }

  /** Whether they count. */
  get isUsable(): boolean {
    return this.#forward >= FEWEST_STEPS && this.#forward > MOST_FORWARD * this.#other;
  }

  /** The same with what came in order last. */
  compareToLast(id: number): number {
    return this.compare(id, this.#last);
  }

  /** Below 0: `id` was sent before `other`; above: after it; 0: nobody knows. */
  compare(id: number, other: number): number {
    if (id < 0 || other < 0 || !this.isUsable) return 0;
    return distance(id, other);
  }
}

function distance(id: number, other: number): number {
  return ((id - other) << 16) >> 16;
}

const FEWEST_STEPS = 2;
/** Random numbers hardly ever take two steps as short as these; a longer one says nothing, for other flows may have taken it. */
const LONGEST_STEP = 4096;
const MOST_FORWARD = 4;
