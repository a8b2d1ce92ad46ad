/**
 * Reads a link again and again instead of waiting for the event loop to say that something came: no sleep, no wake-up,
 * which cost more than the stack does.
 *
 * Owns when it polls. `adaptive` polls after frames came or were posted, for as long as the gaps between them are short:
 * the window doubles when a gap was longer than it and short enough to be worth it, and is halved by a longer one (the
 * rule of KVM's halt polling, linux:virt/kvm/kvm_main.c#grow_halt_poll_ns). `busy` always polls. A round polls within
 * one callback for a bounded time, then lets the rest of the process run.
 */
import type { LinkPoller } from '../ground/link.ts';

/** How a device waits for frames. */
export type PollMode = 'event' | 'adaptive' | 'busy';

/** One for each driver that polls. */
export class PollLoop {
  readonly #link: LinkPoller;
  readonly #busy: boolean;
  readonly #clock: () => number;
  #immediate: NodeJS.Immediate | undefined;
  /** When frames came or were posted last. */
  #latestNs: number;
  #windowNs = 0;

  /** @param link an open one @param clock nanoseconds */
  constructor(link: LinkPoller, mode: Exclude<PollMode, 'event'>, clock: () => number) {
    this.#link = link;
    this.#busy = mode === 'busy';
    this.#clock = clock;
    this.#latestNs = clock();
    if (this.#busy) this.#begin();
  }

  /** Frames came, or the application posted: an answer may come soon. */
  active(): void {
    const now = this.#clock();
    const gapNs = now - this.#latestNs;
    this.#latestNs = now;
    if (this.#busy) return;
    if (gapNs > MOST_WINDOW_NS) this.#windowNs = this.#windowNs < 2 * LEAST_WINDOW_NS ? 0 : this.#windowNs / 2;
    else if (gapNs >= this.#windowNs)
      this.#windowNs = Math.min(MOST_WINDOW_NS, Math.max(LEAST_WINDOW_NS, 2 * this.#windowNs));
    if (this.#windowNs > 0 && this.#immediate === undefined) this.#begin();
  }

  /** Polls no more. */
  stop(): void {
    if (this.#immediate !== undefined) clearImmediate(this.#immediate);
    this.#immediate = undefined;
    POLLING.delete(this);
  }

  #begin(): void {
    this.#link.begin();
    POLLING.add(this);
    this.#immediate = setImmediate(this.#round);
  }

  readonly #round = (): void => {
    this.#immediate = setImmediate(this.#round);
    // Who polls beside us in this thread waits for the end of our round.
    const untilNs = this.#clock() + (POLLING.size > 1 ? 0 : ROUND_NS);
    let now: number;
    do {
      if (this.#link.poll()) return;
      now = this.#clock();
    } while (now < untilNs);
    if (this.#busy || now - this.#latestNs <= this.#windowNs) return;
    this.stop();
    this.#link.end();
  };
}

/** Those of this thread. */
const POLLING = new Set<PollLoop>();
/** For so long the rest of the process does not run. */
const ROUND_NS = 50_000;
const LEAST_WINDOW_NS = 20_000;
/** Beyond it, a wake-up costs less than polling. */
const MOST_WINDOW_NS = 200_000;
