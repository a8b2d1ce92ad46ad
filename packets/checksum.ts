/**
 * The Internet checksum: ones' complement sums for IPv4 headers, and for UDP and ICMPv6 with their pseudo-header.
 *
 * Owns the arithmetic only. Works on (view, start, end), allocates nothing.
 */

const IPV4_HEADER_BYTES = 20;
const IPV4_CHECKSUM_AT = 10;

/**
 * Adds the big-endian 16-bit words of [start, end) to `initial` and folds to 16 bits.
 *
 * An odd last byte counts as the high half of a word, so only the last piece of a chain of sums may be odd.
 */
export function onesComplementSum(view: DataView, start: number, end: number, initial: number): number {
  let sum = initial;
  let at = start;
  for (; end - at >= 2; at += 2) sum += view.getUint16(at);
  if (at < end) sum += view.getUint8(at) << 8;
  return fold(sum);
}

/** Turns a sum into the 16-bit value that goes on the wire. A range that contains its right checksum finishes as 0. */
export function finishChecksum(sum: number): number {
  return ~fold(sum) & 0xff_ff;
}

/** Checksum of the 20-byte IPv4 header at `at`, whatever its checksum field holds now. */
export function ipv4HeaderChecksum(view: DataView, at: number): number {
  const before = onesComplementSum(view, at, at + IPV4_CHECKSUM_AT, 0);
  return finishChecksum(onesComplementSum(view, at + IPV4_CHECKSUM_AT + 2, at + IPV4_HEADER_BYTES, before));
}

/** True when the 20-byte IPv4 header at `at` sums to ones, its checksum field included. */
export function ipv4ChecksumMatches(view: DataView, at: number): boolean {
  let sum = 0;
  // Whether a sum is all ones does not depend on the order of the bytes in its words.
  for (let word = at; word < at + IPV4_HEADER_BYTES; word += 4) {
    const both = view.getInt32(word, true);
    sum += (both & 0xff_ff) + (both >>> 16);
  }
  return (sum & 0xff_ff) + (sum >>> 16) === 0xff_ff;
}

/**
 * Sum of the pseudo-header that UDP and ICMPv6 checksums start with: addresses of the IP header at `ipOffset`, the
 * protocol number and the length in bytes of the upper-layer packet. To be continued with `onesComplementSum` over that
 * packet.
 */
export function pseudoHeaderSum(
  view: DataView,
  ipOffset: number,
  ipVersion: number,
  protocol: number,
  upperLength: number,
): number {
  const start = ipOffset + (ipVersion === 4 ? 12 : 8);
  const end = ipOffset + (ipVersion === 4 ? 20 : 40);
  return onesComplementSum(view, start, end, protocol + upperLength);
}

function fold(sum: number): number {
  let folded = sum;
  // Division and not a shift: the sum of a long run does not fit 32 bits.
  while (folded > 0xff_ff) folded = (folded % 0x1_00_00) + Math.floor(folded / 0x1_00_00);
  return folded;
}
