/**
 * IPv6 neighbour discovery, what ARP is for IPv4: solicitation and advertisement.
 *
 * Owns the two messages and the rules by which a receiver must drop them silently. Router messages and redirects are
 * left out: a RoCE host on one segment needs none. Never keeps a table and never answers. Untrusted bytes give
 * undefined.
 * Sources: RFC 4861 sections 4.3, 4.4, 4.6.1 (formats), 7.1.1, 7.1.2 (validation); RFC 4291 section 2.7.1
 * (solicited-node address); RFC 2464 section 7 (multicast MAC).
 *
 * ```
 *  0  type 135 or 136   1  code 0   2  checksum, 2
 *  4  solicitation: reserved, 4;  advertisement: R 0x80, S 0x40, O 0x20 in the first byte
 *  8  target address, 16
 * 24  options: type 1 (source) or 2 (target), length 1 (in units of 8 bytes), MAC, 6
 * ```
 */

import { IpAddress, type MacAddress } from './address.ts';
import { readMac, writeMac } from './ethernet.ts';
import { Icmpv6Type, icmpv6ChecksumIsRight, writeIcmpv6Checksum } from './icmp.ts';
import { IPV6_DESTINATION_AT, IPV6_HOP_LIMIT_AT, IPV6_SOURCE_AT } from './ipv6.ts';

/** Bytes without options; the link-layer address option adds `LINK_ADDRESS_OPTION_BYTES`. */
export const NEIGHBOR_MESSAGE_BYTES = 24;
/** Length of the option that carries a MAC address, in bytes. */
export const LINK_ADDRESS_OPTION_BYTES = 8;

/** Every neighbour message carries it and is dropped with any other: proof that no router forwarded it. */
export const NEIGHBOR_HOP_LIMIT = 255;

/** Request for the MAC address of an IP address (RFC 4861, 4.3). */
export interface NeighborSolicitation {
  /** The address to resolve. */
  readonly target: IpAddress;
  /** MAC of the asker; absent while the asker still checks that its address is unique (source address ::). */
  readonly sourceMac: MacAddress | undefined;
}

/** "I have this address" (RFC 4861, 4.4). */
export interface NeighborAdvertisement {
  /** The address answered for. */
  readonly target: IpAddress;
  /** MAC of `target`. */
  readonly targetMac: MacAddress | undefined;
  /** The sender is a router. */
  readonly router: boolean;
  /** The answer to a solicitation, not an announcement. */
  readonly solicited: boolean;
  /** Replace what is cached. */
  readonly override: boolean;
}

/** The solicitation in `[at, end)` behind the IPv6 header at `ipv6At`; undefined when it is to be dropped. */
export function readNeighborSolicitation(
  view: DataView,
  ipv6At: number,
  at: number,
  end: number,
): NeighborSolicitation | undefined {
  if (!isValid(view, ipv6At, at, end, Icmpv6Type.NeighborSolicitation)) return undefined;
  const target = IpAddress.read(view, at + TARGET, 6);
  const sourceMac = linkAddress(view, at, end, SOURCE_LINK_ADDRESS);
  if (isUnspecified(view, ipv6At + IPV6_SOURCE_AT)) {
    // RFC 4861 7.1.1: without a source address it goes to the solicited-node group and cannot give a MAC.
    const destination = IpAddress.read(view, ipv6At + IPV6_DESTINATION_AT, 6);
    if (sourceMac !== undefined || !destination.equals(solicitedNodeAddress(target))) return undefined;
  }
  return { target, sourceMac };
}

/** The advertisement in `[at, end)` behind the IPv6 header at `ipv6At`; undefined when it is to be dropped. */
export function readNeighborAdvertisement(
  view: DataView,
  ipv6At: number,
  at: number,
  end: number,
): NeighborAdvertisement | undefined {
  if (!isValid(view, ipv6At, at, end, Icmpv6Type.NeighborAdvertisement)) return undefined;
  const flags = view.getUint8(at + FLAGS);
  const solicited = (flags & FLAG_SOLICITED) !== 0;
  // RFC 4861 7.1.2: a multicast advertisement cannot answer a solicitation.
  if (solicited && view.getUint8(ipv6At + IPV6_DESTINATION_AT) === MULTICAST_PREFIX) return undefined;
  return {
    target: IpAddress.read(view, at + TARGET, 6),
    targetMac: linkAddress(view, at, end, TARGET_LINK_ADDRESS),
    router: (flags & FLAG_ROUTER) !== 0,
    solicited,
    override: (flags & FLAG_OVERRIDE) !== 0,
  };
}

