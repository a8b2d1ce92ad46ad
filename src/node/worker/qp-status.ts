/**
 * The state of a queue pair in shared memory: its QP state, and how many of its work requests are complete. Written by
 * the worker, read by the application.
 *
 * Both may lag. That is harmless: only modify takes a queue pair to a state in which it refuses work, the application
 * waits for modify, and the new state is there before the answer; and the counts only grow. So the worker accepts every
 * request that passes here; one that does not pass goes to the worker in a call, whose result counts. So does work that
 * is flushed at once: its completion is in the queue when the post returns.
 */
import { QpState } from '../../../transport/qp-state.ts';

export const STATUS_BYTES = 12;

const STATE = 0;
const SENDS_DONE = 1;
const RECVS_DONE = 2;

export class QpStatus {
  readonly #words: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
  }

  get state(): QpState {
    return Atomics.load(this.#words, STATE) as QpState;
  }

  /** `sendsDone`, `recvsDone`: requests posted and not outstanding any more, modulo 2^32. */
  update(state: QpState, sendsDone: number, recvsDone: number): void {
    Atomics.store(this.#words, SENDS_DONE, sendsDone | 0);
    Atomics.store(this.#words, RECVS_DONE, recvsDone | 0);
    Atomics.store(this.#words, STATE, state);
  }

  /** Whether a send is accepted, when `posted` were before and `max` may be outstanding. */
  takesSend(posted: number, max: number): boolean {
    const { state } = this;
    return (
      (state === QpState.Rts || state === QpState.Sqd) && ((posted - Atomics.load(this.#words, SENDS_DONE)) | 0) < max
    );
  }

  takesRecv(posted: number, max: number): boolean {
    const { state } = this;
    return (
      state >= QpState.Init && state < QpState.Error && ((posted - Atomics.load(this.#words, RECVS_DONE)) | 0) < max
    );
  }
}
