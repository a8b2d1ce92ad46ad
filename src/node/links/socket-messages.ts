/**
 * The structures of sendmmsg(2) and recvmmsg(2) on 64-bit little-endian machines: offsets, addresses in them, and
 * control messages, which carry fields of a packet that are not in its bytes (man 3 cmsg; ref:platform#3).
 * Owns no memory. Whatever is written there, nothing outside the bounds of a search is read. No BigInt is made of an
 * address.
 */

/** Where each thing of a `struct mmsghdr` is. */
export const Mmsghdr = {
  Name: 0,
  NameLength: 8,
  Iov: 16,
  IovCount: 24,
  Control: 32,
  ControlLength: 40,
  Length: 56,
  Bytes: 64,
} as const;
export const IOVEC_BYTES = 16;
export const SOCKADDR_IN6_BYTES = 28;
/** Where the address of a `struct sockaddr_in6` is. */
export const SIN6_ADDR = 8;
/** Offset of the data in a `struct cmsghdr`. */
export const CMSG_DATA = 16;

/** Little-endian, 64 bits. */
export function writeAddress(view: DataView, at: number, address: number): void {
  view.setUint32(at, address >>> 0, true);
  view.setUint32(at + 4, Math.floor(address / 0x1_00_00_00_00), true);
}

/** A `struct iovec`. */
export function writeVector(view: DataView, at: number, address: number, length: number): void {
  writeAddress(view, at, address);
  view.setUint32(at + 8, length, true);
}

/** A control message but for its data. */
export function writeControl(view: DataView, at: number, dataBytes: number, level: number, type: number): void {
  view.setUint32(at, CMSG_DATA + dataBytes, true);
  view.setInt32(at + LEVEL_AT, level, true);
  view.setInt32(at + TYPE_AT, type, true);
}

/** Where the `bytes` bytes of data of the first control message of a level and type begin; -1 when it is not there. */
export function findControl(
  view: DataView,
  start: number,
  end: number,
  level: number,
  type: number,
  bytes: number,
): number {
  for (let at = start; end - at >= CMSG_DATA + bytes; ) {
    if (view.getInt32(at + LEVEL_AT, true) === level && view.getInt32(at + TYPE_AT, true) === type)
      return at + CMSG_DATA;
    const length = view.getUint32(at, true);
    if (length < CMSG_DATA || length > end - at) return -1;
    at += (length + ALIGNMENT - 1) & -ALIGNMENT;
  }
  return -1;
}

/** The number in the first control message of a level and type; 0 when it is not there. */
export function controlNumber(view: DataView, start: number, end: number, level: number, type: number): number {
  const at = findControl(view, start, end, level, type, 4);
  return at < 0 ? 0 : view.getInt32(at, true);
}

const LEVEL_AT = 8;
const TYPE_AT = 12;
const ALIGNMENT = 8;
