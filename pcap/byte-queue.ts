/**
 * A byte queue for readers that get a file in pieces.
 *
 * Owns the bytes that were pushed and not yet consumed. It never moves or overwrites a byte that it has handed out:
 * views stay valid for as long as callers keep them. New bytes therefore go after the existing ones, or into a new
 * buffer. A large piece is not copied: only a record that begins in one piece and ends in the next is put together.
 */

const EMPTY = new Uint8Array(0);
const SMALLEST_BUFFER_BYTES = 65_536;
/** From this size on a piece waits until what is before it has been read, and is then read where it lies. */
const LARGE_PIECE_BYTES = 65_536;

export class ByteQueue {
  /**
   * `bytes` and `view` cover the same memory with the same indices. `[start, end)` is unread, and there may be more:
   * use `has`.
   */
  bytes: Uint8Array = EMPTY;
  view: DataView = new DataView(EMPTY.buffer);
  start = 0;
  end = 0;
  /** Position in the whole stream of the byte at `start`. */
  offset = 0;
  /** What follows `[start, end)`. */
  private waiting: Uint8Array = EMPTY;

  /** Unread bytes, in one place or not. */
  get length(): number {
    return this.end - this.start + this.waiting.length;
  }

  /**
   * Whether `count` unread bytes are there; then they lie at `start`, contiguous. Bytes that were read before may move.
   */
  has(count: number): boolean {
    if (this.end - this.start >= count) return true;
    if (this.length < count) return false;
    const missing = count - (this.end - this.start);
    const { waiting } = this;
    if (missing === count) {
      this.waiting = EMPTY;
      this.adopt(waiting, waiting.length);
      return true;
    }
    const bridge = new Uint8Array(count);
    bridge.set(this.bytes.subarray(this.start, this.end));
    bridge.set(waiting.subarray(0, missing), count - missing);
    this.waiting = waiting.subarray(missing);
    this.adopt(bridge, count);
    return true;
  }

  /**
   * Appends `chunk`. A large one, or one to an empty queue, is kept without a copy: the caller must not change it
   * afterwards.
   */
  push(chunk: Uint8Array): void {
    // A plain Uint8Array whatever the chunk is: slices of a Node Buffer would share memory where others copy.
    const plain = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (this.length === 0) {
      this.adopt(plain, plain.length);
    } else if (this.waiting.length === 0 && plain.length >= LARGE_PIECE_BYTES && this.length < LARGE_PIECE_BYTES) {
      this.waiting = plain;
    } else {
      this.append(this.waiting);
      this.waiting = EMPTY;
      this.append(plain);
    }
  }

  /** Marks the first `count` unread bytes as read; `has(count)` must have returned true. */
  consume(count: number): void {
    this.start += count;
    this.offset += count;
  }

  private append(chunk: Uint8Array): void {
    const unread = this.end - this.start;
    // Only a buffer made here has free space after `end`. A chunk of the caller ends with its own bytes.
    if (this.bytes.length - this.end < chunk.length) {
      const grown = new Uint8Array(Math.max(SMALLEST_BUFFER_BYTES, 2 * (unread + chunk.length)));
      grown.set(this.bytes.subarray(this.start, this.end));
      this.adopt(grown, unread);
    }
    this.bytes.set(chunk, this.end);
    this.end += chunk.length;
  }

  private adopt(bytes: Uint8Array, end: number): void {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.start = 0;
    this.end = end;
  }
}
