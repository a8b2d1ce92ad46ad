/**
 * Packets of the device for one queue pair of the tester, in order, and the waiter for the next one. Waiting always has
 * a limit.
 */
import type { Sighting } from 'rocev2/packets/kit';

/** What an inbox needs of its station. */
interface Clock {
  /** Packets that scripts have looked at. */
  taken: number;
  now(): number;
  wake(): void;
}

export class Inbox {
  /** Time at which the wait ends. */
  deadline = Infinity;
  readonly #clock: Clock;
  readonly #queue: Sighting[] = [];
  #waiter: ((sighting: Sighting | undefined) => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Packets that wait to be taken. */
  get length(): number {
    return this.#queue.length;
  }

  /** The next packet, waited for `withinNs` at most; undefined when none came. One waiter at a time. */
  next(withinNs: number): Promise<Sighting | undefined> {
    const first = this.#queue.shift();
    if (first !== undefined) {
      this.#clock.taken++;
      return Promise.resolve(first);
    }
    return new Promise((resolve) => {
      this.#waiter = resolve;
      this.deadline = this.#clock.now() + withinNs;
      this.#clock.wake();
    });
  }

  /** Puts one back in front. */
  unread(sighting: Sighting): void {
    this.#queue.unshift(sighting);
  }

  /** Takes all that is there. */
  drain(): Sighting[] {
    const all = this.#queue.splice(0);
    this.#clock.taken += all.length;
    return all;
  }

  push(sighting: Sighting): void {
    if (this.#waiter !== undefined) this.#answer(sighting);
    else if (this.#queue.length < MAX_WAITING) this.#queue.push(sighting);
  }

  handleTimeout(now: number): void {
    if (this.#waiter !== undefined && now >= this.deadline) this.#answer(undefined);
  }

  close(): void {
    if (this.#waiter !== undefined) this.#answer(undefined);
  }

  #answer(sighting: Sighting | undefined): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    this.deadline = Infinity;
    if (sighting !== undefined) this.#clock.taken++;
    waiter?.(sighting);
  }
}

/** A device that floods is cut off here. */
const MAX_WAITING = 100_000;
