/**
 * One direction of a wire in shared memory: a ring of frames between one producer and one consumer, each a process of
 * its own.
 *
 * Owns the layout. Each side keeps its own cursor to itself and reads the other's: what the other process writes is
 * input like any other, checked against the size of the ring, copied, and looked at only in the copy. Waiting is the
 * caller's: a side that sleeps says so in a word of the ring first, then looks once more.
 *
 *   word 0     cursor of the producer, in bytes, counting on beyond the size of the ring
 *   word 16    cursor of the consumer
 *   word 32    the consumer sleeps
 *   word 48    the producer waits for room
 *   4096 ..    frames, each behind a line of its own with its length in the first word
 *
 * Cursors and flags lie in lines of their own. Frames begin at lines, so that a copy never meets the alignment trap
 * (ref:platform#6).
 */
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import { copyFrame, type Slab } from '../../ground/copy-frame.ts';

/** Bytes of frames in a ring; a power of two. */
export const RING_DATA_BYTES = 0x40_00_00;
/** Bytes of a whole ring. */
export const RING_BYTES = 4096 + RING_DATA_BYTES;
/** The longest frame that a ring takes. */
export const MAX_RING_FRAME_BYTES = 0x1_00_00;

/** Memory of a ring, twice. */
class RingMemory {
  readonly words: Int32Array;
  readonly bytes: Uint8Array;
  readonly view: DataView;

  constructor(buffer: ArrayBuffer, offset: number) {
    this.words = new Int32Array(buffer, offset, RING_BYTES / 4);
    this.bytes = new Uint8Array(buffer, offset + DATA_AT, RING_DATA_BYTES);
    this.view = new DataView(buffer, offset + DATA_AT, RING_DATA_BYTES);
  }
}

/** The end that frames go in at. */
export class RingProducer {
  readonly #memory: RingMemory;
  #cursor: number;

  /** Of the ring at `offset` of `buffer`. */
  constructor(buffer: ArrayBuffer, offset: number) {
    this.#memory = new RingMemory(buffer, offset);
    this.#cursor = Atomics.load(this.#memory.words, PRODUCED) & -LINE_BYTES;
  }

  /**
   * Copies frame `index` of a batch into the ring; the consumer sees it with the next `publish`. False when there is no
   * room.
   */
  put(batch: FrameBatch, index: number): boolean {
    const length = batch.lengths[index] as number;
    let at = this.#cursor & DATA_MASK;
    const needed = LINE_BYTES + lines(length);
    // A frame is not cut in two: the rest of the ring is left empty.
    const skipped = at + needed > RING_DATA_BYTES ? RING_DATA_BYTES - at : 0;
    const used = (this.#cursor - Atomics.load(this.#memory.words, CONSUMED)) | 0;
    // A cursor that the other process has set to nonsense is a ring without room.
    if (used < 0 || used + skipped + needed > RING_DATA_BYTES) return false;
    const memory = this.#memory;
    if (skipped > 0) {
      memory.view.setInt32(at, SKIP, true);
      at = 0;
    }
    memory.view.setInt32(at, length, true);
    copyFrame(batch.bytes, batch.view, batch.starts[index] as number, length, memory, at + LINE_BYTES);
    this.#cursor = (this.#cursor + skipped + needed) | 0;
    return true;
  }

  /** Shows the consumer what was put; whether it sleeps and has to be woken. */
  publish(): boolean {
    const { words } = this.#memory;
    Atomics.store(words, PRODUCED, this.#cursor);
    return Atomics.load(words, SLEEPING) !== 0 && Atomics.exchange(words, SLEEPING, 0) !== 0;
  }

  /** Asks to be woken when there is room, before the caller tries once more. */
  wantRoom(): void {
    Atomics.store(this.#memory.words, WANTS_ROOM, 1);
  }
}

/** The end that frames come out of. */
export class RingConsumer {
  readonly #memory: RingMemory;
  #cursor: number;

  /** Of the ring at `offset` of `buffer`. */
  constructor(buffer: ArrayBuffer, offset: number) {
    this.#memory = new RingMemory(buffer, offset);
    this.#cursor = Atomics.load(this.#memory.words, CONSUMED) & -LINE_BYTES;
  }

  /**
   * Copies the next frame to `at` of the slab and returns its length: 0 when there is none, the length without a copy
   * when it is longer than `room`, and -1 when the ring holds no frames but nonsense.
   */
  take(slab: Slab, at: number, room: number): number {
    const memory = this.#memory;
    const filled = (Atomics.load(memory.words, PRODUCED) - this.#cursor) | 0;
    if (filled === 0) return 0;
    if (filled < 0 || filled > RING_DATA_BYTES) return -1;
    let from = this.#cursor & DATA_MASK;
    let length = memory.view.getInt32(from, true);
    let skipped = 0;
    if (length === SKIP) {
      skipped = RING_DATA_BYTES - from;
      from = 0;
      if (filled <= skipped) return -1;
      length = memory.view.getInt32(0, true);
    }
    const needed = LINE_BYTES + lines(length);
    if (!(length > 0 && length <= MAX_RING_FRAME_BYTES)) return -1;
    if (skipped + needed > filled || from + needed > RING_DATA_BYTES) return -1;
    if (length <= room) copyFrame(memory.bytes, memory.view, from + LINE_BYTES, length, slab, at);
    this.#cursor = (this.#cursor + skipped + needed) | 0;
    return length;
  }

  /** Gives the room of what was taken back; whether the producer waits for it and has to be woken. */
  release(): boolean {
    const { words } = this.#memory;
    Atomics.store(words, CONSUMED, this.#cursor);
    return Atomics.load(words, WANTS_ROOM) !== 0 && Atomics.exchange(words, WANTS_ROOM, 0) !== 0;
  }

  /** Asks to be woken by the next frame; whether one is there already, so that nobody will. */
  sleep(): boolean {
    const { words } = this.#memory;
    Atomics.store(words, SLEEPING, 1);
    return Atomics.load(words, PRODUCED) !== this.#cursor;
  }

  /** Whether or not it was woken: it looks by itself from now on. */
  wake(): void {
    Atomics.store(this.#memory.words, SLEEPING, 0);
  }
}

function lines(length: number): number {
  return (length + LINE_BYTES - 1) & -LINE_BYTES;
}

const DATA_AT = 4096;
const DATA_MASK = RING_DATA_BYTES - 1;
const LINE_BYTES = 64;
/** Words, in lines of their own. */
const PRODUCED = 0;
const CONSUMED = 16;
const SLEEPING = 32;
const WANTS_ROOM = 48;
/** Instead of a length: the next frame is at the start of the ring. */
const SKIP = -1;
