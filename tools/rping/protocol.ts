/**
 * What rping (rdmacm-utils) puts on the wire: the advertisement of a buffer, and the text of a ping.
 *
 * Owns the bytes and the limits. Never talks to a device. The exchange was read off real captures (`rping -C 5 -S 3000`
 * between rdma_rxe hosts) and checked against the published rping: default port, sizes and names are its own.
 *
 * ```
 *  0       8      12      16
 *  +-------+-------+-------+
 *  | address | rkey  | size  |   big-endian; all zero in the server's "go ahead"
 *  +-------+-------+-------+
 * ```
 */
import type { MemoryRegion } from 'rocev2/transport';

export const RPING_PORT = 7174;
export const DEFAULT_PING_BYTES = 64;
/** Room for the longest heading, "rdma-ping-2147483647: ", with a few letters. */
export const MIN_PING_BYTES = 26;
export const MAX_PING_BYTES = 65_535;
export const ADVERTISEMENT_BYTES = 16;

/** A buffer of the peer. */
export interface RemoteBuffer {
  readonly address: bigint;
  readonly rkey: number;
  readonly size: number;
}

export function writeAdvertisement(view: DataView, buffer: RemoteBuffer): void {
  view.setBigUint64(0, buffer.address);
  view.setUint32(8, buffer.rkey);
  view.setUint32(12, buffer.size);
}

export function readAdvertisement(view: DataView): RemoteBuffer {
  return { address: view.getBigUint64(0), rkey: view.getUint32(8), size: view.getUint32(12) };
}

/** The advertisement of a region of ours. */
export function advertisementOf(region: MemoryRegion): RemoteBuffer {
  return { address: region.iova, rkey: region.rkey, size: region.length };
}

/** Fills a buffer with ping number `ping`: its heading, then the letters A to z round and round, then a zero byte. */
export function fillPing(bytes: Uint8Array, ping: number): void {
  const heading = new TextEncoder().encode(`rdma-ping-${ping}: `);
  bytes.set(heading.subarray(0, bytes.length));
  // Each ping begins one letter later than the one before, so that stale data of the last one is noticed.
  for (let i = heading.length, letter = ping; i < bytes.length; i++, letter++) {
    bytes[i] = FIRST_LETTER + (letter % LETTERS);
  }
  bytes[bytes.length - 1] = 0;
}

/** The text in a buffer, up to its first zero byte. */
export function pingText(bytes: Uint8Array): string {
  return new TextDecoder('latin1').decode(bytes.subarray(0, pingTextBytes(bytes) - 1));
}

/** Bytes of the text with its zero byte: what the server sends back. Everything when there is no zero byte. */
export function pingTextBytes(bytes: Uint8Array): number {
  const end = bytes.indexOf(0);
  return end < 0 ? bytes.length : end + 1;
}

const FIRST_LETTER = 0x41;
/** "A" to "z", with what ASCII has between the cases. */
const LETTERS = 0x7a - FIRST_LETTER + 1;
