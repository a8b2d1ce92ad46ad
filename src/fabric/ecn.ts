/**
 * Marks a packet Congestion Experienced, as a switch does.
 * Owns the two ECN bits and the IPv4 checksum that covers them. The ICRC does not: it masks the traffic class (ref:wire#3).
 * Rule: only a packet that says it is ECN-capable is marked (RFC 3168 section 5).
 */
import { ipv4HeaderChecksum } from '../../packets/checksum.ts';
import {
  ETHERNET_BYTES,
  ETHERTYPE_AT,
  ETHERTYPE_IPV4,
  ETHERTYPE_IPV6,
  ETHERTYPE_SERVICE_VLAN,
  ETHERTYPE_VLAN,
  VLAN_TAG_BYTES,
} from '../../packets/ethernet.ts';
import { Medium } from '../../packets/frame.ts';

/** Sets both ECN bits of the IP packet in [start, end); false when there is none or it is not ECN-capable. */
export function markCongestion(view: DataView, start: number, end: number, medium: Medium): boolean {
  const ip = medium === Medium.Ip ? start : ipOffset(view, start, end);
  if (ip < 0 || end - ip < IPV4_HEADER_BYTES) return false;
  const version = view.getUint8(ip) >>> 4;
  if (version === 4) return markIpv4(view, ip);
  return version === 6 && markIpv6(view, ip);
}

function markIpv4(view: DataView, ip: number): boolean {
  const tos = view.getUint8(ip + 1);
  if ((tos & ECN_MASK) === 0) return false;
  view.setUint8(ip + 1, tos | ECN_MASK);
  view.setUint16(ip + IPV4_CHECKSUM_AT, ipv4HeaderChecksum(view, ip));
  return true;
}

/** The traffic class straddles the first two bytes: its low half is the high half of the second. */
function markIpv6(view: DataView, ip: number): boolean {
  const second = view.getUint8(ip + 1);
  if ((second & (ECN_MASK << 4)) === 0) return false;
  view.setUint8(ip + 1, second | (ECN_MASK << 4));
  return true;
}

function ipOffset(view: DataView, start: number, end: number): number {
  let at = start + ETHERTYPE_AT;
  for (let tags = 0; tags <= 2; tags++) {
    if (end - at < 2) return -1;
    const etherType = view.getUint16(at);
    if (etherType === ETHERTYPE_IPV4 || etherType === ETHERTYPE_IPV6) return at + ETHERNET_BYTES - ETHERTYPE_AT;
    if (etherType !== ETHERTYPE_VLAN && etherType !== ETHERTYPE_SERVICE_VLAN) return -1;
    at += VLAN_TAG_BYTES;
  }
  return -1;
}

const ECN_MASK = 0b11;
const IPV4_HEADER_BYTES = 20;
const IPV4_CHECKSUM_AT = 10;
