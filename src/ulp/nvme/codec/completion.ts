/**
 * Completion queue entry, 16 bytes: the response capsule.
 *
 *   0  dword 0 (32) | dword 1 (32): what the command returns
 *   8  submission queue head (16) | submission queue identifier (16)
 *  12  command identifier (16) | phase (1, lowest; 0 over Fabrics), status (15)
 *
 * Owns the bits; `status.ts` knows what a status means. Rules: ref:nvmeof.
 */

/** Length of an entry, in bytes. */
export const COMPLETION_BYTES = 16;

/**
 * A completion queue entry, field by field. One object is read into again and again.
 *
 * @example
 * ```ts
 * import { COMPLETION_BYTES, NvmeCompletion, NvmeStatus, statusName } from 'rocev2/nvme';
 * import { readCompletion, writeCompletion } from 'rocev2/nvme';
 *
 * const view = new DataView(new ArrayBuffer(COMPLETION_BYTES));
 * writeCompletion(view, 0, 5, NvmeStatus.LbaOutOfRange, 3);
 * const completion = new NvmeCompletion();
 * readCompletion(view, 0, COMPLETION_BYTES, completion);
 * console.log(completion.cid, completion.sqhd, statusName(completion.status)); // 5 3 LBA out of range
 * ```
 */
export class NvmeCompletion {
  /** What the command returns, 32 bits. */
  dw0 = 0;
  /** More of it: the upper half of a property of eight bytes. */
  dw1 = 0;
  /** How far the controller has taken commands from the submission queue, 16 bits. */
  sqhd = 0;
  /** Which submission queue the command came from; reserved over Fabrics. */
  sqid = 0;
  /** Identifier of the command, 16 bits. */
  cid = 0;
  /** 15 bits: code (8), code type (3), retry delay (2), more (1), do not retry (1). */
  status = 0;
  /** The phase tag, 0 or 1; 0 over Fabrics. */
  phase = 0;
}

/** Reads the entry at `at`; false, and nothing read, when fewer than 16 of the `length` bytes there are its. */
export function readCompletion(view: DataView, at: number, length: number, into: NvmeCompletion): boolean {
  if (!(length >= COMPLETION_BYTES && at >= 0 && at + COMPLETION_BYTES <= view.byteLength)) return false;
  const status = view.getUint16(at + STATUS_AT, true);
  into.dw0 = view.getUint32(at, true);
  into.dw1 = view.getUint32(at + DW1_AT, true);
  into.sqhd = view.getUint16(at + SQHD_AT, true);
  into.sqid = view.getUint16(at + SQID_AT, true);
  into.cid = view.getUint16(at + CID_AT, true);
  into.status = status >>> 1;
  into.phase = status & 1;
  return true;
}

/** Writes all 16 bytes, phase 0; numbers are cut to their width. @throws RangeError when they do not fit */
export function writeCompletion(
  view: DataView,
  at: number,
  cid: number,
  status: number,
  sqhd: number,
  dw0 = 0,
  dw1 = 0,
  sqid = 0,
): void {
  view.setUint32(at, dw0, true);
  view.setUint32(at + DW1_AT, dw1, true);
  view.setUint16(at + SQHD_AT, sqhd, true);
  view.setUint16(at + SQID_AT, sqid, true);
  view.setUint16(at + CID_AT, cid, true);
  view.setUint16(at + STATUS_AT, status << 1, true);
}

const DW1_AT = 4;
const SQHD_AT = 8;
const SQID_AT = 10;
const CID_AT = 12;
const STATUS_AT = 14;
