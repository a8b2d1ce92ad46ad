/**
 * Ethernet II header and the 802.1Q tag.
 *
 *  +-----------------------+-----------------------+-----------+
 *  | destination, 6 bytes  |    source, 6 bytes    | EtherType |
 *  +-----------------------+-----------------------+-----------+
 *
 *  a tag stands where the EtherType would, and the true EtherType follows it:
 *  +-----------+-----+---+-------------+-----------+
 *  |  0x8100   | PCP |DEI|     VID     | EtherType |
 *  +-----------+-----+---+-------------+-----------+
 *
 * Owns the bits and the EtherTypes this project meets. Never knows which frames are for us.
 */

import { MAC_BYTES, type MacAddress } from './address.ts';

/** Length of an untagged header, in bytes. */
export const ETHERNET_BYTES = 14;
/** Tag control and the EtherType after it; the 0x8100 before them is the EtherType field of what precedes. */
export const VLAN_TAG_BYTES = 4;
/** The longest header in front of IP that this project reads: with two tags. */
export const MAX_ETHERNET_BYTES = ETHERNET_BYTES + 2 * VLAN_TAG_BYTES;

/** IPv4. */
export const ETHERTYPE_IPV4 = 0x0800;
/** ARP. */
export const ETHERTYPE_ARP = 0x0806;
/** 802.1Q customer tag. */
export const ETHERTYPE_VLAN = 0x8100;
/** IPv6. */
export const ETHERTYPE_IPV6 = 0x86dd;
/** 802.1ad service tag. */
export const ETHERTYPE_SERVICE_VLAN = 0x88a8;
/** RoCE version 1: no IP header (ref:wire#1). */
export const ETHERTYPE_ROCE_V1 = 0x8915;

const SOURCE_MAC = MAC_BYTES;
/** Offset of the EtherType in an untagged frame. */
export const ETHERTYPE_AT = 2 * MAC_BYTES;

/** The header of an untagged frame. */
export interface Ethernet {
  /** Receiver, six bytes. */
  readonly destMac: MacAddress;
  /** Sender, six bytes. */
  readonly sourceMac: MacAddress;
  /** What follows, 16 bits; of a tagged frame the type of the tag. */
  readonly etherType: number;
}

/** What a VLAN tag says (IEEE 802.1Q). */
export interface VlanTag {
  /** Priority code point, 3 bits. */
  readonly pcp: number;
  /** Drop eligible indicator, 1 bit. */
  readonly dei: number;
  /** VLAN id, 12 bits. */
  readonly vid: number;
  /** EtherType of what the tag encloses. */
  readonly etherType: number;
}

/**
 * Reads the header at `offset`, where `ETHERNET_BYTES` must be; the addresses are copies. @throws RangeError otherwise
 */
export function readEthernet(view: DataView, offset: number): Ethernet {
  return {
    destMac: readMac(view, offset),
    sourceMac: readMac(view, offset + SOURCE_MAC),
    etherType: view.getUint16(offset + ETHERTYPE_AT),
  };
}

/** Writes all 14 bytes. */
export function writeEthernet(
  view: DataView,
  at: number,
  destMac: MacAddress,
  sourceMac: MacAddress,
  etherType: number,
): void {
  writeMac(view, at, destMac);
  writeMac(view, at + SOURCE_MAC, sourceMac);
  view.setUint16(at + ETHERTYPE_AT, etherType);
}

/** Reads the 4 bytes that follow a 0x8100 or 0x88a8. */
export function readVlanTag(view: DataView, offset: number): VlanTag {
  const tci = view.getUint16(offset);
  return { pcp: tci >>> 13, dei: (tci >>> 12) & 1, vid: tci & 0x0f_ff, etherType: view.getUint16(offset + 2) };
}

/** `tci` is PCP, DEI and VID together. */
export function writeVlanTag(view: DataView, at: number, tci: number, etherType: number): void {
  view.setUint16(at, tci);
  view.setUint16(at + 2, etherType);
}

/** Copies six bytes out of a frame. */
export function readMac(view: DataView, offset: number): MacAddress {
  return Uint8Array.from({ length: MAC_BYTES }, (_, index) => view.getUint8(offset + index));
}

/** Writes six bytes. */
export function writeMac(view: DataView, at: number, mac: MacAddress): void {
  for (let index = 0; index < MAC_BYTES; index++) view.setUint8(at + index, mac[index] ?? 0);
}
