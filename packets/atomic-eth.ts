/**
 * Atomic Extended Transport Header, 28 bytes: COMPARE SWAP and FETCH ADD requests.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +---------------------------------------------------------------+
 *  |                  virtual address, bits 63-32                  |
 *  +---------------------------------------------------------------+
 *  |                  virtual address, bits 31-0                   |
 *  +---------------------------------------------------------------+
 *  |                             R_Key                             |
 *  +---------------------------------------------------------------+
 *  |            swap value (CmpSwap) or addend (FetchAdd)          |
 *  |                            64 bits                            |
 *  +---------------------------------------------------------------+
 *  |                        compare value                          |
 *  |                            64 bits                            |
 *  +---------------------------------------------------------------+
 *
 * Owns the bits only. 64-bit values are two u32 on the hot path, bigints in the record. Rules: ref:wire#6.
 */

/** Length of the header, in bytes. */
export const ATOMIC_ETH_BYTES = 28;

const VA_HI = 0;
const VA_LO = 4;
const RKEY = 8;
const SWAP_ADD_HI = 12;
const SWAP_ADD_LO = 16;
const COMPARE_HI = 20;
const COMPARE_LO = 24;

/** The header, field by field (ref:wire#6). */
export interface AtomicEth {
  /** Virtual address of the 64-bit word, a multiple of 8; unsigned 64 bits. */
  readonly va: bigint;
  /** Key of the responder's memory, 32 bits. */
  readonly rkey: number;
  /** What COMPARE SWAP writes, or what FETCH ADD adds; unsigned 64 bits. */
  readonly swapAdd: bigint;
  /** What COMPARE SWAP expects to find; unsigned 64 bits. Not used by FETCH ADD. */
  readonly compare: bigint;
}

/** Reads the header at `offset`, where `ATOMIC_ETH_BYTES` must be. @throws RangeError otherwise */
export function readAtomicEth(view: DataView, offset: number): AtomicEth {
  return {
    va: view.getBigUint64(offset + VA_HI),
    rkey: atomicRkey(view, offset),
    swapAdd: view.getBigUint64(offset + SWAP_ADD_HI),
    compare: view.getBigUint64(offset + COMPARE_HI),
  };
}

/** Writes all 28 bytes; 64-bit values as two unsigned 32-bit halves. */
export function writeAtomicEth(
  view: DataView,
  at: number,
  vaHi: number,
  vaLo: number,
  rkey: number,
  swapAddHi: number,
  swapAddLo: number,
  compareHi: number,
  compareLo: number,
): void {
  view.setUint32(at + VA_HI, vaHi);
  view.setUint32(at + VA_LO, vaLo);
  view.setUint32(at + RKEY, rkey);
  view.setUint32(at + SWAP_ADD_HI, swapAddHi);
  view.setUint32(at + SWAP_ADD_LO, swapAddLo);
  view.setUint32(at + COMPARE_HI, compareHi);
  view.setUint32(at + COMPARE_LO, compareLo);
}

/** Upper 32 bits of the virtual address in the AtomicETH at `at`, unsigned. */
export function atomicVaHi(view: DataView, at: number): number {
  return view.getUint32(at + VA_HI);
}

/** Lower 32 bits of the virtual address in the AtomicETH at `at`, unsigned. */
export function atomicVaLo(view: DataView, at: number): number {
  return view.getUint32(at + VA_LO);
}

/** R_Key of the AtomicETH at `at`, unsigned 32 bits. */
export function atomicRkey(view: DataView, at: number): number {
  return view.getUint32(at + RKEY);
}

/** Upper 32 bits of the swap value or addend in the AtomicETH at `at`, unsigned. */
export function atomicSwapAddHi(view: DataView, at: number): number {
  return view.getUint32(at + SWAP_ADD_HI);
}

/** Lower 32 bits of the swap value or addend in the AtomicETH at `at`, unsigned. */
export function atomicSwapAddLo(view: DataView, at: number): number {
  return view.getUint32(at + SWAP_ADD_LO);
}

/** Upper 32 bits of the compare value in the AtomicETH at `at`, unsigned. */
export function atomicCompareHi(view: DataView, at: number): number {
  return view.getUint32(at + COMPARE_HI);
}

/** Lower 32 bits of the compare value in the AtomicETH at `at`, unsigned. */
export function atomicCompareLo(view: DataView, at: number): number {
  return view.getUint32(at + COMPARE_LO);
}
