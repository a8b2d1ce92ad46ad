/**
 * Knows a frame again that routers and switches have passed on. Pure functions over bytes.
 */

/**
 * A 32-bit hash of the bytes that do not change on the way: everything from the IP header on except traffic class, flow
 * label, TTL and the checksums of IP and UDP. Of other frames, everything after the MAC addresses.
 *
 * @param ipOffset where the IP header is, -1 for none
 */
export function frameKey(bytes: Uint8Array, ipOffset: number, ipVersion: 0 | 4 | 6): number {
  let hash = FNV_BASIS;
  const start = ipVersion === 0 ? Math.min(MAC_BYTES, bytes.length) : ipOffset;
  const masked = ipVersion === 4 ? MASKED_V4 : ipVersion === 6 ? MASKED_V6 : NOTHING;
  for (let at = start; at < bytes.length; at++) {
    const byte = masked.has(at - start) ? 0 : (bytes[at] as number);
    hash = Math.imul(hash ^ byte, FNV_PRIME);
  }
  return hash >>> 0;
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
/** Counted from the IP header: traffic class, TTL and checksum, and the checksum of UDP. */
const MASKED_V4: ReadonlySet<number> = new Set([1, 8, 10, 11, 26, 27]);
const MASKED_V6: ReadonlySet<number> = new Set([0, 1, 2, 3, 7, 46, 47]);
const NOTHING: ReadonlySet<number> = new Set();
