/**
 * The send buffer of an rsocket, used round and round. Owns the position of the next byte; the send window guarantees
 * that no byte under way is overwritten; its bytes are freed in the order in which they were taken.
 */
import type { MemoryRegion } from '../../../transport/memory.ts';
import type { MessageSource } from './endpoint.ts';

export class SendRing {
  readonly #region: MemoryRegion;
  readonly #size: number;
  readonly #inline: number;
  #at = 0;

  /** @param size bytes of the region that are the ring's @param inline bytes up to which nothing is copied here */
  constructor(region: MemoryRegion, size: number, inline: number) {
    this.#region = region;
    this.#size = size;
    this.#inline = inline;
  }

  /**
   * Bytes `start` to `start + length` of `bytes` as the source of a work request; at most the free bytes of the window.
   */
  put(bytes: Uint8Array, start: number, length: number): MessageSource {
    const end = start + length;
    if (length <= this.#inline) return { inline: bytes.subarray(start, end) };
    const mr = this.#region;
    const offset = this.#at;
    const first = Math.min(length, this.#size - offset);
    mr.bytes.set(bytes.subarray(start, start + first), offset);
    this.#at = (offset + length) % this.#size;
    if (first === length) return { sges: [{ mr, offset, length }] };
    mr.bytes.set(bytes.subarray(start + first, end), 0);
    return {
      sges: [
        { mr, offset, length: first },
        { mr, offset: 0, length: length - first },
      ],
    };
  }
}
