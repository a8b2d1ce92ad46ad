/**
 * ARP for IPv4 over Ethernet: requests for the MAC address of an IP address, and the replies.
 *
 * Owns the 28-byte message. Never keeps a table and never answers: that is the host's work. Untrusted bytes give
 * undefined. Source: RFC 826.
 *
 * ```
 *  0      hardware type 1          2      protocol type 0x0800
 *  4  hardware length 6   5  protocol length 4    6      operation: 1 request, 2 reply
 *  8      sender MAC, 6           14      sender IPv4 address, 4
 * 18      target MAC, 6           24      target IPv4 address, 4
 * ```
 */

import { IpAddress, type MacAddress } from './address.ts';
import { ETHERTYPE_IPV4, readMac, writeMac } from './ethernet.ts';

/** Length of a message, in bytes. */
export const ARP_BYTES = 28;

/** What a message is. */
export const ArpOperation = {
  /** Request for the MAC address of `targetIp`. */
  Request: 1,
  /** `senderMac` has `senderIp`. */
  Reply: 2,
} as const;

/** A message for IPv4 over Ethernet (RFC 826). */
export interface Arp {
  /** See `ArpOperation`. */
  readonly operation: number;
  /** MAC address of the sender. */
  readonly senderMac: MacAddress;
  /** Address of the sender; 0.0.0.0 in a probe. */
  readonly senderIp: IpAddress;
  /** All zero in a request: it is what is requested. */
  readonly targetMac: MacAddress;
  /** In a request the address to resolve, in a reply that of the requester. */
  readonly targetIp: IpAddress;
}

/** The message in `[at, end)`, a copy; undefined when it is cut short or not IPv4 over Ethernet. */
export function readArp(view: DataView, at: number, end: number): Arp | undefined {
  if (end - at < ARP_BYTES) return undefined;
  if (view.getUint16(at) !== HARDWARE_ETHERNET || view.getUint16(at + 2) !== ETHERTYPE_IPV4) return undefined;
  if (view.getUint16(at + 4) !== LENGTHS_6_AND_4) return undefined;
  return {
    operation: view.getUint16(at + 6),
    senderMac: readMac(view, at + 8),
    senderIp: IpAddress.read(view, at + 14, 4),
    targetMac: readMac(view, at + 18),
    targetIp: IpAddress.read(view, at + 24, 4),
  };
}

/** Writes all 28 bytes; returns their number. Both addresses must be IPv4. */
export function writeArp(view: DataView, at: number, arp: Arp): number {
  view.setUint16(at, HARDWARE_ETHERNET);
  view.setUint16(at + 2, ETHERTYPE_IPV4);
  view.setUint16(at + 4, LENGTHS_6_AND_4);
  view.setUint16(at + 6, arp.operation);
  writeMac(view, at + 8, arp.senderMac);
  arp.senderIp.write(view, at + 14);
  writeMac(view, at + 18, arp.targetMac);
  arp.targetIp.write(view, at + 24);
  return ARP_BYTES;
}

const HARDWARE_ETHERNET = 1;
const LENGTHS_6_AND_4 = 0x06_04;
