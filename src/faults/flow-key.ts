/**
 * Hash numbers of the two ends of a flow, cheap enough to be computed for every packet.
 * Owns the hash. Different ends may have the same number: compare addresses where that matters.
 */
import type { Frame } from '../../packets/frame.ts';
import { IPV4_SOURCE_AT } from '../../packets/ipv4.ts';
import { IPV6_SOURCE_AT } from '../../packets/ipv6.ts';

/** Of the addresses on both sides, the same for both directions; 27 bits. */
export function addressHash(frame: Frame, direction: number): number {
  const { view, ipOffset, ipVersion } = frame;
  const words = ipVersion === 4 ? 1 : 4;
  const source = ipOffset + (ipVersion === 4 ? IPV4_SOURCE_AT : IPV6_SOURCE_AT);
  const destination = source + words * 4;
  let hash = 0;
  for (let word = 0; word < words; word++) {
    hash = Math.imul(hash ^ view.getInt32((direction === 0 ? source : destination) + 4 * word), 0x9e_37_79_b1);
    hash = Math.imul(
      (hash ^ (hash >>> 15)) + view.getInt32((direction === 0 ? destination : source) + 4 * word),
      0x85_eb_ca_6b,
    );
  }
  return (hash ^ (hash >>> 13)) >>> 5;
}

/** A safe integer for each combination: 27, 1 and 24 bits. */
export function flowKey(hash: number, direction: number, qpn: number): number {
  return (hash * 2 + direction) * 0x1_00_00_00 + qpn;
}
