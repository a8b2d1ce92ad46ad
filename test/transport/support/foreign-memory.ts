/** Memory of another process, in this one: bytes that are reached by copies only, and a part of them that can go away. */
import type { CopiedMemory } from '../../../transport/copied-memory.ts';
import { pattern } from './packets.ts';

export class ForeignMemory implements CopiedMemory {
  readonly bytes: Uint8Array;
  /** The first byte that is gone, and the one behind the last. */
  gone: readonly [number, number] = [0, 0];
  /** Copies asked for beyond the end: there must be none. */
  outside = 0;

  constructor(length: number, seed = 3) {
    this.bytes = pattern(length, seed);
  }

  get length(): number {
    return this.bytes.length;
  }

  read(offset: number, to: Uint8Array, toAt: number, length: number): boolean {
    if (!this.#has(offset, length)) return false;
    to.set(this.bytes.subarray(offset, offset + length), toAt);
    return true;
  }

  write(offset: number, from: Uint8Array, fromAt: number, length: number): boolean {
    if (!this.#has(offset, length)) return false;
    this.bytes.set(from.subarray(fromAt, fromAt + length), offset);
    return true;
  }

  #has(offset: number, length: number): boolean {
    if (offset < 0 || offset + length > this.bytes.length) this.outside += 1;
    const [from, to] = this.gone;
    return offset >= to || offset + length <= from;
  }
}
