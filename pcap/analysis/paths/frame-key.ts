/**
 * Knows a frame again that routers and switches have passed on. Pure functions over bytes.
 */

/** Where the bytes of a whole frame are. */
export interface FrameBytes {
  readonly view: DataView;
  readonly start: number;
  readonly end: number;
}

/**
 * A 32-bit hash of the bytes of a frame that do not change on the way: everything from the IP header on except traffic
 * class, flow label, TTL and the checksums of IP and UDP. Of other frames, everything after the MAC addresses.
 *
 * @param ipOffset where the IP header is in the frame, -1 for none
 * @param payload of the frame, by `payloadHash`
 */
export function frameKey(frame: FrameBytes, ipOffset: number, ipVersion: 0 | 4 | 6, payload: number): number {
  const { view, start, end } = frame;
  if (ipVersion === 0) return wordHashOf(view, Math.min(start + MAC_BYTES, end), end);
  const kept = ipVersion === 4 ? KEPT_V4 : KEPT_V6;
  const headers = start + ipOffset;
  const headersEnd = Math.min(headers + MOST_MASKED, end);
  let hash = FNV_BASIS;
  let at = headers;
  for (; at + 4 <= headersEnd; at += 4) hash = mixed(hash, view.getInt32(at, true) & kept.getInt32(at - headers, true));
  for (; at < headersEnd; at++) hash = Math.imul(hash ^ (view.getUint8(at) & kept.getUint8(at - headers)), FNV_PRIME);
  hash = wordHashOf(view, headersEnd, payloadStart(frame, ipOffset), hash);
  return wordHashOf(view, Math.max(headersEnd, end - TAIL_BYTES), end, mixed(hash, payload));
}

/**
 * A hash of the larger part of a long frame: so much of `frameKey` and `bodyHash` is the same, and is read once. It
 * begins at the same distance from the IP header, whatever tags are before that.
 */
export function payloadHash(frame: FrameBytes, ipOffset: number): number {
  const { view, end } = frame;
  let at = payloadStart(frame, ipOffset);
  let even = FNV_BASIS;
  let odd = WORD_PRIME;
  // Two that do not wait for each other.
  for (; at + 8 <= end - TAIL_BYTES; at += 8) {
    even = mixed(even, view.getInt32(at, true));
    odd = mixed(odd, view.getInt32(at + 4, true));
  }
  return wordHashOf(view, at, end - TAIL_BYTES, mixed(even, odd));
}

/** A hash of all that is not in the first and last bytes; 0 of a frame that has no more than these. */
export function bodyHash(frame: FrameBytes, ipOffset: number, payload: number): number {
  const { view, start, end } = frame;
  if (end - start <= HEAD_BYTES + TAIL_BYTES) return 0;
  return wordHashOf(view, start + HEAD_BYTES, payloadStart(frame, ipOffset), payload);
}

function payloadStart({ start, end }: FrameBytes, ipOffset: number): number {
  return Math.min(start + Math.max(ipOffset, 0) + HEAD_BYTES, end - TAIL_BYTES);
}

/** A 32-bit hash (FNV-1a) of the bytes in [from, end), after those that `hash` is of. */
export function hashOf(view: DataView, from: number, end: number, hash = FNV_BASIS): number {
  let value = hash;
  for (let at = from; at < end; at++) value = Math.imul(value ^ view.getUint8(at), FNV_PRIME);
  return value >>> 0;
}

/** As `hashOf`, of many bytes: a fourth of the multiplications, and another value. */
function wordHashOf(view: DataView, from: number, end: number, hash = FNV_BASIS): number {
  let value = hash;
  let at = from;
  for (; at + 4 <= end; at += 4) value = mixed(value, view.getInt32(at, true));
  return hashOf(view, at, end, value);
}

function mixed(hash: number, word: number): number {
  const product = Math.imul(hash ^ word, WORD_PRIME);
  // High bits would not reach low ones by multiplication.
  return product ^ (product >>> 15);
}

/** How many bytes differ; stops counting at `limit`. Different lengths differ in `limit` bytes. */
export function differingBytes(one: Uint8Array, other: Uint8Array, limit: number): number {
  if (one.length !== other.length) return limit;
  let count = 0;
  for (let at = 0; at < one.length && count < limit; at++) if (one[at] !== other[at]) count += 1;
  return count;
}

/** What is kept of a frame beside its hashes: all headers up to the RETH, with IPv6 and two VLAN tags. */
export const HEAD_BYTES = 124;
/** And the ICRC. */
export const TAIL_BYTES = 4;
const MAC_BYTES = 12;
const FNV_BASIS = 0x811c_9dc5;
const FNV_PRIME = 0x0100_0193;
/** As in MurmurHash3, whose finish uses it for words. */
const WORD_PRIME = 0x85eb_ca6b;
const MOST_MASKED = 48;
/** Counted from the IP header: traffic class, TTL and checksum, and the checksum of UDP. */
const KEPT_V4 = allBut(1, 8, 10, 11, 26, 27);
const KEPT_V6 = allBut(0, 1, 2, 3, 7, 46, 47);

/** Bits to be kept of the bytes at these places and of all others. */
function allBut(...places: readonly number[]): DataView {
  const kept = new Uint8Array(MOST_MASKED).fill(0xff);
  for (const place of places) kept[place] = 0;
  return new DataView(kept.buffer);
}
