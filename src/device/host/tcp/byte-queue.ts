/**
 * Bytes in, bytes out, in order: what is to be sent and not yet acknowledged, and what has come and is not yet read.
 */
export class StreamBuffer {
  #bytes = new Uint8Array(1024);
  #start = 0;
  #end = 0;

  get length(): number {
    return this.#end - this.#start;
  }

  /** Appends a copy. */
  push(bytes: Uint8Array): void {
    if (this.#end + bytes.length > this.#bytes.length) this.#makeRoom(bytes.length);
    this.#bytes.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  /** A copy of `length` bytes from `offset` on; both within what is there. */
  peek(offset: number, length: number): Uint8Array {
    return this.#bytes.slice(this.#start + offset, this.#start + offset + length);
  }

  /** Forgets the first `length` bytes. */
  drop(length: number): void {
    this.#start += length;
    if (this.#start === this.#end) this.#start = this.#end = 0;
  }

  #makeRoom(more: number): void {
    const { length } = this;
    const grown = new Uint8Array(Math.max(this.#bytes.length, 2 * (length + more)));
    grown.set(this.#bytes.subarray(this.#start, this.#end));
    this.#bytes = grown;
    this.#start = 0;
    this.#end = length;
  }
}
