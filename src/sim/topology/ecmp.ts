/**
 * How a switch chooses between routes of equal cost: a hash over both addresses and the UDP source port, seeded per
 * switch so that switches behind each other do not all choose alike (which would leave half of the routes unused). The
 * packets of a queue pair keep their order, for its source port stays (ref:dcqcn#7, rule 5). The hash is the finaliser
 * of MurmurHash3 (32 bits) over the four words.
 */

/** A uniform integer of 32 bits for the flow of an IPv4/UDP packet; `ipOffset` is where the IPv4 header begins. */
export function ecmpHash(view: DataView, ipOffset: number, seed: number): number {
  const udp = ipOffset + ((view.getUint8(ipOffset) & 0xf) << 2);
  let hash = mix(seed ^ GOLDEN, view.getUint32(ipOffset + 12));
  hash = mix(hash, view.getUint32(ipOffset + 16));
  hash = mix(hash, view.getUint16(udp));
  return hash >>> 0;
}

/** One of `ways` (1 .. 65,536) for a hash: its upper bits, which no remainder has to be computed of. */
export function ecmpChoice(hash: number, ways: number): number {
  return ((hash >>> 16) * ways) >>> 16;
}

function mix(hash: number, word: number): number {
  let mixed = Math.imul(hash, 5) + 0xe6_54_6b_64;
  mixed ^= word;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85_eb_ca_6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2_b2_ae_35);
  return mixed ^ (mixed >>> 16);
}

const GOLDEN = 0x9e_37_79_b9;
