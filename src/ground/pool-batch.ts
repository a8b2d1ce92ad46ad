/**
 * A batch whose frames lie in the slots of a pool, for a sink or a link.
 * Owns one reference to each slot from `add` to `release`. Allocates nothing after construction.
 */
import type { FrameBatch } from '../../packets/frame-writer.ts';
import type { FramePool } from './frame-pool.ts';

/** Frames in one batch, at most. */
export const BATCH_FRAMES = 64;

export class PoolBatch implements FrameBatch {
  bytes: Uint8Array = new Uint8Array(0);
  view: DataView = new DataView(this.bytes.buffer);
  count = 0;
  readonly starts = new Int32Array(BATCH_FRAMES);
  readonly lengths = new Int32Array(BATCH_FRAMES);
  readonly #slots = new Int32Array(BATCH_FRAMES);

  /** Adds a frame, whose reference is the batch's from now on; true when it is the first. */
  add(slot: number): boolean {
    this.#slots[this.count++] = slot;
    return this.count === 1;
  }

  /** The slot of the frame at `index`. */
  slot(index: number): number {
    return this.#slots[index] ?? 0;
  }

  /** Updates the frames' addresses: the pool may have grown since they were added. */
  bind(pool: FramePool): void {
    this.bytes = pool.bytes;
    this.view = pool.view;
    for (let i = 0; i < this.count; i++) {
      const slot = this.#slots[i] ?? 0;
      this.starts[i] = pool.start(slot);
      this.lengths[i] = pool.length(slot);
    }
  }

  /** Removes all frames and releases their slots. */
  release(pool: FramePool): void {
    const { count } = this;
    this.count = 0;
    for (let i = 0; i < count; i++) pool.drop(this.#slots[i] ?? 0);
  }
}
