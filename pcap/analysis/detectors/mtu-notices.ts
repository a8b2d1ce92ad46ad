/**
 * Signs from the network that the path MTU is too large: fragments, and ICMP messages about packets that are too big.
 *
 * Owns the recognition of both in frames, for IPv4 and IPv6. Never reads outside a frame.
 * Sources: RFC 792 and RFC 1191 (type 3, code 4), RFC 4443 (type 2), RFC 8200 4.5 (fragment header).
 */
import { IpAddress } from '../../../packets/address.ts';
import { type Frame, FrameStatus, frameDestination, frameSource } from '../../../packets/frame.ts';
import {
  IP_PROTOCOL_ICMP,
  IP_PROTOCOL_ICMPV6,
  IP_PROTOCOL_UDP,
  IPV4_BYTES,
  IPV4_FRAGMENT_AT,
} from '../../../packets/ipv4.ts';
import { IPV6_BYTES } from '../../../packets/ipv6.ts';
import { ROCE_UDP_PORT } from '../../../packets/udp.ts';

/** A message of a router or host that a packet from A to B does not fit. */
export interface PacketTooBig {
  readonly reporter: string;
  readonly source: string;
  readonly destination: string;
  /** Largest IP packet that fits, in bytes; 0 where the message does not have it. */
  readonly mtu: number;
  /** Length of the IP packet that did not. */
  readonly length: number;
}

/** The message about a RoCE packet that a frame is; undefined for every other frame. */
export function tooBigNotice(frame: Frame, status: FrameStatus): PacketTooBig | undefined {
  if (status !== FrameStatus.NotUdp) return undefined;
  const { view, l4Offset, ipEnd, protocol } = frame;
  if (ipEnd - l4Offset < ICMP_BYTES) return undefined;
  const type = view.getUint8(l4Offset);
  const quotedAt = l4Offset + ICMP_BYTES;
  if (protocol === IP_PROTOCOL_ICMP && type === 3 && view.getUint8(l4Offset + 1) === 4)
    return quotedV4(frame, quotedAt, view.getUint16(l4Offset + 6));
  return protocol === IP_PROTOCOL_ICMPV6 && type === 2
    ? quotedV6(frame, quotedAt, view.getUint32(l4Offset + 4))
    : undefined;
}

/** A first fragment of a RoCE packet: the only one that shows the port. */
export function isRoceFragment(frame: Frame, status: FrameStatus): boolean {
  const { view, ipOffset, l4Offset, ipEnd, protocol } = frame;
  if (status === FrameStatus.Fragment) {
    const first = (view.getUint16(ipOffset + IPV4_FRAGMENT_AT) & OFFSET_MASK) === 0;
    return first && protocol === IP_PROTOCOL_UDP && portIsRoce(view, l4Offset, ipEnd);
  }
  if (status !== FrameStatus.NotUdp || protocol !== IPV6_FRAGMENT || ipEnd - l4Offset < FRAGMENT_BYTES) return false;
  const first = view.getUint16(l4Offset + 2) >> 3 === 0 && (view.getUint8(l4Offset + 3) & 1) === 1;
  return first && view.getUint8(l4Offset) === IP_PROTOCOL_UDP && portIsRoce(view, l4Offset + FRAGMENT_BYTES, ipEnd);
}

/** Length of the IP packet of a fragment. */
export function fragmentLength({ ipEnd, ipOffset }: Frame): number {
  return ipEnd - ipOffset;
}

function quotedV4(frame: Frame, at: number, mtu: number): PacketTooBig | undefined {
  const { view, ipEnd } = frame;
  if (ipEnd - at < IPV4_BYTES + 8 || view.getUint8(at) !== 0x45 || view.getUint8(at + 9) !== IP_PROTOCOL_UDP)
    return undefined;
  if (!portIsRoce(view, at + IPV4_BYTES, ipEnd)) return undefined;
  return {
    reporter: frameSource(frame).toString(),
    source: IpAddress.read(view, at + 12, 4).toString(),
    destination: IpAddress.read(view, at + 16, 4).toString(),
    mtu,
    length: view.getUint16(at + 2),
  };
}

function quotedV6(frame: Frame, at: number, mtu: number): PacketTooBig | undefined {
  const { view, ipEnd } = frame;
  if (ipEnd - at < IPV6_BYTES + 8 || view.getUint8(at) >> 4 !== 6 || view.getUint8(at + 6) !== IP_PROTOCOL_UDP)
    return undefined;
  if (!portIsRoce(view, at + IPV6_BYTES, ipEnd)) return undefined;
  return {
    reporter: frameSource(frame).toString(),
    source: IpAddress.read(view, at + 8, 6).toString(),
    destination: IpAddress.read(view, at + 24, 6).toString(),
    mtu,
    length: IPV6_BYTES + view.getUint16(at + 4),
  };
}

function portIsRoce(view: DataView, udpAt: number, end: number): boolean {
  return end - udpAt >= 4 && view.getUint16(udpAt + 2) === ROCE_UDP_PORT;
}

/** Addresses of a fragment, "a b". */
export function fragmentPair(frame: Frame): string {
  return `${frameSource(frame)} ${frameDestination(frame)}`;
}

const ICMP_BYTES = 8;
const OFFSET_MASK = 0x1f_ff;
const IPV6_FRAGMENT = 44;
const FRAGMENT_BYTES = 8;
