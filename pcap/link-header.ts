/**
 * The header before the IP header, by the link type of a capture: Ethernet, none, Linux "cooked" headers, BSD loopback
 * headers.
 *
 * Owns the way from the first captured byte to the IP header, including VLAN tags after a cooked header. Never throws
 * and never reads outside [start, end). Sources: the pages of the link-type registry of tcpdump.org named at each
 * layout; `packets/frame.ts` from IP on.
 *
 * ```
 * LINKTYPE_LINUX_SLL    packet type 2 | ARPHRD 2 | address length 2 | address 8 | protocol 2
 * LINKTYPE_LINUX_SLL2   protocol 2 | reserved 2 | interface index 4 | ARPHRD 2
 *                       | packet type 1 | address length 1 | address 8
 * LINKTYPE_NULL         address family 4, in the byte order of the capturing host
 * LINKTYPE_LOOP         address family 4, big-endian
 * ```
 */
import {
  ETHERTYPE_IPV4,
  ETHERTYPE_IPV6,
  ETHERTYPE_SERVICE_VLAN,
  ETHERTYPE_VLAN,
  VLAN_TAG_BYTES,
} from '../packets/ethernet.ts';
import { type Frame, FrameStatus, Medium, parseFrame } from '../packets/frame.ts';
import { Direction, LinkType } from './types.ts';

/** Whether `parseLink` knows what the packets of a link type begin with. */
export function isKnownLinkType(linkType: number): boolean {
  return KNOWN.has(linkType);
}

/**
 * Parses the captured packet in [start, end) into `frame`. Without an Ethernet header the frame begins at its IP header
 * (`frame.start`), with the EtherType and VLAN tag of the cooked header. NotIp for an unknown link type.
 */
export function parseLink(
  linkType: number,
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
  frame: Frame,
): FrameStatus {
  switch (linkType) {
    case LinkType.Ethernet:
      return parseFrame(bytes, view, start, end, Medium.Ethernet, frame);
    case LinkType.Raw:
    case LinkType.RawBsd:
    case LinkType.RawOpenBsd:
      return parseFrame(bytes, view, start, end, Medium.Ip, frame);
    case LinkType.Ipv4:
      return parseTyped(ETHERTYPE_IPV4, bytes, view, start, end, frame);
    case LinkType.Ipv6:
      return parseTyped(ETHERTYPE_IPV6, bytes, view, start, end, frame);
    case LinkType.LinuxCooked:
      if (end - start < COOKED_BYTES) break;
      return parseTyped(view.getUint16(start + COOKED_PROTOCOL), bytes, view, start + COOKED_BYTES, end, frame);
    case LinkType.LinuxCooked2:
      if (end - start < COOKED2_BYTES) break;
      return parseTyped(view.getUint16(start + COOKED2_PROTOCOL), bytes, view, start + COOKED2_BYTES, end, frame);
    case LinkType.Null:
    case LinkType.Loop:
      if (end - start < FAMILY_BYTES) break;
      return parseTyped(etherTypeOfFamily(view.getUint32(start)), bytes, view, start + FAMILY_BYTES, end, frame);
    default:
      nothing(bytes, view, start, end, frame);
      return FrameStatus.NotIp;
  }
  nothing(bytes, view, start, end, frame);
  return FrameStatus.Truncated;
}

/** Which way a packet went by its cooked header; unknown for other link types and for a header that is cut. */
export function cookedDirection(linkType: number, view: DataView, start: number, end: number): Direction {
  let packetType = COOKED_TYPES;
  if (linkType === LinkType.LinuxCooked && end - start >= COOKED_BYTES) packetType = view.getUint16(start);
  if (linkType === LinkType.LinuxCooked2 && end - start >= COOKED2_BYTES) {
    packetType = view.getUint8(start + COOKED2_PACKET_TYPE);
  }
  if (packetType >= COOKED_TYPES) return Direction.Unknown;
  // To this host, to all, to a group, or to another host in promiscuous mode: each is inbound.
  return packetType === COOKED_OUTGOING ? Direction.Outbound : Direction.Inbound;
}

/** Interface index in a cooked header of version 2; 0 elsewhere. */
export function cookedInterface(linkType: number, view: DataView, start: number, end: number): number {
  if (linkType !== LinkType.LinuxCooked2 || end - start < COOKED2_BYTES) return 0;
  return view.getUint32(start + COOKED2_INTERFACE);
}

/** Parses what follows a protocol field, as `parseFrame` does behind an Ethernet header. */
function parseTyped(
  protocol: number,
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
  frame: Frame,
): FrameStatus {
  let etherType = protocol;
  let vlanTci = -1;
  let at = start;
  for (let tags = 0; tags < MOST_TAGS && isVlan(etherType); tags++) {
    if (end - at < VLAN_TAG_BYTES) {
      nothing(bytes, view, at, end, frame);
      return FrameStatus.Truncated;
    }
    vlanTci = view.getUint16(at);
    etherType = view.getUint16(at + 2);
    at += VLAN_TAG_BYTES;
  }
  const status = parseVersion(etherType, bytes, view, at, end, frame);
  frame.etherType = etherType;
  frame.vlanTci = vlanTci;
  return status;
}

/** Parses an IP packet whose version has to be the announced one. */
function parseVersion(
  etherType: number,
  bytes: Uint8Array,
  view: DataView,
  at: number,
  end: number,
  frame: Frame,
): FrameStatus {
  const announced = etherType === ETHERTYPE_IPV4 ? 4 : etherType === ETHERTYPE_IPV6 ? 6 : 0;
  if (announced !== 0 && (at >= end || view.getUint8(at) >>> 4 === announced)) {
    return parseFrame(bytes, view, at, end, Medium.Ip, frame);
  }
  nothing(bytes, view, at, end, frame);
  return announced === 0 ? FrameStatus.NotIp : FrameStatus.BadIpHeader;
}

/** A frame of [start, end) of which nothing is known. */
function nothing(bytes: Uint8Array, view: DataView, start: number, end: number, frame: Frame): void {
  parseFrame(bytes, view, start, start, Medium.Ip, frame);
  frame.end = end;
}

/** `big` is the family read as big-endian. No family has more than 8 bits, so the value shows the byte order. */
function etherTypeOfFamily(big: number): number {
  const family = big > 0xff ? ((big & 0xff_ff_ff) === 0 ? big >>> 24 : 0) : big;
  if (family === FAMILY_IPV4) return ETHERTYPE_IPV4;
  return FAMILIES_IPV6.has(family) ? ETHERTYPE_IPV6 : 0;
}

function isVlan(etherType: number): boolean {
  return etherType === ETHERTYPE_VLAN || etherType === ETHERTYPE_SERVICE_VLAN;
}

const COOKED_BYTES = 16;
const COOKED_PROTOCOL = 14;
const COOKED2_BYTES = 20;
const COOKED2_PROTOCOL = 0;
const COOKED2_INTERFACE = 4;
const COOKED2_PACKET_TYPE = 10;
const COOKED_OUTGOING = 4;
/** Packet types that say which way a packet went are below this. */
const COOKED_TYPES = 5;
const FAMILY_BYTES = 4;
const FAMILY_IPV4 = 2;
/** AF_INET6 of NetBSD and OpenBSD, of FreeBSD, of macOS: a reader should accept them all. */
const FAMILIES_IPV6: ReadonlySet<number> = new Set([24, 28, 30]);
/** As `parseFrame` does behind an Ethernet header. */
const MOST_TAGS = 2;
const KNOWN: ReadonlySet<number> = new Set(Object.values(LinkType));
