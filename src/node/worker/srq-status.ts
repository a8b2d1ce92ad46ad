/**
 * The state of a shared receive queue in shared memory. Written by the worker, read by the application; it may lag for
 * the reasons in `qp-status.ts`: what was taken only grows, and room and limit change by calls that wait.
 */
import type { SharedReceiveQueue } from '../../../transport/srq.ts';

export const SRQ_STATUS_BYTES = 16;

const TAKEN = 0;
const LIMIT = 1;
const MAX_WR = 2;
const FAILED = 3;

export class SrqStatus {
  readonly #words: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
  }

  /** Receives there is room for. */
  get maxWr(): number {
    return Atomics.load(this.#words, MAX_WR);
  }

  get limit(): number {
    return Atomics.load(this.#words, LIMIT);
  }

  /** Receives not yet taken, when `posted` were posted; both count modulo 2^32. */
  length(posted: number): number {
    return (posted - Atomics.load(this.#words, TAKEN)) | 0;
  }

  /** Whether one more is accepted, when `posted` were before. */
  takes(posted: number): boolean {
    return Atomics.load(this.#words, FAILED) === 0 && this.length(posted) < this.maxWr;
  }

  update({ length, limit, maxWr, failed }: SharedReceiveQueue, posted: number): void {
    Atomics.store(this.#words, MAX_WR, maxWr);
    Atomics.store(this.#words, LIMIT, limit);
    Atomics.store(this.#words, FAILED, failed ? 1 : 0);
    Atomics.store(this.#words, TAKEN, (posted - length) | 0);
  }
}
