/**
 * Holds a flow to the rate of its controller: when the next frame may leave. Owns that time and whether a frame waits
 * for it; the queue pair calls `allows` before a packet and `sent` after it. A frame may go early by what the sender
 * was late, up to a bound: a real host cannot send at an exact time, and has to keep the rate all the same.
 */
import { NotificationGate } from './notification-gate.ts';
import type { RateController } from './rate-controller.ts';

/**
 * What stands between a queue pair and the wire.
 *
 * @example
 * ```ts
 * import { makeController, Pacer } from 'rocev2/transport';
 *
 * const controller = makeController({ kind: 'fixed-rate', rateBps: 8e9 }, 100e9);
 * if (controller === undefined) throw new Error('this kind has a rate');
 * const pacer = new Pacer(controller, 0);
 * // A byte takes a nanosecond at 8 Gb/s.
 * pacer.sent(0, 1_000);
 * console.log(pacer.allows(999), pacer.deadline, pacer.allows(1_000)); // false 1000 true
 * ```
 */
export class Pacer {
  /** What gives the rate. */
  readonly controller: RateController;
  /** Something was to leave before its time, and waits for `deadline`. */
  waiting = false;
  /** Bits a second at the last call; Infinity without a limit. */
  rateBps: number;
  readonly #maxBurstBits: number;
  /** When the next frame may leave, in nanoseconds; a fraction, so that rounding does not add up. */
  #freeAt = 0;
  readonly #gate = new NotificationGate();

  /** `maxBurstBytes`: how far a sender that was late may catch up. */
  constructor(controller: RateController, maxBurstBytes: number) {
    this.controller = controller;
    this.rateBps = controller.rateBps(0);
    this.#maxBurstBits = 8 * maxBurstBytes;
  }

  /** When `handleTimeout` is due, in nanoseconds; Infinity while nothing waits. */
  get deadline(): number {
    return this.waiting ? Math.ceil(this.#freeAt) : Number.POSITIVE_INFINITY;
  }

  /** Whether a frame may leave; if not, it waits for `deadline`. */
  allows(now: number): boolean {
    this.waiting = this.#freeAt > now;
    return !this.waiting;
  }

  /** Whether a notification can be that of an honest receiver that keeps `intervalNs`; takes it if so. */
  takesNotification(now: number, intervalNs: number): boolean {
    return this.#gate.takes(now, intervalNs);
  }

  /** A frame of `bytes` has left. */
  sent(now: number, bytes: number): void {
    const { controller } = this;
    this.#gate.sent();
    controller.sent(now, bytes);
    const rateBps = controller.rateBps(now);
    this.rateBps = rateBps;
    // A flow that had no limit is not late when one comes.
    if (rateBps === Number.POSITIVE_INFINITY) this.#freeAt = now;
    else {
      const earliest = now - (1e9 * this.#maxBurstBits) / rateBps;
      this.#freeAt = Math.max(this.#freeAt, earliest) + (8e9 * bytes) / rateBps;
    }
  }

  /** A frame has left that waits for no rate, such as an ACK: the network may mark it as well. */
  sentUnpaced(): void {
    this.#gate.sent();
  }

  /** To be called when `deadline` has passed. */
  handleTimeout(now: number): void {
    if (now >= this.deadline) this.waiting = false;
  }
}
