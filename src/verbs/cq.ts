/** Completion queue of the verbs API: transport/completion-queue.ts and what an application awaits. */
import { RoceError } from '../../packets/errors.ts';
import { CompletionQueue } from '../../transport/completion-queue.ts';
import { WorkCompletion } from '../../transport/work.ts';
import type { RdmaCq } from '../api.ts';

/** Where completions arrive (ibv_cq): `poll` without waiting, or `for await` over them. */
export class Cq extends CompletionQueue implements RdmaCq {
  #waiting: ((result: IteratorResult<WorkCompletion>) => void)[] = [];
  #closed = false;

  /**
   * The next completion, a fresh object; waits for it. Done when the device closes. Rejects with ERR_ROCE_LIMIT when the
   * queue has overrun and what it still held has been taken: completions are missing then.
   */
  next(): Promise<IteratorResult<WorkCompletion>> {
    const wc = new WorkCompletion();
    if (this.#waiting.length === 0 && this.poll(wc)) return Promise.resolve({ done: false, value: wc });
    if (this.overrun) {
      return Promise.reject(
        new RoceError('ERR_ROCE_LIMIT', `the completion queue of ${this.capacity} entries has overrun`),
      );
    }
    if (this.#closed) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.arm(false);
    });
  }

  [Symbol.asyncIterator](): AsyncIterator<WorkCompletion> {
    return { next: () => this.next() };
  }

  /** For the device: completions arrived while somebody waited. */
  settle(): void {
    while (this.#waiting.length > 0) {
      const wc = new WorkCompletion();
      if (!this.poll(wc)) {
        this.arm(false);
        return;
      }
      this.#waiting.shift()?.({ done: false, value: wc });
    }
  }

  /** For the device: no more completions will come. */
  close(): void {
    this.settle();
    this.#closed = true;
    for (const resolve of this.#waiting.splice(0)) resolve({ done: true, value: undefined });
  }
}

/** Makes a completion queue that adds itself to `notified` when it is to be settled. */
export type CqMaker = (capacity: number, notified: Cq[]) => Cq;

export const makeCq: CqMaker = (capacity, notified) => new Cq(capacity, notified);
