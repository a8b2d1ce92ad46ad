/**
 * Knows a frame again that routers and switches have passed on. Pure functions over bytes.
 */

/**
 * A 32-bit hash of the bytes of a frame that do not change on the way: everything from the IP header on except traffic
 * class, flow label, TTL and the checksums of IP and UDP. Of other frames, everything after the MAC addresses.
 *
 * @param ipOffset where the IP header is, -1 for none
 */
export function frameKey(bytes: Uint8Array, ipOffset: number, ipVersion: 0 | 4 | 6): number {
  if (ipVersion === 0) return bulkHashOf(bytes, Math.min(MAC_BYTES, bytes.length), bytes.length);
  const masked = ipVersion === 4 ? MASKED_V4 : MASKED_V6;
  const headersEnd = Math.min(ipOffset + MOST_MASKED, bytes.length);
  let hash = FNV_BASIS;
  for (let at = ipOffset; at < headersEnd; at++) {
    hash = Math.imul(hash ^ (masked[at - ipOffset] === 1 ? 0 : (bytes[at] as number)), FNV_PRIME);
  }
  return bulkHashOf(bytes, headersEnd, bytes.length, hash);
}

/** A 32-bit hash (FNV-1a) of the bytes in [from, end), after those that `hash` is of. */
export function hashOf(bytes: Uint8Array, from: number, end: number, hash = FNV_BASIS): number {
  let value = hash;
  for (let at = from; at < end; at++) value = Math.imul(value ^ (bytes[at] as number), FNV_PRIME);
  return value >>> 0;
}

/** As `hashOf`, of many bytes: a fourth of the multiplications, and another value. */
export function bulkHashOf(bytes: Uint8Array, from: number, end: number, hash = FNV_BASIS): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let value = hash;
  let at = from;
  for (; at + 4 <= end; at += 4) {
    value = Math.imul(value ^ view.getInt32(at, true), WORD_PRIME);
    // High bits would not reach low ones by multiplication.
    value ^= value >>> 15;
  }
  return hashOf(bytes, at, end, value);
}

/** How many bytes differ; stops counting at `limit`. Different lengths differ in `limit` bytes. */
export function differingBytes(one: Uint8Array, other: Uint8Array, limit: number): number {
  if (one.length !== other.length) return limit;
  let count = 0;
  for (let at = 0; at < one.length && count < limit; at++) if (one[at] !== other[at]) count += 1;
  return count;
}

const MAC_BYTES = 12;
const FNV_BASIS = 0x811c_9dc5;
const FNV_PRIME = 0x0100_0193;
/** As in MurmurHash3, whose finish uses it for words. */
const WORD_PRIME = 0x85eb_ca6b;
const MOST_MASKED = 48;
/** Counted from the IP header: traffic class, TTL and checksum, and the checksum of UDP. */
const MASKED_V4 = maskOf(1, 8, 10, 11, 26, 27);
const MASKED_V6 = maskOf(0, 1, 2, 3, 7, 46, 47);

function maskOf(...places: readonly number[]): Uint8Array {
  const mask = new Uint8Array(MOST_MASKED);
  for (const place of places) mask[place] = 1;
  return mask;
}
