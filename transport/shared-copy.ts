/**
 * Copies between frames and memory. Memory that threads share is copied by an engine word by word, but byte by byte
 * where source and destination differ in their alignment, as payloads in frames do: a seventh of the speed (seen in V8:
 * 4 KiB in 950 ns instead of 140). Staging the bytes in memory of our own, aligned as the shared ones are, costs a
 * second copy and takes 300.
 */

/** Below this a byte loop beats the view that `set` needs (measured: about 80 ns for the view). */
const SMALL_COPY = 48;

/** Copies of this many bytes or more are staged. */
export const WORTH_STAGING = 512;

const WORD_BYTES = 8;
/** A packet's payload. */
const STAGE_BYTES = 4096;

export function copyBytes(to: Uint8Array, toAt: number, from: Uint8Array, fromAt: number, length: number): void {
  if (length >= SMALL_COPY) {
    to.set(fromAt === 0 && length === from.length ? from : from.subarray(fromAt, fromAt + length), toAt);
    return;
  }
  for (let i = 0; i < length; i++) to[toAt + i] = from[fromAt + i] as number;
}

export function isShared(bytes: Uint8Array): boolean {
  // A browser has no such memory in a page that is not isolated.
  return typeof SharedArrayBuffer === 'function' && bytes.buffer instanceof SharedArrayBuffer;
}

/** Memory of our own, through which the copies of one piece of shared memory go. */
export class Stage {
  /** Made with the first copy. */
  #bytes: Uint8Array | undefined = undefined;

  /** From shared memory when `fromShared`, else to it; any number of bytes. */
  copy(to: Uint8Array, toAt: number, from: Uint8Array, fromAt: number, length: number, fromShared: boolean): void {
    this.#bytes ??= new Uint8Array(STAGE_BYTES + WORD_BYTES);
    const stage = this.#bytes;
    const alignment = (fromShared ? from.byteOffset + fromAt : to.byteOffset + toAt) & (WORD_BYTES - 1);
    for (let done = 0; done < length; done += STAGE_BYTES) {
      const size = Math.min(STAGE_BYTES, length - done);
      stage.set(from.subarray(fromAt + done, fromAt + done + size), alignment);
      to.set(stage.subarray(alignment, alignment + size), toAt + done);
    }
  }
}
