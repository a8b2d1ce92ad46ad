/**
 * Which addresses can be those of another host: answers go to no others. Owns the rule; never counts and never drops.
 *
 * Not those of a host: the unspecified address and the rest of 0.0.0.0/8, broadcast to all and to a network of ours,
 * groups, an IPv4 address mapped into IPv6. On Ethernet, loopback and our own addresses are excluded too: no switch
 * returns our frames. On the IP medium the kernel carries packets of a host to itself, and drops forged ones.
 * Sources: RFC 1122 section 3.2.1.3, RFC 4291 sections 2.5.2, 2.5.3, 2.5.5.2 and 2.7.
 */
import type { IpAddress, IpPrefix } from '../../../packets/address.ts';
import { type Frame, Medium } from '../../../packets/frame.ts';
import { IPV4_SOURCE_AT } from '../../../packets/ipv4.ts';
import { IPV6_SOURCE_AT } from '../../../packets/ipv6.ts';

/** Word 2 of a GID or an IPv6 address that maps an IPv4 address; words 0 and 1 are zero. */
const V4_MAPPED = 0xff_ff;
const LIMITED_BROADCAST = 0xff_ff_ff_ff;
const LOOPBACK_V4 = 127;
const LOOPBACK_V6 = 1;
/** A longer prefix leaves no room for a broadcast address (RFC 3021). */
const LONGEST_WITH_BROADCAST = 30;

export class HostAddresses {
  readonly #own: readonly IpAddress[];
  readonly #broadcasts: readonly number[];
  readonly #ethernet: boolean;

  /** `addresses`: our own, with the networks they are on. */
  constructor(medium: Medium, addresses: readonly IpPrefix[]) {
    this.#ethernet = medium === Medium.Ethernet;
    this.#own = addresses.map(({ address }) => address);
    this.#broadcasts = addresses
      .filter(({ address, length }) => address.version === 4 && length > 0 && length <= LONGEST_WITH_BROADCAST)
      .map(({ address, length }) => (address.w3 | (LIMITED_BROADCAST >>> length)) >>> 0);
  }

  isHost({ version, w0, w1, w2, w3 }: IpAddress): boolean {
    return version === 4 ? this.#isHost4(w3) : this.#isHost6(w0, w1, w2, w3);
  }

  /** Whether the source of a frame with an IP header is a host. No allocation. */
  isFromHost({ view, ipVersion, ipOffset }: Frame): boolean {
    if (ipVersion === 4) return this.#isHost4(view.getUint32(ipOffset + IPV4_SOURCE_AT));
    const at = ipOffset + IPV6_SOURCE_AT;
    return this.#isHost6(view.getUint32(at), view.getUint32(at + 4), view.getUint32(at + 8), view.getUint32(at + 12));
  }

  #isHost4(w3: number): boolean {
    const first = w3 >>> 24;
    if (first === 0 || first >>> 4 === 0xe || w3 === LIMITED_BROADCAST) return false;
    if (this.#broadcasts.includes(w3)) return false;
    return !(this.#ethernet && (first === LOOPBACK_V4 || this.#isOwn(4, 0, 0, V4_MAPPED, w3)));
  }

  #isHost6(w0: number, w1: number, w2: number, w3: number): boolean {
    if (w0 >>> 24 === 0xff) return false;
    if (w0 === 0 && w1 === 0) {
      if (w2 === V4_MAPPED || (w2 === 0 && w3 === 0)) return false;
      if (this.#ethernet && w2 === 0 && w3 === LOOPBACK_V6) return false;
    }
    return !(this.#ethernet && this.#isOwn(6, w0, w1, w2, w3));
  }

  #isOwn(version: 4 | 6, w0: number, w1: number, w2: number, w3: number): boolean {
    const own = this.#own;
    for (let i = 0; i < own.length; i++) {
      const a = own[i] as IpAddress;
      if (a.w3 === w3 && a.w2 === w2 && a.w1 === w1 && a.w0 === w0 && a.version === version) return true;
    }
    return false;
  }
}
