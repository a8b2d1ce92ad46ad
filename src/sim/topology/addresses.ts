/**
 * The addresses of hosts: host i has 10.0.0.1 + i and a MAC address that ends in the same four bytes, so that a switch
 * finds the host in the header, without a table. Owns the two directions of that rule. All hosts are on one subnet,
 * 10.0.0.0/8, and know each other's MAC addresses beforehand: switches forward by IP address and rewrite nothing.
 */
import { IpAddress, type MacAddress } from '../../../packets/address.ts';

/** Host 0 is 10.0.0.1, host 255 is 10.0.1.0. */
export function hostAddress(host: number): IpAddress {
  return new IpAddress(4, 0, 0, 0xff_ff, FIRST_ADDRESS + host);
}

/** Locally administered: 02:00 and the address. */
export function hostMac(host: number): MacAddress {
  const address = FIRST_ADDRESS + host;
  return Uint8Array.of(0x02, 0x00, address >>> 24, (address >>> 16) & 0xff, (address >>> 8) & 0xff, address & 0xff);
}

/** The host that an IPv4 packet is for, from 0; what is outside of any topology for an address that is no host's. */
export function hostOf(view: DataView, ipOffset: number): number {
  return view.getUint32(ipOffset + IPV4_DESTINATION_AT) - FIRST_ADDRESS;
}

/** The host that an IPv4 packet is from. */
export function sourceHostOf(view: DataView, ipOffset: number): number {
  return view.getUint32(ipOffset + IPV4_SOURCE_AT) - FIRST_ADDRESS;
}

/** Prefix length of the subnet that all hosts are on. */
export const HOST_PREFIX_LENGTH = 8;

const FIRST_ADDRESS = 0x0a_00_00_01;
const IPV4_SOURCE_AT = 12;
const IPV4_DESTINATION_AT = 16;
