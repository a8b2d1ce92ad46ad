/**
 * Marks a packet Congestion Experienced, as a switch does, and computes the marking probability of a queue.
 * Owns the two ECN bits and the IPv4 checksum that covers them. The ICRC does not: it masks the traffic class
 * (ref:wire#3). Rules: only a packet that says it is ECN-capable is marked (RFC 3168 section 5); the checksum is
 * brought up to date by the difference (RFC 1624 equation 3), so that a header that was damaged before stays so; the
 * ramp is ref:dcqcn#1.
 */
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
import { ECN_MASK } from '../../packets/traffic-class.ts';

/** Explicit congestion marking by queue length, as a switch configured for DCQCN does it (ref:dcqcn#1). */
export interface EcnProfile {
  /** Backlog in bytes up to which nothing is marked. */
  readonly kminBytes: number;
  /** Backlog in bytes above which everything is marked. */
  readonly kmaxBytes: number;
  /** Probability of marking at `kmaxBytes`, 0..1; it grows linearly from 0 at `kminBytes`. */
  readonly pmax: number;
}

/** How likely a packet is marked when `queueBytes` wait, 0..1. */
export function markingProbability({ kminBytes, kmaxBytes, pmax }: EcnProfile, queueBytes: number): number {
  if (queueBytes <= kminBytes) return 0;
  if (queueBytes > kmaxBytes) return 1;
  return (pmax * (queueBytes - kminBytes)) / (kmaxBytes - kminBytes);
}

/** The two ECN bits of the IP packet in [start, end); 0 when there is none. */
export function congestionBits(view: DataView, start: number, end: number, medium: Medium): number {
  const ip = medium === Medium.Ip ? start : ipOffset(view, start, end);
  if (ip < 0 || end - ip < IPV4_HEADER_BYTES) return 0;
  const version = view.getUint8(ip) >>> 4;
  if (version === 4) return view.getUint8(ip + 1) & ECN_MASK;
  return version === 6 ? (view.getUint8(ip + 1) >>> 4) & ECN_MASK : 0;
}

/** Sets both ECN bits of the IP packet in [start, end); false when there is none or it is not ECN-capable. */
export function markCongestion(view: DataView, start: number, end: number, medium: Medium): boolean {
  const ip = medium === Medium.Ip ? start : ipOffset(view, start, end);
  if (ip < 0 || end - ip < IPV4_HEADER_BYTES) return false;
  const version = view.getUint8(ip) >>> 4;
  if (version === 4) return markIpv4(view, ip);
  return version === 6 && markIpv6(view, ip);
}

function markIpv4(view: DataView, ip: number): boolean {
  const before = view.getUint16(ip);
  if ((before & ECN_MASK) === 0) return false;
  const after = before | ECN_MASK;
  view.setUint16(ip, after);
  let sum = (~view.getUint16(ip + IPV4_CHECKSUM_AT) & 0xff_ff) + (~before & 0xff_ff) + after;
  sum = (sum & 0xff_ff) + (sum >>> 16);
  view.setUint16(ip + IPV4_CHECKSUM_AT, ~((sum & 0xff_ff) + (sum >>> 16)));
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

const IPV4_HEADER_BYTES = 20;
const IPV4_CHECKSUM_AT = 10;
