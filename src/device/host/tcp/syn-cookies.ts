/**
 * SYN cookies: an initial sequence number that says what a half-open connection would have to remember, so that nothing
 * of it is kept. Owns the encoding and the check. Never sees a segment.
 *
 * ```
 *  31      30..28                27..0
 * | epoch | segment size, index | tag   |
 * ```
 *
 * The tag is a keyed hash (HalfSipHash-2-4) of both addresses and ports, the peer's initial sequence number, the epoch
 * of 64 s and the index. A cookie counts for 64 to 128 s; a guess succeeds once in 2^28. The largest segment size is
 * rounded down to one of eight; this stack knows no other option of a SYN, so no other is lost.
 * Sources: RFC 4987 section 3.6; J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF" (2012).
 */
import type { IpAddress } from '../../../../packets/address.ts';
import type { Random } from '../../../../transport/random.ts';

/** What a cookie is for. */
export interface CookieEnds {
  readonly localAddress: IpAddress;
  readonly localPort: number;
  readonly remoteAddress: IpAddress;
  readonly remotePort: number;
}

export class SynCookies {
  readonly #k0: number;
  readonly #k1: number;

  /** The key comes from `random`, so cookies are unpredictable as far as that is. */
  constructor(random: Random) {
    this.#k0 = random.u32();
    this.#k1 = random.u32();
  }

  /** The initial sequence number for a SYN with sequence number `irs` that offers `mss`; 32 bits. */
  make(now: number, ends: CookieEnds, irs: number, mss: number): number {
    const epoch = Math.floor(now / EPOCH_NS);
    let index = SIZES.length - 1;
    while (index > 0 && (SIZES[index] as number) > mss) index -= 1;
    return (((epoch & 1) << 31) | (index << TAG_BITS) | this.#tag(ends, irs, epoch, index)) >>> 0;
  }

  /** The segment size in a cookie that we have made for these ends not long ago; undefined for any other number. */
  check(now: number, ends: CookieEnds, irs: number, cookie: number): number | undefined {
    const present = Math.floor(now / EPOCH_NS);
    const epoch = (present & 1) === cookie >>> 31 ? present : present - 1;
    const index = (cookie >>> TAG_BITS) & 7;
    return this.#tag(ends, irs, epoch, index) === (cookie & TAG_MASK) ? SIZES[index] : undefined;
  }

  #tag(
    { localAddress: a, localPort, remoteAddress: b, remotePort }: CookieEnds,
    irs: number,
    epoch: number,
    index: number,
  ) {
    const ports = (localPort << 16) | remotePort;
    const words = [a.w0, a.w1, a.w2, a.w3, b.w0, b.w1, b.w2, b.w3, ports, irs, epoch, index];
    return halfSipHash(this.#k0, this.#k1, words) & TAG_MASK;
  }
}

/** HalfSipHash-2-4 of whole words, 32 bits; `k0` and `k1` are the key, little-endian words. */
export function halfSipHash(k0: number, k1: number, words: readonly number[]): number {
  const v = [k0 | 0, k1 | 0, 0x6c_79_67_65 ^ k0, 0x74_65_64_62 ^ k1];
  for (const word of words) absorb(v, word);
  absorb(v, (4 * words.length) << 24);
  v[2] = (v[2] as number) ^ 0xff;
  rounds(v, 4);
  return ((v[1] as number) ^ (v[3] as number)) >>> 0;
}

function absorb(v: number[], word: number): void {
  v[3] = (v[3] as number) ^ word;
  rounds(v, 2);
  v[0] = (v[0] as number) ^ word;
}

function rounds(v: number[], count: number): void {
  let [v0 = 0, v1 = 0, v2 = 0, v3 = 0] = v;
  for (let i = 0; i < count; i++) {
    v0 = (v0 + v1) | 0;
    v1 = rotated(v1, 5) ^ v0;
    v0 = rotated(v0, 16);
    v2 = (v2 + v3) | 0;
    v3 = rotated(v3, 8) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = rotated(v3, 7) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = rotated(v1, 13) ^ v2;
    v2 = rotated(v2, 16);
  }
  v[0] = v0;
  v[1] = v1;
  v[2] = v2;
  v[3] = v3;
}

function rotated(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}

const EPOCH_NS = 64e9;
const TAG_BITS = 28;
const TAG_MASK = 0x0f_ff_ff_ff;
/** The least we send, those that every host takes, and those of Ethernet over both IP versions. */
const SIZES: readonly number[] = [64, 536, 966, 1220, 1380, 1440, 1460, 8940];
