/**
 * A byte queue for readers that take a file in pieces.
 *
 * Owns the bytes pushed and not yet consumed. Never moves or overwrites a byte it has handed out: views given to callers
 * stay true for as long as they keep them, so what is appended goes behind what is there, or into a new buffer.
 */

const EMPTY = new Uint8Array(0);
const SMALLEST_BUFFER_BYTES = 65_536;

export class ByteQueue {
  /** `bytes` and `view` cover the same memory with the same indices; unread bytes are `[start, end)`. */
  bytes: Uint8Array = EMPTY;
  view: DataView = new DataView(EMPTY.buffer);
  start = 0;
  end = 0;
  /** Position in the whole stream of the byte at `start`. */
  offset = 0;

  /** Unread bytes. */
  get length(): number {
    return this.end - this.start;
  }

  /** Appends `chunk`. An empty queue takes the chunk itself, without a copy: the caller must not change it afterwards. */
  push(chunk: Uint8Array): void {
    if (this.length === 0) {
      // A plain Uint8Array whatever the chunk is: slices of a Node Buffer would share memory where others copy.
      this.adopt(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength), chunk.length);
      return;
    }
    if (this.bytes.length - this.end < chunk.length || !this.owned) {
      const grown = new Uint8Array(Math.max(SMALLEST_BUFFER_BYTES, 2 * (this.length + chunk.length)));
      grown.set(this.bytes.subarray(this.start, this.end));
      this.adopt(grown, this.length);
      this.owned = true;
    }
    this.bytes.set(chunk, this.end);
    this.end += chunk.length;
  }

  /** Marks the first `count` unread bytes as read. */
  consume(count: number): void {
    this.start += count;
    this.offset += count;
  }

  // Only a buffer of our own may be written behind `end`: a caller's chunk can be followed by bytes that are not ours.
  private owned = false;

  private adopt(bytes: Uint8Array, end: number): void {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.start = 0;
    this.end = end;
    this.owned = false;
  }
}
