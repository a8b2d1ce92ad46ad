/** Memory of another process, in this one: bytes that are reached by copies only, and a part of them that can go away. */
import type { CopiedMemory } from '../../../transport/copied-memory.ts';
import { pattern } from './packets.ts';

export class ForeignMemory implements CopiedMemory {
  readonly bytes: Uint8Array;
  /** The first byte that is gone, and the one behind the last. */
  gone: readonly [number, number] = [0, 0];
  /** Whether it puts off what a message places, as long as it may. */
  patient = false;
  /** Bytes that are put off. */
  waiting = 0;
  #writer: object | undefined;
  #waitsFrom = 0;
  #put: Uint8Array[] = [];
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

  write(offset: number, from: Uint8Array, fromAt: number, length: number, more: boolean, writer: object): boolean {
    if (!this.patient) return this.#place(offset, from.subarray(fromAt, fromAt + length));
    if (this.waiting === 0) this.#waitsFrom = offset;
    else if (this.#writer !== writer || offset !== this.#waitsFrom + this.waiting)
      throw new Error('a message that goes on elsewhere was told to go on here');
    this.#writer = writer;
    this.#put.push(from.slice(fromAt, fromAt + length));
    this.waiting += length;
    if (more) return true;
    const message = Buffer.concat(this.#put);
    this.#put = [];
    this.waiting = 0;
    return this.#place(this.#waitsFrom, message);
  }

  #place(offset: number, bytes: Uint8Array): boolean {
    if (!this.#has(offset, bytes.length)) return false;
    this.bytes.set(bytes, offset);
    return true;
  }

  #has(offset: number, length: number): boolean {
    if (offset < 0 || offset + length > this.bytes.length) this.outside += 1;
    const [from, to] = this.gone;
    return offset >= to || offset + length <= from;
  }
}
