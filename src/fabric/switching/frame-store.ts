/**
 * Frames of a switched network while they are under way: equal slots in one slab, and beside each what switches need to know of it.
 * Owns the memory. A slot is in one list at a time (a queue or a link), so that one array of successors serves all lists. Allocates
 * only when it grows. A slot freed last is used first, while it is still cached.
 */
import { invariant } from '../../../packets/errors.ts';

/** Whole cache lines, and an odd number of them: slots of a power of two would all begin in the same set of the cache. */
const LINE_BYTES = 64;
const FIRST_SLOTS = 256;
/** From here on a bulk copy beats a loop over words (ref:platform#5). */
const BULK_COPY_BYTES = 256;

export class FrameStore {
  /** Replaced when the store grows: read it again after `copyIn` and `take`. */
  bytes: Uint8Array;
  view: DataView;
  /** Bytes of one slot. */
  readonly stride: number;
  /** Slots in use. */
  used = 0;
  // By slot.
  lengths = new Int32Array(FIRST_SLOTS);
  /** The one behind it in its list; -1 for none. */
  next = new Int32Array(FIRST_SLOTS);
  /** Priority 0..7, or `CONTROL`. */
  priorities = new Uint8Array(FIRST_SLOTS);
  /** Where the IPv4 header begins, from the start of the frame. */
  ipOffsets = new Uint8Array(FIRST_SLOTS);
  /** Bits of `Fate`. */
  fates = new Uint8Array(FIRST_SLOTS);
  /** The host it is for. */
  hosts = new Int32Array(FIRST_SLOTS);
  /** Index of the port at the other end of the link it came by, and of the one it leaves by. */
  ingress = new Int32Array(FIRST_SLOTS);
  egress = new Int32Array(FIRST_SLOTS);
  /** When it comes out of the link it is on: as far as the other end needs it to go on, and all of it. */
  arrivals = new Float64Array(FIRST_SLOTS);
  tails = new Float64Array(FIRST_SLOTS);
  /** Number of the frame in the network, from 1. */
  serials = new Float64Array(FIRST_SLOTS);
  #slots = FIRST_SLOTS;
  #free = new Int32Array(FIRST_SLOTS);
  #freeCount = 0;
  #serial = 0;

  /** Room for frames of up to `frameBytes` bytes each. */
  constructor(frameBytes: number) {
    this.stride = LINE_BYTES * (Math.ceil(frameBytes / LINE_BYTES) | 1);
    this.bytes = new Uint8Array(FIRST_SLOTS * this.stride);
    this.view = new DataView(this.bytes.buffer);
    this.#release(0, FIRST_SLOTS);
  }

  /** A free slot for a frame of `length` bytes, whose bytes are whatever they were. */
  take(length: number, priority: number, host: number): number {
    invariant(length <= this.stride, 'a frame fits its slot');
    if (this.#freeCount === 0) this.#grow();
    const slot = this.#free[--this.#freeCount] as number;
    this.used++;
    this.lengths[slot] = length;
    this.priorities[slot] = priority;
    this.hosts[slot] = host;
    this.fates[slot] = 0;
    this.serials[slot] = ++this.#serial;
    return slot;
  }

  /** The same with a copy of the frame at `start`. */
  copyIn(bytes: Uint8Array, view: DataView, start: number, length: number, priority: number, host: number): number {
    const slot = this.take(length, priority, host);
    const to = slot * this.stride;
    if (length >= BULK_COPY_BYTES) this.bytes.set(bytes.subarray(start, start + length), to);
    else this.#copySmall(view, start, length, to);
    return slot;
  }

  drop(slot: number): void {
    this.#free[this.#freeCount++] = slot;
    this.used--;
  }

  #copySmall(view: DataView, start: number, length: number, to: number): void {
    const target = this.view;
    let at = 0;
    for (; at + 4 <= length; at += 4) target.setInt32(to + at, view.getInt32(start + at));
    for (; at < length; at++) target.setUint8(to + at, view.getUint8(start + at));
  }

  #grow(): void {
    const before = this.#slots;
    const slots = before * 2;
    invariant(slots * this.stride < MAX_BYTES, 'frames under way stay within the offsets of a batch');
    const bytes = new Uint8Array(slots * this.stride);
    bytes.set(this.bytes);
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer);
    this.lengths = withRoom(this.lengths, new Int32Array(slots));
    this.next = withRoom(this.next, new Int32Array(slots));
    this.priorities = withRoom(this.priorities, new Uint8Array(slots));
    this.ipOffsets = withRoom(this.ipOffsets, new Uint8Array(slots));
    this.fates = withRoom(this.fates, new Uint8Array(slots));
    this.hosts = withRoom(this.hosts, new Int32Array(slots));
    this.ingress = withRoom(this.ingress, new Int32Array(slots));
    this.egress = withRoom(this.egress, new Int32Array(slots));
    this.arrivals = withRoom(this.arrivals, new Float64Array(slots));
    this.tails = withRoom(this.tails, new Float64Array(slots));
    this.serials = withRoom(this.serials, new Float64Array(slots));
    this.#free = withRoom(this.#free, new Int32Array(slots));
    this.#slots = slots;
    this.#release(before, slots);
  }

  /** Puts fresh slots on the stack of free ones, lowest on top. */
  #release(from: number, to: number): void {
    for (let slot = to - 1; slot >= from; slot--) this.#free[this.#freeCount++] = slot;
  }
}

function withRoom<A extends { set(array: A): void }>(array: A, larger: A): A {
  larger.set(array);
  return larger;
}

/** Starts of frames in a batch are 32-bit integers. */
const MAX_BYTES = 2 ** 31;
