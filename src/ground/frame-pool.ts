/**
 * Where frames are while they are on the simulated wire: equal slots in one slab, counted by reference.
 * Owns the memory. Never parses a frame. Allocates only when it grows; a slot freed last is used first, while it is
 * still cached. Slots start at whole pages as those of `FrameWriter` do, so that a copy between the two never meets the
 * alignment trap (ref:platform#6).
 */
import { invariant } from '../../packets/errors.ts';
import { copyFrame } from './copy-frame.ts';

const PAGE_BYTES = 4096;
const FIRST_SLOTS = 64;

export class FramePool {
  /** Replaced when the pool grows: read it again after `copyIn`, `clone` or `reserve`. */
  bytes: Uint8Array;
  view: DataView;
  /** Bytes of one slot. */
  stride = PAGE_BYTES;
  /** Slots in use. */
  used = 0;
  #slots = FIRST_SLOTS;
  #lengths = new Int32Array(FIRST_SLOTS);
  #references = new Int32Array(FIRST_SLOTS);
  #free = new Int32Array(FIRST_SLOTS);
  #freeCount = 0;

  constructor() {
    this.bytes = new Uint8Array(FIRST_SLOTS * PAGE_BYTES);
    this.view = new DataView(this.bytes.buffer);
    this.#release(0, FIRST_SLOTS);
  }

  /** Makes slots hold frames of `frameBytes`; frames in the pool stay what they are. */
  reserve(frameBytes: number): void {
    const stride = Math.ceil(frameBytes / PAGE_BYTES) * PAGE_BYTES;
    if (stride > this.stride) this.#rearrange(stride, this.#slots);
  }

  /** Copies a frame into a free slot with one reference and returns the slot. */
  copyIn(bytes: Uint8Array, view: DataView, start: number, length: number): number {
    invariant(length <= this.stride, 'a frame fits the slots that reserve has made');
    if (this.#freeCount === 0) this.#grow();
    const slot = this.#free[--this.#freeCount] ?? 0;
    this.used++;
    this.#lengths[slot] = length;
    this.#references[slot] = 1;
    copyFrame(bytes, view, start, length, this, slot * this.stride);
    return slot;
  }

  /** A slot with the same frame that is ours alone, at the price of one of our references to `slot`. */
  own(slot: number): number {
    if (this.#references[slot] === 1) return slot;
    const copy = this.copyIn(this.bytes, this.view, this.start(slot), this.length(slot));
    this.drop(slot);
    return copy;
  }

  addReference(slot: number): void {
    this.#references[slot] = (this.#references[slot] ?? 0) + 1;
  }

  /** Gives one reference back; with the last one the slot is free. */
  drop(slot: number): void {
    const left = (this.#references[slot] ?? 0) - 1;
    invariant(left >= 0, 'a slot is dropped once for each reference');
    this.#references[slot] = left;
    if (left > 0) return;
    this.#free[this.#freeCount++] = slot;
    this.used--;
  }

  start(slot: number): number {
    return slot * this.stride;
  }

  length(slot: number): number {
    return this.#lengths[slot] ?? 0;
  }

  #grow(): void {
    const before = this.#slots;
    this.#rearrange(this.stride, before * 2);
    this.#release(before, this.#slots);
  }

  #rearrange(stride: number, slots: number): void {
    const bytes = new Uint8Array(slots * stride);
    for (let slot = 0; slot < this.#slots; slot++) {
      if ((this.#references[slot] ?? 0) === 0) continue;
      const from = slot * this.stride;
      bytes.set(this.bytes.subarray(from, from + this.length(slot)), slot * stride);
    }
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer);
    this.stride = stride;
    if (slots === this.#slots) return;
    this.#lengths = grown(this.#lengths, slots);
    this.#references = grown(this.#references, slots);
    this.#free = grown(this.#free, slots);
    this.#slots = slots;
  }

  /** Puts fresh slots on the stack of free ones, lowest on top. */
  #release(from: number, to: number): void {
    for (let slot = to - 1; slot >= from; slot--) this.#free[this.#freeCount++] = slot;
  }
}

function grown(array: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(length);
  larger.set(array);
  return larger;
}
