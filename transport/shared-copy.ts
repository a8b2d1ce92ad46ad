/**
 * Copies to or from memory that threads share. An engine copies such memory word by word, but byte by byte where source and
 * destination stand differently in their words, as payloads in frames do: a seventh of the speed (seen in V8: 4 KiB in 950 ns
 * instead of 140). Staging the bytes in memory of our own, standing as the shared ones do, costs a second copy and takes 300.
 */

/** Whether a copy of this many bytes or more is worth a look at whose memory it is. */
export const WORTH_STAGING = 512;

export function isShared(bytes: Uint8Array): boolean {
  // A browser has no such memory in a page that is not isolated.
  return typeof SharedArrayBuffer === 'function' && bytes.buffer instanceof SharedArrayBuffer;
}

/** Whether any region of this thread lies in shared memory: while none does, no copy is asked whose memory it is. */
export let sharedMemoryIsUsed = false;

/** To be told of memory that is registered. */
export function noteMemory(bytes: Uint8Array): void {
  sharedMemoryIsUsed ||= isShared(bytes);
}

/** From shared memory when `fromShared`, else to it; any number of bytes. */
export function copyStaged(
  to: Uint8Array,
  toAt: number,
  from: Uint8Array,
  fromAt: number,
  length: number,
  fromShared: boolean,
): void {
  const stand = (fromShared ? from.byteOffset + fromAt : to.byteOffset + toAt) & (WORD_BYTES - 1);
  for (let done = 0; done < length; done += STAGE_BYTES) {
    const size = Math.min(STAGE_BYTES, length - done);
    STAGE.set(from.subarray(fromAt + done, fromAt + done + size), stand);
    to.set(STAGE.subarray(stand, stand + size), toAt + done);
  }
}

const WORD_BYTES = 8;
/** A packet's payload. */
const STAGE_BYTES = 4096;
const STAGE = new Uint8Array(STAGE_BYTES + WORD_BYTES);
