/**
 * How much of READ responses may leave to a peer that shows no sign of life: a requester is silent while a READ is
 * answered, so silence alone proves nothing, and a forged READ of 74 bytes would draw 2^31 bytes to a victim. Beyond
 * the budget only the last packet of a READ leaves, as if the network had lost those before it. A requester that is
 * there sees the gap, at the latest by its ACK timer, and asks for the rest, which refills the budget: this costs it
 * one round trip for each budget. Refusing such a READ would cost it its connection, and a slower rate would cost it
 * the rate, for the same bytes to the victim (ref:hostile#SEC-15).
 */
import type { PortCounters } from './counters.ts';
import type { Reply } from './reply-queue.ts';

export class ReadBudget {
  readonly #counters: PortCounters;
  #left: number;

  /** `bytes` may leave until the next refill. */
  constructor(counters: PortCounters, bytes: number) {
    this.#counters = counters;
    this.#left = bytes;
  }

  /** The peer lives: so many bytes may leave. */
  refill(bytes: number): void {
    this.#left = bytes;
  }

  /** A packet of a READ response that is not the last one is about to leave: it may have to be the last one. */
  spend(reply: Reply, mtu: number): void {
    if (this.#left < mtu) {
      reply.sent = Math.floor((reply.length - 1) / mtu) * mtu;
      this.#counters.readResponseCut += 1;
    } else this.#left -= mtu;
  }
}
