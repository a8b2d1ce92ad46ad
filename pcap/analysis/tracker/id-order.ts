/**
 * The order in which a sender sent its packets, from their IPv4 identifications.
 *
 * Owns the decision whether the identifications are usable. Senders with a counter (rdma_rxe, this stack) give each
 * packet a higher one: a late original has a lower identification than the packets that overtook it, and a
 * retransmission has a higher one. Constant 0 and random numbers are not usable, and IPv6 has none. Several flows share
 * one counter, which may therefore jump (ref:rxe#5).
 */
export class IpIdOrder {
  #last = -1;
  #forward = 0;
  #other = 0;
  #varies = false;

  /** Notes the identification of a packet that came in order; -1: it has none. */
  step(id: number): void {
    if (id < 0 || this.#last < 0) {
      this.#last = id;
      return;
    }
    const step = distance(id, this.#last);
    if (step !== 0) this.#varies = true;
    if (step <= 0) this.#other++;
    else if (step < LONGEST_STEP) this.#forward++;
    // One packet that was overtaken is no new beginning.
    if (step > 0 || step < -LONGEST_STEP) this.#last = id;
  }

  /** Of two halves of one sender: the one with more evidence. */
  better(other: IpIdOrder): IpIdOrder {
    return other.#forward + other.#other > this.#forward + this.#other ? other : this;
  }

  /** Whether the identifications come from a counter, so that they show the order. */
  get isUsable(): boolean {
    return this.#forward >= FEWEST_STEPS && this.#forward > MOST_FORWARD * this.#other;
  }

  /** Whether they are not all the same: two packets with one identification are one packet then, or nearly always. */
  get varies(): boolean {
    return this.#varies;
  }

  /** The same with what came in order last. */
  compareToLast(id: number): number {
    return this.compare(id, this.#last);
  }

  /** Below 0: `id` was sent before `other`; above: after it; 0: unknown. */
  compare(id: number, other: number): number {
    if (id < 0 || other < 0 || !this.isUsable) return 0;
    return distance(id, other);
  }
}

function distance(id: number, other: number): number {
  return ((id - other) << 16) >> 16;
}

const FEWEST_STEPS = 2;
/**
 * Random numbers hardly ever make two steps as short as this. Longer steps prove nothing: other flows may use the same
 * counter.
 */
const LONGEST_STEP = 4096;
const MOST_FORWARD = 4;
