/**
 * Priority flow control frame (IEEE 802.1Qbb): a MAC control frame that pauses the other end of a link, per priority.
 *
 * ```
 *  0  01-80-C2-00-00-01, 6                6  source MAC, 6
 * 12  type 0x8808       14  opcode 0x0101
 * 16  0, 8 bits         17  class enable vector, bit n for priority n
 * 18  pause time of priority 0, 16 bits, ... 32  of priority 7
 * 34  padding, 26 bytes of 0; the frame check sequence behind it makes 64
 * ```
 *
 * Owns the bits only; when a pause ends is up to the port. Never tagged with a VLAN. A pause time counts quanta of 512
 * bit times of the link, and 0 ends a pause. Untrusted bytes give undefined.
 * Sources: AMD PG051 "Priority-Based Flow Control Frames", Altera 10-Gbps Ethernet MAC user guide A.4; tshark 4.0
 * agrees (`macc.cbfc`).
 */

import { MAC_BYTES, type MacAddress } from './address.ts';
import { ETHERNET_BYTES, ETHERTYPE_AT, readMac, writeMac } from './ethernet.ts';

/** What `writePfc` writes: the shortest frame of Ethernet without its frame check sequence. */
export const PFC_FRAME_BYTES = 60;
/** MAC control frames. */
export const ETHERTYPE_MAC_CONTROL = 0x8808;
/** MAC control opcode of priority flow control. */
export const PFC_OPCODE = 0x0101;
/** Priorities there are, 0..7. */
export const PFC_PRIORITIES = 8;
/** Bits on the wire that one quantum of pause time stands for. */
export const PFC_QUANTUM_BITS = 512;
/** The longest pause of a frame, in quanta. */
export const PFC_MAX_QUANTA = 0xff_ff;

/** A priority flow control frame, field by field. */
export interface Pfc {
  /** MAC address of the sending port. */
  readonly sourceMac: MacAddress;
  /** Bit n: the pause time of priority n counts; 8 bits. */
  readonly enableVector: number;
  /** Pause times of priorities 0..7 in quanta of 512 bit times, 16 bits each. */
  readonly quanta: readonly number[];
}

/** Whether `[start, end)` holds a whole priority flow control frame; its padding may be missing. */
export function isPfc(view: DataView, start: number, end: number): boolean {
  return (
    end - start >= PFC_HEADER_BYTES &&
    view.getUint16(start + ETHERTYPE_AT) === ETHERTYPE_MAC_CONTROL &&
    view.getUint16(start + OPCODE_AT) === PFC_OPCODE &&
    view.getUint16(start) === DEST_HIGH &&
    view.getUint32(start + 2) === DEST_LOW
  );
}

/** The frame in `[start, end)`, a copy; undefined when it is none. */
export function readPfc(view: DataView, start: number, end: number): Pfc | undefined {
  if (!isPfc(view, start, end)) return undefined;
  return {
    sourceMac: readMac(view, start + MAC_BYTES),
    enableVector: pfcEnableVector(view, start),
    quanta: Array.from({ length: PFC_PRIORITIES }, (_, priority) => pfcQuanta(view, start, priority)),
  };
}

/** Class enable vector of the frame at `start`, for which `isPfc` must hold. */
export function pfcEnableVector(view: DataView, start: number): number {
  return view.getUint8(start + ENABLE_VECTOR_AT);
}

/** Pause time of `priority` 0..7 in the frame at `start`, for which `isPfc` must hold; quanta. */
export function pfcQuanta(view: DataView, start: number, priority: number): number {
  return view.getUint16(start + QUANTA_AT + 2 * priority);
}

/**
 * Writes all `PFC_FRAME_BYTES` and returns their number.
 *
 * @param enableVector bit n: the pause time of priority n counts; of the others too every byte is written
 * @param quanta eight pause times of 16 bits; one that is missing is written as 0
 */
export function writePfc(
  view: DataView,
  at: number,
  sourceMac: MacAddress,
  enableVector: number,
  quanta: ArrayLike<number>,
): number {
  view.setUint16(at, DEST_HIGH);
  view.setUint32(at + 2, DEST_LOW);
  writeMac(view, at + MAC_BYTES, sourceMac);
  view.setUint16(at + ETHERTYPE_AT, ETHERTYPE_MAC_CONTROL);
  view.setUint16(at + OPCODE_AT, PFC_OPCODE);
  view.setUint16(at + OPCODE_AT + 2, enableVector & 0xff);
  for (let priority = 0; priority < PFC_PRIORITIES; priority++) {
    view.setUint16(at + QUANTA_AT + 2 * priority, quanta[priority] ?? 0);
  }
  for (let offset = PFC_HEADER_BYTES; offset < PFC_FRAME_BYTES; offset += 2) view.setUint16(at + offset, 0);
  return PFC_FRAME_BYTES;
}

/** 01-80-C2-00-00-01: the other end of this link; no bridge forwards it. */
const DEST_HIGH = 0x01_80;
const DEST_LOW = 0xc2_00_00_01;
const OPCODE_AT = ETHERNET_BYTES;
const ENABLE_VECTOR_AT = OPCODE_AT + 3;
const QUANTA_AT = OPCODE_AT + 4;
const PFC_HEADER_BYTES = QUANTA_AT + 2 * PFC_PRIORITIES;
