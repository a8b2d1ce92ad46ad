/**
 * NAKs for which a requester may go back later than they seem to be dealt with.
 *
 * Owns the last few of them. What such a NAK asks for has come late since, as the next NAK or an ACK told; or it was
 * sent again for an earlier NAK. A requester takes one NAK after the other, also those that came while it sent again:
 * it goes back to the PSN of each (rxe:rxe_comp.c#rxe_completer).
 */

/** A NAK or RNR NAK that the requester has to react to. */
export interface PendingNak {
  readonly psn: number;
  readonly timeNs: number;
  readonly frame: number;
  /** The requester has gone back to its PSN. */
  answered: boolean;
}

export class OutdatedNaks {
  /** In the order in which they came. */
  #naks: PendingNak[] = [];

  add(nak: PendingNak): void {
    this.#naks.push(nak);
    if (this.#naks.length > MOST_NAKS) this.#naks.shift();
  }

  /**
   * The first that asks for `psn`; or the last that asks for an earlier one, unless a timeout would go back to `psn`.
   * @param acked the first PSN that is not acknowledged
   */
  find(psn: number, acked: number): PendingNak | undefined {
    const own = this.#naks.find((nak) => nak.psn === psn);
    // A timeout goes back to what is not acknowledged. Nothing else begins here: what comes before it did not come.
    return own ?? (psn !== acked ? this.#naks.findLast((nak) => nak.psn < psn) : undefined);
  }

  /** The requester goes back for the NAK of this frame. Returns whether it is one of these; those behind it remain. */
  take(frame: number): boolean {
    const at = this.#naks.findIndex((nak) => nak.frame === frame);
    this.#naks = this.#naks.slice(at < 0 ? this.#naks.length : at + 1);
    return at >= 0;
  }
}

/** NAKs on their way at a time. */
const MOST_NAKS = 16;
