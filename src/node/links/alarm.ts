/**
 * One deadline in real time: calls back once, when it has come or a little later.
 * Owns one timer. Far deadlines use setTimeout, near ones poll in each round of the event loop, as the driver does
 * (ref:platform#5 rule 10).
 */
import { monotonicNs } from '../clock.ts';

export class Alarm {
  readonly #ring: () => void;
  #deadline = Infinity;
  #timer: NodeJS.Timeout | undefined;
  #turn: NodeJS.Immediate | undefined;

  constructor(ring: () => void) {
    this.#ring = ring;
  }

  /** Replaces the deadline, a time of `monotonicNs`; Infinity cancels it. */
  set(deadline: number): void {
    if (deadline === this.#deadline) return;
    this.#clear();
    this.#deadline = deadline;
    if (deadline !== Infinity) this.#arm();
  }

  #arm(): void {
    const inMs = (this.#deadline - monotonicNs()) / 1e6;
    if (inMs <= NEAR_MS) {
      this.#turn = setImmediate(() => this.#check());
      return;
    }
    // Early by the coarseness of the timer. Unreferenced: a deadline does not keep the process alive.
    this.#timer = setTimeout(() => this.#check(), Math.min(inMs - 1, MAX_TIMEOUT_MS)).unref();
  }

  #check(): void {
    this.#timer = undefined;
    this.#turn = undefined;
    if (monotonicNs() < this.#deadline) {
      this.#arm();
      return;
    }
    this.#deadline = Infinity;
    this.#ring();
  }

  #clear(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    if (this.#turn !== undefined) clearImmediate(this.#turn);
    this.#timer = undefined;
    this.#turn = undefined;
  }
}

const NEAR_MS = 2;
/** The longest that setTimeout takes. */
const MAX_TIMEOUT_MS = 0x7f_ff_ff_ff;
