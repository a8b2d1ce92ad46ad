/**
 * XRC Extended Transport Header, 4 bytes: the shared receive queue that an XRC request addresses.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +---------------+-----------------------------------------------+
 *  |   reserved    |                    XRCSRQ                     |
 *  +---------------+-----------------------------------------------+
 *
 * Owns the bits only. Layout read in a public NIC firmware source and in a patch to rxe that was posted to linux-rdma;
 * tshark 4.0 shows these four bytes, without knowing them.
 */

/** Length of the header, in bytes. */
export const XRCETH_BYTES = 4;

/** The header, as a record. */
export interface Xrceth {
  /** 24 bits */
  readonly xrcSrq: number;
}

/** Reads the header at `offset`, where `XRCETH_BYTES` must be. @throws RangeError otherwise */
export function readXrceth(view: DataView, offset: number): Xrceth {
  return { xrcSrq: xrcethXrcSrq(view, offset) };
}

/** Writes all 4 bytes; the number is cut to 24 bits. */
export function writeXrceth(view: DataView, at: number, xrcSrq: number): void {
  view.setUint32(at, xrcSrq & 0xff_ff_ff);
}

/** Number of the shared receive queue in the XRCETH at `at`, 0..0xffffff. */
export function xrcethXrcSrq(view: DataView, at: number): number {
  return view.getUint32(at) & 0xff_ff_ff;
}
