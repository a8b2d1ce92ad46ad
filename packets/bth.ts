/**
 * Base Transport Header, 12 bytes, first in every RoCE packet.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +---------------+-+-+---+-------+-------------------------------+
 *  |    opcode     |S|M|Pad| TVer  |             P_Key             |
 *  +-+-+-----------+-+-+---+-------+-------------------------------+
 *  |F|B| reserved  |              destination QPN                  |
 *  +-+-+-----------+-----------------------------------------------+
 *  |A|  reserved   |                     PSN                       |
 *  +-+-------------+-----------------------------------------------+
 *
 * S solicited event, M MigReq, F FECN, B BECN, A AckReq. Reserved bits are written 0 and ignored on read.
 * Owns the bits only; whether a value is acceptable is for `frame.ts` and the transport. Rules: ref:wire#4.
 */

/** Length of the header, in bytes. */
export const BTH_BYTES = 12;

/** Byte 4 (FECN, BECN, reserved): the one byte of the BTH that the ICRC does not cover (ref:wire#3). */
export const BTH_MASKED_BYTE = 4;

const OPCODE = 0;
const FLAGS = 1;
const PKEY = 2;
const CONGESTION = BTH_MASKED_BYTE;
const DEST_QPN = 4;
const PSN = 8;

const SOLICITED = 0x80;
const MIG_REQ = 0x40;
const FECN = 0x80;
const BECN = 0x40;
const LOW_24 = 0xff_ff_ff;

/** A single bit as a number, so that it can be shifted into place. */
export type Bit = 0 | 1;

/** The header, field by field (ref:wire#4). */
export interface Bth {
  /** 8 bits: service in the upper three, operation in the lower five. See `Op` and `OPCODES`. */
  readonly opcode: number;
  /** Requests a solicited completion event at the receiver. */
  readonly solicited: Bit;
  /** Migration state: 1 when the sender considers its path migrated, which is what RoCE stacks send. */
  readonly migReq: Bit;
  /** 0..3 */
  readonly padCount: number;
  /** 0..15; 0 is the only version there is. */
  readonly transportVersion: number;
  /** P_Key, 16 bits: the partition in the lower 15, full membership in the top one. */
  readonly pkey: number;
  /** Forward congestion notification; RoCEv2 marks with ECN of IP instead. */
  readonly fecn: Bit;
  /** Backward congestion notification; set by some senders of CNPs. */
  readonly becn: Bit;
  /** 24 bits */
  readonly destQpn: number;
  /** Requests an ACK of this packet from the responder. */
  readonly ackReq: Bit;
  /** 24 bits */
  readonly psn: number;
}

/** Reads the header at `offset`, where `BTH_BYTES` must be: `parseFrame` sees to that. @throws RangeError otherwise */
export function readBth(view: DataView, offset: number): Bth {
  return {
    opcode: bthOpcode(view, offset),
    solicited: bthSolicited(view, offset),
    migReq: bthMigReq(view, offset),
    padCount: bthPadCount(view, offset),
    transportVersion: bthTransportVersion(view, offset),
    pkey: bthPkey(view, offset),
    fecn: bthFecn(view, offset),
    becn: bthBecn(view, offset),
    destQpn: bthDestQpn(view, offset),
    ackReq: bthAckReq(view, offset),
    psn: bthPsn(view, offset),
  };
}

/** Writes all 12 bytes; transport version, FECN, BECN and reserved bits are 0. */
export function writeBth(
  view: DataView,
  at: number,
  opcode: number,
  solicited: Bit,
  migReq: Bit,
  padCount: number,
  pkey: number,
  destQpn: number,
  ackReq: Bit,
  psn: number,
): void {
  view.setUint8(at + OPCODE, opcode);
  view.setUint8(at + FLAGS, (solicited << 7) | (migReq << 6) | ((padCount & 3) << 4));
  view.setUint16(at + PKEY, pkey);
  view.setUint32(at + DEST_QPN, destQpn & LOW_24);
  view.setUint32(at + PSN, (ackReq << 31) | (psn & LOW_24));
}

/** Writes FECN and BECN and clears the reserved bits beside them: byte 4, which the ICRC does not cover. */
export function writeBthCongestion(view: DataView, at: number, fecn: Bit, becn: Bit): void {
  view.setUint8(at + CONGESTION, (fecn << 7) | (becn << 6));
}

/** Opcode of the BTH at `at`, 0..255. */
export function bthOpcode(view: DataView, at: number): number {
  return view.getUint8(at + OPCODE);
}

/** Solicited event bit of the BTH at `at`. */
export function bthSolicited(view: DataView, at: number): Bit {
  return (view.getUint8(at + FLAGS) & SOLICITED) === 0 ? 0 : 1;
}

/** MigReq bit of the BTH at `at`. */
export function bthMigReq(view: DataView, at: number): Bit {
  return (view.getUint8(at + FLAGS) & MIG_REQ) === 0 ? 0 : 1;
}

/** Pad count of the BTH at `at`: bytes that fill the payload up to a multiple of four, 0..3. */
export function bthPadCount(view: DataView, at: number): number {
  return (view.getUint8(at + FLAGS) >>> 4) & 3;
}

/** Transport header version of the BTH at `at`, 0..15; only 0 exists. */
export function bthTransportVersion(view: DataView, at: number): number {
  return view.getUint8(at + FLAGS) & 0x0f;
}

/** P_Key of the BTH at `at`, 0..0xffff. */
export function bthPkey(view: DataView, at: number): number {
  return view.getUint16(at + PKEY);
}

/** FECN bit of the BTH at `at`. */
export function bthFecn(view: DataView, at: number): Bit {
  return (view.getUint8(at + CONGESTION) & FECN) === 0 ? 0 : 1;
}

/** BECN bit of the BTH at `at`. */
export function bthBecn(view: DataView, at: number): Bit {
  return (view.getUint8(at + CONGESTION) & BECN) === 0 ? 0 : 1;
}

/** Destination QPN of the BTH at `at`, 0..0xffffff; 0xffffff is multicast. */
export function bthDestQpn(view: DataView, at: number): number {
  return view.getUint32(at + DEST_QPN) & LOW_24;
}

/** AckReq bit of the BTH at `at`. */
export function bthAckReq(view: DataView, at: number): Bit {
  return view.getInt8(at + PSN) < 0 ? 1 : 0;
}

/** PSN of the BTH at `at`, 0..0xffffff. */
export function bthPsn(view: DataView, at: number): number {
  return view.getUint32(at + PSN) & LOW_24;
}
