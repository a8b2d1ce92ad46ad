/**
 * Atomic Acknowledge Extended Transport Header, 8 bytes: what the memory held before the atomic operation.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +---------------------------------------------------------------+
 *  |                  original value, bits 63-32                   |
 *  +---------------------------------------------------------------+
 *  |                  original value, bits 31-0                    |
 *  +---------------------------------------------------------------+
 *
 * Owns the bits only. Rules: ref:wire#6.
 */

/** Length of the header, in bytes. */
export const ATOMIC_ACK_ETH_BYTES = 8;

const ORIGINAL_HI = 0;
const ORIGINAL_LO = 4;

/** The header, field by field (ref:wire#6). */
export interface AtomicAckEth {
  /** What the word held before the operation, unsigned 64 bits. */
  readonly original: bigint;
}

/** Reads the header at `offset`, where `ATOMIC_ACK_ETH_BYTES` must be. @throws RangeError otherwise */
export function readAtomicAckEth(view: DataView, offset: number): AtomicAckEth {
  return { original: view.getBigUint64(offset + ORIGINAL_HI) };
}

/** Writes all 8 bytes; the value as two unsigned 32-bit halves. */
export function writeAtomicAckEth(view: DataView, at: number, hi: number, lo: number): void {
  view.setUint32(at + ORIGINAL_HI, hi);
  view.setUint32(at + ORIGINAL_LO, lo);
}

/** Upper 32 bits of the original value in the AtomicAckETH at `at`, unsigned. */
export function atomicAckHi(view: DataView, at: number): number {
  return view.getUint32(at + ORIGINAL_HI);
}

/** Lower 32 bits of the original value in the AtomicAckETH at `at`, unsigned. */
export function atomicAckLo(view: DataView, at: number): number {
  return view.getUint32(at + ORIGINAL_LO);
}
