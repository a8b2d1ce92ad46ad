/**
 * Addresses: IP addresses in GID form, prefixes, and MAC addresses.
 *
 * Owns the value types and their wire forms. Never resolves names and never parses IP text itself: `ipaddr.js` does.
 * A GID that holds an IPv4 address has the form ::ffff:a.b.c.d; this project treats the two spellings as one address of
 * version 4.
 */

import ipaddr from 'ipaddr.js';
import { RoceError } from './errors.ts';

/** Word 2 of a GID that maps an IPv4 address; words 0 and 1 are zero. */
const V4_MAPPED = 0xff_ff;

/**
 * An IPv4 or IPv6 address, immutable, as the four big-endian 32-bit words of its GID.
 *
 * @example
 * ```ts
 * import { IpAddress } from 'rocev2';
 *
 * const address = IpAddress.parse('10.0.0.1');
 * console.log(address.version, address.toString()); // 4 10.0.0.1
 * console.log(IpAddress.parse('::ffff:10.0.0.1').equals(address)); // true
 * ```
 */
export class IpAddress {
  /** 4 or 6. Text and GIDs of the form ::ffff:a.b.c.d give version 4. */
  readonly version: 4 | 6;
  /** Bits 127..96 of the GID, unsigned; 0 for version 4. */
  readonly w0: number;
  /** Bits 95..64 of the GID, unsigned; 0 for version 4. */
  readonly w1: number;
  /** Bits 63..32 of the GID, unsigned; 0xffff for version 4. */
  readonly w2: number;
  /** Bits 31..0 of the GID, unsigned: an IPv4 address itself. */
  readonly w3: number;

  /** From the words of a GID; each is taken as unsigned 32 bits. Most callers want `parse`, `read` or `fromGid`. */
  constructor(version: 4 | 6, w0: number, w1: number, w2: number, w3: number) {
    this.version = version;
    this.w0 = w0 >>> 0;
    this.w1 = w1 >>> 0;
    this.w2 = w2 >>> 0;
    this.w3 = w3 >>> 0;
  }

  /**
   * Parses dotted-quad IPv4 or any IPv6 text; `::ffff:a.b.c.d` becomes version 4.
   *
   * @throws RoceError ERR_ROCE_ADDRESS for anything else, zone ids, short IPv4 forms ("10.1") and "::10.0.0.1" included
   */
  static parse(text: string): IpAddress {
    if (ipaddr.IPv4.isValidFourPartDecimal(text))
      return IpAddress.#fromByteArray(ipaddr.IPv4.parse(text).toByteArray());
    // ipaddr.js takes the deprecated "::10.0.0.1" for ::ffff:10.0.0.1, which is another address: refused rather than
    // guessed.
    const compatible = text.startsWith('::') && ipaddr.IPv4.isValidFourPartDecimal(text.slice(2));
    if (text.includes('%')) {
      const why = 'an address on the wire has no zone: the link decides on the interface';
      throw new RoceError('ERR_ROCE_ADDRESS', `not an IPv4 or IPv6 address: ${JSON.stringify(text)}: ${why}`);
    }
    if (compatible || !ipaddr.IPv6.isValid(text)) {
      throw new RoceError('ERR_ROCE_ADDRESS', `not an IPv4 or IPv6 address: ${JSON.stringify(text)}`);
    }
    return IpAddress.#fromByteArray(ipaddr.IPv6.parse(text).toByteArray());
  }

  /** Reads a 16-byte GID; a v4-mapped one becomes version 4. */
  static fromGid(view: DataView, offset: number): IpAddress {
    const w0 = view.getUint32(offset);
    const w1 = view.getUint32(offset + 4);
    const w2 = view.getUint32(offset + 8);
    const mapped = w0 === 0 && w1 === 0 && w2 === V4_MAPPED;
    return new IpAddress(mapped ? 4 : 6, w0, w1, w2, view.getUint32(offset + 12));
  }

  /**
   * Reads 4 or 16 bytes as they stand in an IP header of that version; the version is kept even for a v4-mapped IPv6
   * address.
   */
  static read(view: DataView, offset: number, version: 4 | 6): IpAddress {
    if (version === 4) return new IpAddress(4, 0, 0, V4_MAPPED, view.getUint32(offset));
    return new IpAddress(
      6,
      view.getUint32(offset),
      view.getUint32(offset + 4),
      view.getUint32(offset + 8),
      view.getUint32(offset + 12),
    );
  }

