/**
 * The bytes of a file, a few blocks of it at a time: the file may be larger than the memory.
 *
 * Owns the blocks that are kept. Where they come from is not its business: memory, a file that was picked, a server.
 */

/** A file that can be read anywhere, at once. */
export interface ByteSource {
  /** Bytes in it. */
  readonly size: number;
  /**
   * Bytes from the beginning that may stay in memory once they were read; 0 where reading again costs nothing. A file
   * that is longer is read again behind them.
   */
  readonly keptBytes: number;
  /** The bytes from `from` up to `to`, both within the file. They never change. Throws where they cannot be read. */
  read(from: number, to: number): Uint8Array<ArrayBuffer>;
}

/** Bytes that are in memory. */
export function bytesInMemory(bytes: Uint8Array<ArrayBuffer>): ByteSource {
  return { size: bytes.length, keptBytes: 0, read: (from, to) => bytes.subarray(from, to) };
}

/** Reads a file in blocks of one size, and keeps its beginning and the blocks that were used last. */
export class FileBytes {
  readonly size: number;
  readonly #source: ByteSource;
  readonly #blockBytes: number;
  /** The blocks before this one stay. */
  #staying: number;
  readonly #beginning: Uint8Array<ArrayBuffer>[] = [];
  /** Others, by index; the one used last is the last one. */
  readonly #kept = new Map<number, Uint8Array<ArrayBuffer>>();
  #lastIndex = -1;
  #last = NO_BYTES;

  constructor(source: ByteSource, blockBytes = BLOCK_BYTES) {
    this.size = source.size;
    this.#source = source;
    this.#blockBytes = blockBytes;
    this.#staying = Math.floor(source.keptBytes / blockBytes);
  }

  /** The block of this index, from 0; undefined behind the end of the file. */
  block(index: number): Uint8Array<ArrayBuffer> | undefined {
    if (index * this.#blockBytes >= this.size) return undefined;
    if (index === this.#lastIndex) return this.#last;
    const block = this.#known(index) ?? this.#read(index);
    this.#keep(index, block);
    this.#lastIndex = index;
    this.#last = block;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MOST_BLOCKS) break;
      this.#kept.delete(oldest);
    }
    return block;
  }

  /** `length` bytes from `from`, fewer at the end of the file. */
  range(from: number, length: number): Uint8Array<ArrayBuffer> {
    const first = Math.floor(from / this.#blockBytes);
    const start = from - first * this.#blockBytes;
    const block = this.block(first) ?? NO_BYTES;
    if (start + length <= block.length) return block.subarray(start, start + length);
    const whole = new Uint8Array(Math.max(0, Math.min(length, this.size - from)));
    for (let index = first, at = 0; at < whole.length; index++) {
      const part = (this.block(index) ?? NO_BYTES).subarray(at === 0 ? start : 0).subarray(0, whole.length - at);
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }

  #known(index: number): Uint8Array<ArrayBuffer> | undefined {
    return this.#beginning[index] ?? this.#kept.get(index);
  }

  /** As the one that was used last. */
  #keep(index: number, block: Uint8Array<ArrayBuffer>): void {
    if (index < this.#staying) {
      this.#beginning[index] = block;
      return;
    }
    this.#kept.delete(index);
    this.#kept.set(index, block);
  }

  /** Whoever goes from one block to the next gets many at once: asking costs more than reading. */
  #read(index: number): Uint8Array<ArrayBuffer> {
    let count = 1;
    if (this.#known(index - 1)) while (count < BLOCKS_AHEAD && !this.#known(index + count)) count++;
    const from = index * this.#blockBytes;
    const to = Math.min(this.size, from + count * this.#blockBytes);
    const bytes = this.#readBytes(from, to);
    if (bytes.length !== to - from) throw new Error('the file is not the one any more that was opened: it is shorter');
    for (let at = 0, next = index; at < bytes.length; at += this.#blockBytes, next++)
      this.#keep(next, bytes.subarray(at, at + this.#blockBytes));
    return bytes.subarray(0, this.#blockBytes);
  }

  /** Where the memory is not enough for what is kept, nothing is kept any more. */
  #readBytes(from: number, to: number): Uint8Array<ArrayBuffer> {
    try {
      return this.#source.read(from, to);
    } catch (error) {
      if (this.#beginning.length === 0) throw error;
      this.#staying = 0;
      this.#beginning.length = 0;
      this.#kept.clear();
      return this.#source.read(from, to);
    }
  }
}

const NO_BYTES = new Uint8Array(0);
const BLOCK_BYTES = 1024 * 1024;
/** 64 MiB of a file, which is all of most. */
const MOST_BLOCKS = 64;
const BLOCKS_AHEAD = 16;
