/**
 * The messages of rcopy of rdmacm-utils over its rsocket (rdma:librdmacm/examples/rcopy.c): a header of 16 bytes in the
 * order of the host, which is little-endian here as on every host we know of; a file goes as open, write, close, each
 * with an answer.
 *
 * ```
 *  0   version 0 | command | length (16): with what follows the header
 *  4   data (32): mode of the file, or status of an answer
 *  8   id (64): repeated by the answer
 * ```
 */

export const RcopyCommand = { Open: 1, Close: 2, Write: 3 } as const;
/** Added to the command of an answer. */
export const RESPONSE = 0x80;

export interface RcopyHeader {
  readonly version: number;
  readonly command: number;
  /** Header included. */
  readonly length: number;
  readonly data: number;
  readonly id: bigint;
}

/** A message: header and what follows it. */
export function writeMessage(command: number, data = 0, rest: Uint8Array = new Uint8Array(0), id = 0n): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + rest.length);
  const view = new DataView(bytes.buffer);
  view.setUint8(1, command);
  view.setUint16(2, bytes.length, true);
  view.setUint32(4, data, true);
  view.setBigUint64(8, id, true);
  bytes.set(rest, HEADER_BYTES);
  return bytes;
}

/** Undefined for what no rcopy sends. */
export function readHeader(bytes: Uint8Array): RcopyHeader | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, HEADER_BYTES);
  const header = {
    version: view.getUint8(0),
    command: view.getUint8(1),
    length: view.getUint16(2, true),
    data: view.getUint32(4, true),
    id: view.getBigUint64(8, true),
  };
  return header.version === 0 && header.length >= HEADER_BYTES ? header : undefined;
}

/** A name with a zero byte behind it, filled up to a multiple of eight. */
export function writePath(path: string): Uint8Array {
  const name = new TextEncoder().encode(path);
  const bytes = new Uint8Array((name.length + 8) & ~7);
  bytes.set(name);
  return bytes;
}

export function readPath(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}

export function writeSize(size: number): Uint8Array {
  const bytes = new Uint8Array(SIZE_BYTES);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(size), true);
  return bytes;
}

/** Undefined for a size that no file has. */
export function readSize(bytes: Uint8Array): number | undefined {
  const size = new DataView(bytes.buffer, bytes.byteOffset, SIZE_BYTES).getBigUint64(0, true);
  return size <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(size) : undefined;
}

export const RCOPY_PORT = 7427;
export const HEADER_BYTES = 16;
export const SIZE_BYTES = 8;
/** Longest path: what the length field leaves. */
export const MAX_PATH_BYTES = 0xff_ff - HEADER_BYTES - 8;
