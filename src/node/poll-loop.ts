/**
 * Reads a link again and again instead of waiting for the event loop to say that something came: no sleep and no
 * wake-up, which cost more than the stack does.
 *
 * Owns when it polls. `busy` always does. `adaptive` does after frames came or were posted, for as long as the gaps
 * between these are short: the window doubles after a gap that was longer than the window and short enough to be worth
 * it, and is halved by a longer gap (the rule of KVM's halt polling, linux:virt/kvm/kvm_main.c#grow_halt_poll_ns).
 * Where both ends sleep, their two wake-ups may be what makes the gaps too long to poll for: so one gap of many that
 * are a little too long begins a trial, and if the gaps are short while we poll, we go on. A round polls for a bounded
 * time within one callback, then lets other threads have the processor, and the rest of the process run. Not to poll
 * for a while where a yield took long was tried: the kernel leaves two processes that sleep between messages on one
 * processor, and each found the other there (round trip 117 us, without it 20 us).
 */
import type { LinkPoller } from '../ground/link.ts';

/**
 * How a device waits for frames: woken by the kernel (`event`), reading all the time (`busy`, a whole processor), or
 * reading while traffic is dense and woken otherwise (`adaptive`).
 */
export type PollMode = 'event' | 'adaptive' | 'busy';

/** All of them. */
export const POLL_MODES: readonly PollMode[] = ['event', 'adaptive', 'busy'];

/**
 * What a device does by default where this process may use so many processors. On one, whoever polls keeps the other
 * end from sending (measured: round trip 205 us instead of 136).
 */
export function defaultPollMode(processors: number): PollMode {
  return processors > 1 ? 'adaptive' : 'event';
}

/** What a loop needs of the machine. */
export interface PollHost {
  /** Nanoseconds. */
  now(): number;
  /** Lets another thread have this processor, if one wants it. */
  yield(): void;
}

/** One for each driver that polls. */
export class PollLoop {
  readonly #link: LinkPoller;
  readonly #busy: boolean;
  readonly #host: PollHost;
  #immediate: NodeJS.Immediate | undefined;
  /** When frames came or were posted last. */
  #latestNs: number;
  /** How long to poll after that; 0 is not at all. */
  #windowNs = 0;
  /** Gaps so far that were too long, but not by much, while it slept. */
  #longGaps = 0;

  /** @param link an open one */
  constructor(link: LinkPoller, mode: Exclude<PollMode, 'event'>, host: PollHost) {
    this.#link = link;
    this.#busy = mode === 'busy';
    this.#host = host;
    this.#latestNs = host.now();
    if (this.#busy) this.#begin();
  }

  /** Whether it reads the link now. */
  get polling(): boolean {
    return this.#immediate !== undefined;
  }

  /** Frames came, or the application posted: an answer may come soon. */
  active(): void {
    if (this.#busy) return;
    const now = this.#host.now();
    const gapNs = now - this.#latestNs;
    this.#latestNs = now;
    if (gapNs > MOST_WINDOW_NS) this.#windowNs = this.#afterLong(gapNs);
    else if (gapNs >= this.#windowNs) this.#windowNs = clamp(2 * this.#windowNs);
    if (this.#windowNs > 0 && !this.polling) this.#begin();
  }

  #afterLong(gapNs: number): number {
    if (this.#windowNs > LEAST_WINDOW_NS) return this.#windowNs / 2;
    if (gapNs > MOST_TRIED_NS || ++this.#longGaps % TRIAL_EVERY !== 0) return 0;
    return MOST_WINDOW_NS;
  }

  /** Polls no more. The link is not asked to wake anybody, for it may have ended. */
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
    const host = this.#host;
    this.#immediate = setImmediate(this.#round);
    // Who polls beside us in this thread waits for the end of our round.
    const untilNs = host.now() + (POLLING.size > 1 ? 0 : ROUND_NS);
    let now: number;
    do {
      if (this.#link.poll()) return;
      now = host.now();
    } while (now < untilNs);
    // Whoever shares this processor with us may be the one we wait for.
    host.yield();
    if (this.#busy || now - this.#latestNs <= this.#windowNs) return;
    this.stop();
    this.#link.end();
  };
}

function clamp(windowNs: number): number {
  return Math.min(MOST_WINDOW_NS, Math.max(LEAST_WINDOW_NS, windowNs));
}

/** Those of this thread. */
const POLLING = new Set<PollLoop>();
/** For so long the rest of the process does not run. */
const ROUND_NS = 50_000;
const LEAST_WINDOW_NS = 25_000;
/** Beyond it, a wake-up costs less than polling. */
const MOST_WINDOW_NS = 200_000;
/** Gaps that two wake-ups explain. */
const MOST_TRIED_NS = 3 * MOST_WINDOW_NS;
/** A trial in vain polls for less than twice the longest window, once in so many gaps. */
const TRIAL_EVERY = 16;
