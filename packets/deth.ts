/**
 * Datagram Extended Transport Header, 8 bytes: UD (and RD) requests.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +---------------------------------------------------------------+
 *  |                             Q_Key                             |
 *  +---------------+-----------------------------------------------+
 *  |   reserved    |                  source QPN                   |
 *  +---------------+-----------------------------------------------+
 *
 * Owns the bits only. Rules: ref:wire#6.
 */

/** Length of the header, in bytes. */
export const DETH_BYTES = 8;

const QKEY = 0;
const SOURCE_QPN = 4;

/** The header, field by field (ref:wire#6). */
export interface Deth {
  /** Q_Key, 32 bits: has to be that of the receiving queue pair. */
  readonly qkey: number;
  /** 24 bits */
  readonly sourceQpn: number;
}

/** Reads the header at `offset`, where `DETH_BYTES` must be. @throws RangeError otherwise */
export function readDeth(view: DataView, offset: number): Deth {
  return { qkey: dethQkey(view, offset), sourceQpn: dethSourceQpn(view, offset) };
}

/** Writes all 8 bytes; the QPN is cut to 24 bits. */
export function writeDeth(view: DataView, at: number, qkey: number, sourceQpn: number): void {
  view.setUint32(at + QKEY, qkey);
  view.setUint32(at + SOURCE_QPN, sourceQpn & 0xff_ff_ff);
}

/** Q_Key of the DETH at `at`, unsigned 32 bits. */
export function dethQkey(view: DataView, at: number): number {
  return view.getUint32(at + QKEY);
}

/** QPN of the sender in the DETH at `at`, 0..0xffffff. */
export function dethSourceQpn(view: DataView, at: number): number {
  return view.getUint32(at + SOURCE_QPN) & 0xff_ff_ff;
}