/** Writes message and checksum, which needs the IPv6 header at `ipv6At`: write that first. Returns the bytes. */
export function writeNeighborSolicitation(
  view: DataView,
  ipv6At: number,
  at: number,
  solicitation: NeighborSolicitation,
): number {
  const { target, sourceMac } = solicitation;
  return writeMessage(view, ipv6At, at, Icmpv6Type.NeighborSolicitation, 0, target, SOURCE_LINK_ADDRESS, sourceMac);
}

/** Writes message and checksum, which needs the IPv6 header at `ipv6At`: write that first. Returns the bytes. */
export function writeNeighborAdvertisement(
  view: DataView,
  ipv6At: number,
  at: number,
  advertisement: NeighborAdvertisement,
): number {
  const { target, targetMac, router, solicited, override } = advertisement;
  const flags = (router ? FLAG_ROUTER : 0) | (solicited ? FLAG_SOLICITED : 0) | (override ? FLAG_OVERRIDE : 0);
  return writeMessage(
    view,
    ipv6At,
    at,
    Icmpv6Type.NeighborAdvertisement,
    flags,
    target,
    TARGET_LINK_ADDRESS,
    targetMac,
  );
}

/** The multicast group in which the owner of `target` listens for solicitations: ff02::1:ff00:0 and 24 bits. */
export function solicitedNodeAddress(target: IpAddress): IpAddress {
  const view = new DataView(new ArrayBuffer(16));
  view.setUint16(0, 0xff02);
  view.setUint32(8, 1);
  view.setUint32(12, (0xff00_0000 | (target.w3 & 0x00ff_ffff)) >>> 0);
  return IpAddress.read(view, 0, 6);
}

/** The Ethernet address of an IPv6 multicast group: 33:33 and its last 32 bits. */
export function multicastMac(group: IpAddress): MacAddress {
  const mac = new Uint8Array(6);
  const view = new DataView(mac.buffer);
  view.setUint16(0, 0x3333);
  view.setUint32(2, group.w3);
  return mac;
}

function isValid(view: DataView, ipv6At: number, at: number, end: number, type: number): boolean {
  return (
    end - at >= NEIGHBOR_MESSAGE_BYTES &&
    view.getUint8(at) === type &&
    view.getUint8(at + 1) === 0 &&
    view.getUint8(ipv6At + IPV6_HOP_LIMIT_AT) === NEIGHBOR_HOP_LIMIT &&
    view.getUint8(at + TARGET) !== MULTICAST_PREFIX &&
    optionsAreWhole(view, at + NEIGHBOR_MESSAGE_BYTES, end) &&
    icmpv6ChecksumIsRight(view, ipv6At, at, end)
  );
}

// A length of zero would never end; RFC 4861 7.1 drops the whole message.
function optionsAreWhole(view: DataView, at: number, end: number): boolean {
  let next = at;
  while (end - next >= OPTION_UNIT) {
    const length = view.getUint8(next + 1) * OPTION_UNIT;
    if (length === 0) return false;
    next += length;
  }
  return next === end;
}

function linkAddress(view: DataView, at: number, end: number, optionType: number): MacAddress | undefined {
  for (let next = at + NEIGHBOR_MESSAGE_BYTES; next < end; next += view.getUint8(next + 1) * OPTION_UNIT) {
    // Unit 1 is what Ethernet needs; a longer option belongs to another link layer.
    if (view.getUint8(next) === optionType && view.getUint8(next + 1) === 1) {
      return readMac(view, next + 2);
    }
  }
  return undefined;
}

function isUnspecified(view: DataView, at: number): boolean {
  return (view.getUint32(at) | view.getUint32(at + 4) | view.getUint32(at + 8) | view.getUint32(at + 12)) === 0;
}

function writeMessage(
  view: DataView,
  ipv6At: number,
  at: number,
  type: number,
  flags: number,
  target: IpAddress,
  optionType: number,
  mac: MacAddress | undefined,
): number {
  view.setUint32(at, type << 24);
  view.setUint32(at + FLAGS, flags << 24);
  target.write(view, at + TARGET);
  let end = at + NEIGHBOR_MESSAGE_BYTES;
  if (mac !== undefined) {
    view.setUint16(end, (optionType << 8) | 1);
    writeMac(view, end + 2, mac);
    end += LINK_ADDRESS_OPTION_BYTES;
  }
  writeIcmpv6Checksum(view, ipv6At, at, end);
  return end - at;
}

const FLAGS = 4;
const TARGET = 8;
const FLAG_ROUTER = 0x80;
const FLAG_SOLICITED = 0x40;
const FLAG_OVERRIDE = 0x20;
const OPTION_UNIT = 8;
const SOURCE_LINK_ADDRESS = 1;
const TARGET_LINK_ADDRESS = 2;
const MULTICAST_PREFIX = 0xff;
