/**
 * A batch whose frames lie in slots of a `FrameStore`, for a sink.
 * Owns the slots from `fill` to `release`. One serves a whole network: frames of a batch are valid during the call
 * only.
 */
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import type { FrameStore } from './frame-store.ts';

/** Frames in one batch, at most. */
const BATCH_FRAMES = 64;

export class SlotBatch implements FrameBatch {
  bytes: Uint8Array = new Uint8Array(0);
  view: DataView = new DataView(this.bytes.buffer);
  count = 0;
  readonly starts = new Int32Array(BATCH_FRAMES);
  readonly lengths = new Int32Array(BATCH_FRAMES);
  readonly #slots = new Int32Array(BATCH_FRAMES);

  /** Takes frames of the list that begins with `slot`; returns the first one that found no room, or -1. */
  fill(store: FrameStore, slot: number): number {
    this.bytes = store.bytes;
    this.view = store.view;
    this.count = 0;
    while (slot >= 0 && this.count < BATCH_FRAMES) {
      const at = this.count++;
      this.#slots[at] = slot;
      this.starts[at] = store.start(slot);
      this.lengths[at] = store.length(slot);
      slot = store.next(slot);
    }
    return slot;
  }

  /** Removes all frames and releases their slots. */
  release(store: FrameStore): void {
    const { count } = this;
    this.count = 0;
    for (let at = 0; at < count; at++) store.drop(this.#slots[at] as number);
  }
}
