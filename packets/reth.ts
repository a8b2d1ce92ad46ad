/**
 * RDMA Extended Transport Header, 16 bytes: where in the responder's memory a WRITE, READ, FLUSH or ATOMIC WRITE goes.
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
 *  |                          DMA length                           |
 *  +---------------------------------------------------------------+
 *
 * Owns the bits only. The address is two u32 on the hot path, a bigint in the record (ref:platform#5 rule 1). Rules:
 * ref:wire#6.
 */

/** Length of the header, in bytes. */
export const RETH_BYTES = 16;

const VA_HI = 0;
const VA_LO = 4;
const RKEY = 8;
const DMA_LENGTH = 12;

/** The header, field by field (ref:wire#6). */
export interface Reth {
  /** Unsigned 64 bits. */
  readonly va: bigint;
  /** Key of the responder's memory, 32 bits. */
  readonly rkey: number;
  /** Bytes of the whole message, 0..2^32-1 */
  readonly dmaLength: number;
}

/** Reads the header at `offset`, where `RETH_BYTES` must be. @throws RangeError otherwise */
export function readReth(view: DataView, offset: number): Reth {
  return {
    va: view.getBigUint64(offset + VA_HI),
    rkey: rethRkey(view, offset),
    dmaLength: rethDmaLength(view, offset),
  };
}

/** Writes all 16 bytes; the address as two unsigned 32-bit halves. */
export function writeReth(
  view: DataView,
  at: number,
  vaHi: number,
  vaLo: number,
  rkey: number,
  dmaLength: number,
): void {
  view.setUint32(at + VA_HI, vaHi);
  view.setUint32(at + VA_LO, vaLo);
  view.setUint32(at + RKEY, rkey);
  view.setUint32(at + DMA_LENGTH, dmaLength);
}

/** Upper 32 bits of the virtual address in the RETH at `at`, unsigned. */
export function rethVaHi(view: DataView, at: number): number {
  return view.getUint32(at + VA_HI);
}

/** Lower 32 bits of the virtual address in the RETH at `at`, unsigned. */
export function rethVaLo(view: DataView, at: number): number {
  return view.getUint32(at + VA_LO);
}

/** R_Key of the RETH at `at`, unsigned 32 bits. */
export function rethRkey(view: DataView, at: number): number {
  return view.getUint32(at + RKEY);
}

/** DMA length of the RETH at `at`: bytes of the whole message, 0..2^32-1. */
export function rethDmaLength(view: DataView, at: number): number {
  return view.getUint32(at + DMA_LENGTH);
}
