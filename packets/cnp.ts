/**
 * Congestion notification packet: a BTH and 16 reserved bytes, sent to the QP whose data came marked.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +---------------+-+-+---+-------+-------------------------------+
 *  |     0x81      |0|0| 0 |   0   |             P_Key             |
 *  +-+-+-----------+-+-+---+-------+-------------------------------+
 *  |0|B|     0     |          QPN of the sender marked             |
 *  +-+-+-----------+-----------------------------------------------+
 *  |                               0                               |
 *  +---------------------------------------------------------------+
 *  |                     reserved, 16 bytes                        |
 *  +---------------------------------------------------------------+
 *
 * Owns the bits only; when to send one and how to react is congestion control. Rules: ref:wire#9.
 */

import { type Bit, BTH_BYTES, readBth, writeBth, writeBthCongestion } from './bth.ts';

/** BTH and reserved bytes, without the ICRC. */
export const CNP_BYTES = BTH_BYTES + 16;

const CNP_OPCODE = 0x81;

/** What a congestion notification says (ref:wire#9). */
export interface Cnp {
  /** P_Key of the connection that was marked, 16 bits. */
  readonly pkey: number;
  /** The queue pair whose packets were marked, 24 bits. */
  readonly destQpn: number;
  /** Backward congestion notification: 1 from NVIDIA devices. */
  readonly becn: Bit;
}

/** Reads the BTH of a CNP at `offset`, where `CNP_BYTES` must be. @throws RangeError otherwise */
export function readCnp(view: DataView, offset: number): Cnp {
  const { pkey, destQpn, becn } = readBth(view, offset);
  return { pkey, destQpn, becn };
}

/** Writes all `CNP_BYTES`; BECN is 1 on NVIDIA devices and unmentioned in the annex, hence an argument. */
export function writeCnp(view: DataView, at: number, pkey: number, destQpn: number, becn: Bit): void {
  writeBth(view, at, CNP_OPCODE, 0, 0, 0, pkey, destQpn, 0, 0);
  writeBthCongestion(view, at, 0, becn);
  for (let offset = at + BTH_BYTES; offset < at + CNP_BYTES; offset += 4) view.setUint32(offset, 0);
}
