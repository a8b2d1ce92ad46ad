/**
 * Which priorities of one sender are paused, until when, and for how long they were in all.
 *
 * Owns eight deadlines. Never reads a frame and never sends one. A pause ends by itself when its quanta have passed, is
 * renewed by the next frame that names the priority (also to an earlier end), and ends at once with 0 quanta. Rule:
 * IEEE 802.1Qbb as vendors describe it (see `packets/pfc.ts`); ref:dcqcn#4: a quantum is 512 bit times of the link.
 */
import { RoceError } from '../../../packets/errors.ts';
import { PFC_PRIORITIES, PFC_QUANTUM_BITS } from '../../../packets/pfc.ts';

/** Pauses of one port, by priority. Times are integer nanoseconds that never go back. */
export class PauseState {
  /** Duration of one quantum, nanoseconds; not an integer. */
  readonly quantumNs: number;
  /** When each pause ends. */
  readonly #until = new Float64Array(PFC_PRIORITIES);
  /** Up to when `#paused` counts. */
  readonly #settled = new Float64Array(PFC_PRIORITIES);
  readonly #paused = new Float64Array(PFC_PRIORITIES);

  /**
   * Nothing is paused. @param rateBps of the link, bits a second @throws RoceError ERR_ROCE_ARGUMENT unless positive
   * and finite
   */
  constructor(rateBps: number) {
    if (!(rateBps > 0 && rateBps < Infinity)) {
      throw new RoceError('ERR_ROCE_ARGUMENT', `the rate of a link must be positive and finite, not ${rateBps}`);
    }
    this.quantumNs = (PFC_QUANTUM_BITS * 1e9) / rateBps;
  }

  /** A frame asks for pauses: `quanta` of the priorities in `enableVector`; the others go on as they are. */
  received(now: number, enableVector: number, quanta: ArrayLike<number>): void {
    for (let priority = 0; priority < PFC_PRIORITIES; priority++) {
      if (((enableVector >>> priority) & 1) === 1) this.pause(now, priority, quanta[priority] ?? 0);
    }
  }

  /** The same for one priority. */
  pause(now: number, priority: number, quanta: number): void {
    this.#paused[priority] = this.pausedNs(now, priority);
    this.#settled[priority] = now;
    this.#until[priority] = now + Math.ceil(quanta * this.quantumNs);
  }

  /** Whether `priority` may not begin a frame now. */
  isPaused(now: number, priority: number): boolean {
    return now < (this.#until[priority] as number);
  }

  /** When the latest pause ends or ended; 0 when there was none. */
  resumeTime(priority: number): number {
    return this.#until[priority] as number;
  }

  /** How long `priority` has been paused in all up to now, nanoseconds. */
  pausedNs(now: number, priority: number): number {
    const running = Math.min(now, this.#until[priority] as number) - (this.#settled[priority] as number);
    return (this.#paused[priority] as number) + running;
  }
}
