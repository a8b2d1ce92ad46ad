/**
 * Words in shared memory: the number of answered calls, whether the worker has ended, whether it must be woken, the
 * positions of the ring of posts, the captured bytes in flight, whether keys have changed, the worker's thread.
 */

export const Word = {
  /** Counts up with every answer to a call that blocks; notified. */
  Answers: 0,
  /** 1 when the worker has ended, if it could still write this; notified through `Answers`. */
  Gone: 1,
  /** 1 while the worker does not poll the ring of posts. */
  Asleep: 2,
  /** Cells of the ring of posts that were written and read, counting up. */
  PostTail: 3,
  PostHead: 4,
  /** Bytes of captured frames that are on their way to the application. */
  Captured: 5,
  /** Counts up when a key's state has changed (`key-cells.ts`). */
  KeyEpoch: 6,
  /** Number of the worker's thread, where the system names threads (`thread-life.ts`); 0 elsewhere. */
  Thread: 7,
} as const;

/** What a worker is made with, all of it shared or cloneable. */
export interface SharedControl {
  readonly words: SharedArrayBuffer;
  readonly posts: SharedArrayBuffer;
}

export function makeControl(): SharedControl {
  const words = new SharedArrayBuffer(WORDS * 4);
  Atomics.store(new Int32Array(words), Word.Asleep, 1);
  return { words, posts: new SharedArrayBuffer(POST_RING_BYTES) };
}

const WORDS = 16;
/** About 2,000 work requests of two SGEs. */
const POST_RING_BYTES = 1 << 18;