  static #fromByteArray(bytes: readonly number[]): IpAddress {
    const view = new DataView(Uint8Array.from(bytes).buffer);
    return bytes.length === 4 ? IpAddress.read(view, 0, 4) : IpAddress.fromGid(view, 0);
  }

  /** Writes 4 bytes (version 4) or 16 (version 6), as in an IP header. */
  write(view: DataView, offset: number): void {
    if (this.version === 4) view.setUint32(offset, this.w3);
    else this.writeGid(view, offset);
  }

  /** Writes the 16-byte GID form. */
  writeGid(view: DataView, offset: number): void {
    view.setUint32(offset, this.w0);
    view.setUint32(offset + 4, this.w1);
    view.setUint32(offset + 8, this.w2);
    view.setUint32(offset + 12, this.w3);
  }

  /** Same version and same bits. */
  equals(other: IpAddress): boolean {
    return (
      this.w3 === other.w3 &&
      this.w2 === other.w2 &&
      this.w1 === other.w1 &&
      this.w0 === other.w0 &&
      this.version === other.version
    );
  }

  /** A group: 224.0.0.0/4 or ff00::/8. */
  get isMulticast(): boolean {
    return this.version === 4 ? this.w3 >>> 28 === 0xe : this.w0 >>> 24 === 0xff;
  }

  /** Dotted quad, or IPv6 in its canonical short form (RFC 5952). */
  toString(): string {
    const { w3 } = this;
    if (this.version === 4) return `${w3 >>> 24}.${(w3 >>> 16) & 0xff}.${(w3 >>> 8) & 0xff}.${w3 & 0xff}`;
    const bytes = new Uint8Array(16);
    this.write(new DataView(bytes.buffer), 0);
    return ipaddr.fromByteArray([...bytes]).toString();
  }
}

/**
 * An address with the length of its network part, as configured on an interface. The host bits are kept.
 *
 * @example
 * ```ts
 * import { IpAddress, IpPrefix } from 'rocev2';
 *
 * const prefix = IpPrefix.parse('10.0.0.1/24');
 * console.log(prefix.toString(), prefix.contains(IpAddress.parse('10.0.0.77'))); // 10.0.0.1/24 true
 * ```
 */
export class IpPrefix {
  /** The address, host bits included. */
  readonly address: IpAddress;
  /** Network bits: 0..32 for version 4, 0..128 for version 6. */
  readonly length: number;

  /** @throws RoceError ERR_ROCE_ADDRESS when `length` does not fit the address */
  constructor(address: IpAddress, length: number) {
    if (!Number.isInteger(length) || length < 0 || length > (address.version === 4 ? 32 : 128)) {
      throw new RoceError('ERR_ROCE_ADDRESS', `prefix length ${length} does not fit an IPv${address.version} address`);
    }
    this.address = address;
    this.length = length;
  }

  /** @throws RoceError ERR_ROCE_ADDRESS unless `text` is an address, a slash and a prefix length in decimal */
  static parse(text: string): IpPrefix {
    const match = /^([^/]+)\/(\d{1,3})$/.exec(text);
    if (match === null) {
      throw new RoceError('ERR_ROCE_ADDRESS', `not an address with a prefix length: ${JSON.stringify(text)}`);
    }
    return new IpPrefix(IpAddress.parse(match[1] ?? ''), Number(match[2]));
  }

  /** Whether `a` is of the same version and has the same network bits. */
  contains(a: IpAddress): boolean {
    if (a.version !== this.address.version) return false;
    const bits = a.version === 4 ? this.length + 96 : this.length;
    return (
      sameLeadingBits(a.w0, this.address.w0, bits) &&
      sameLeadingBits(a.w1, this.address.w1, bits - 32) &&
      sameLeadingBits(a.w2, this.address.w2, bits - 64) &&
      sameLeadingBits(a.w3, this.address.w3, bits - 96)
    );
  }

  /** The address, a slash and the length. */
  toString(): string {
    return `${this.address}/${this.length}`;
  }
}

/** Six bytes in transmission order. */
export type MacAddress = Uint8Array;

/** Length of a MAC address, in bytes. */
export const MAC_BYTES = 6;

/** Shared: do not write to it. */
export const BROADCAST_MAC: MacAddress = new Uint8Array(MAC_BYTES).fill(0xff);

/** Parses `52:54:00:00:00:01` or the same with dashes. @throws RoceError ERR_ROCE_ADDRESS */
export function parseMac(text: string): MacAddress {
  if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$|^[0-9a-f]{2}(-[0-9a-f]{2}){5}$/i.test(text)) {
    throw new RoceError('ERR_ROCE_ADDRESS', `not a MAC address: ${JSON.stringify(text)}`);
  }
  return Uint8Array.from(text.split(/[:-]/), (digits) => Number.parseInt(digits, 16));
}

/** Prints six bytes as lower-case hex with colons. */
export function formatMac(bytes: Uint8Array, offset = 0): string {
  return Array.from(bytes.subarray(offset, offset + MAC_BYTES), (byte) => byte.toString(16).padStart(2, '0')).join(':');
}

function sameLeadingBits(a: number, b: number, bits: number): boolean {
  if (bits <= 0) return true;
  return bits >= 32 ? a === b : (a ^ b) >>> (32 - bits) === 0;
}
