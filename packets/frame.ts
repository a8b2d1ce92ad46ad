/**
 * Frames as they come from a link: one pass that checks every length once and leaves offsets and BTH fields in a reused
 * object.
 *
 * Owns the way from a link's bytes to the fields of the BTH. Never throws and never reads outside [start, end) whatever
 * the bytes are; after Ok every header that the opcode has, the payload, the pad and the ICRC lie inside too, so their
 * accessors need no checks. Never checks the ICRC (`icrc.ts`) and never judges a packet beyond its shape: P_Key, QPN,
 * PSN and payload rules are the transport's. The UDP checksum is not verified: RoCEv2 sends 0, and the ICRC covers all
 * that it would and is stronger (ref:wire#2).
 * Rules: ref:wire#1, ref:wire#4, ref:hostile#4.1 (lengths by subtraction, opcode table entry of zero, pad larger than
 * the payload).
 */

import { IpAddress } from './address.ts';
import {
  type Bit,
  BTH_BYTES,
  bthAckReq,
  bthBecn,
  bthDestQpn,
  bthFecn,
  bthMigReq,
  bthOpcode,
  bthPadCount,
  bthPkey,
  bthPsn,
  bthSolicited,
  bthTransportVersion,
} from './bth.ts';
import { ipv4ChecksumMatches } from './checksum.ts';
import {
  ETHERNET_BYTES,
  ETHERTYPE_AT,
  ETHERTYPE_IPV4,
  ETHERTYPE_IPV6,
  ETHERTYPE_SERVICE_VLAN,
  ETHERTYPE_VLAN,
  VLAN_TAG_BYTES,
} from './ethernet.ts';
import { ICRC_BYTES } from './icrc.ts';
import {
  IP_PROTOCOL_UDP,
  IPV4_BYTES,
  IPV4_DESTINATION_AT,
  IPV4_FRAGMENT_AT,
  IPV4_FRAGMENT_MASK,
  IPV4_PROTOCOL_AT,
  IPV4_SOURCE_AT,
  IPV4_TOS_AT,
  IPV4_TOTAL_LENGTH_AT,
  IPV4_TTL_AT,
  IPV4_VERSION_IHL,
} from './ipv4.ts';
import {
  IPV6_BYTES,
  IPV6_DESTINATION_AT,
  IPV6_HOP_LIMIT_AT,
  IPV6_NEXT_HEADER_AT,
  IPV6_PAYLOAD_LENGTH_AT,
  IPV6_SOURCE_AT,
} from './ipv6.ts';
import { OPCODE_FLAGS, OPCODE_HEADER_BYTES } from './opcode.ts';
import { ROCE_UDP_PORT, UDP_BYTES, UDP_DEST_PORT_AT, UDP_LENGTH_AT, UDP_SOURCE_PORT_AT } from './udp.ts';

/** What a frame starts with: an Ethernet header, or an IP header. */
export const Medium = {
  /** An Ethernet header. */
  Ethernet: 0,
  /** An IP header, of either version. */
  Ip: 1,
} as const;
/** One of the media. */
export type Medium = (typeof Medium)[keyof typeof Medium];

/** What `parseFrame` found: `Ok`, or the first thing that is wrong. */
export const FrameStatus = {
  /** A RoCEv2 packet whose headers, payload, pad and ICRC all lie inside the frame. */
  Ok: 0,
  /** Neither IPv4 nor IPv6 (ARP, RoCE version 1, a third VLAN tag...). */
  NotIp: 1,
  /** IP with another protocol; see `protocol` and `l4Offset`. */
  NotUdp: 2,
  /** UDP to another port than 4791. */
  NotRoce: 3,
  /** Ends before a header does, or before the IP length says. */
  Truncated: 4,
  /** IP version, IPv4 header length or IPv4 total length impossible or not supported (options). */
  BadIpHeader: 5,
  /** IPv4 header checksum wrong. */
  BadIpChecksum: 6,
  /** An IPv4 fragment: RoCE packets are never fragmented. */
  Fragment: 7,
  /** UDP length other than what IP carries, or too short for UDP header, BTH and ICRC. */
  BadUdpLength: 8,
  /** No row of the opcode table. */
  UnknownOpcode: 9,
  /** Transport header version other than 0. */
  BadTransportVersion: 10,
  /** Pad count larger than what follows the headers. */
  BadPad: 11,
  /** Shorter than the headers of its opcode and the ICRC. */
  BadHeaderLength: 12,
} as const;
/** One of the statuses. */
export type FrameStatus = (typeof FrameStatus)[keyof typeof FrameStatus];

/** "Ok", "BadUdpLength"... for printers and counters. */
export function frameStatusName(status: FrameStatus): string {
  return Object.entries(FrameStatus).find(([, value]) => value === status)?.[0] ?? `Status${status}`;
}

const NO_BYTES = new Uint8Array(0);
const NO_VIEW = new DataView(NO_BYTES.buffer);

/**
 * Where things are in one frame, and the fields of its BTH. Offsets are absolute indices into `bytes` and `view`.
 *
 * Made once and filled again by each `parseFrame`. What the parser did not reach is -1 for offsets and `vlanTci`, 0 for
 * everything else.
 *
 * @example
 * ```ts
 * import { Frame, FrameStatus, formatFrame, Medium, parseFrame } from 'rocev2/packets';
 *
 * const bytes = new Uint8Array(60);
 * const frame = new Frame();
 * // Never throws, whatever the bytes are.
 * const status = parseFrame(bytes, new DataView(bytes.buffer), 0, bytes.length, Medium.Ethernet, frame);
 * console.log(status === FrameStatus.NotIp, frame.bthOffset); // true -1
 * console.log(formatFrame(frame, status, false)); // 00:00:00:00:00:00 > 00:00:00:00:00:00: ethertype 0x0000 len 60
 * ```
 */
export class Frame {
  /** Memory that the frame lies in, with whatever else. */
  bytes: Uint8Array = NO_BYTES;
  /** The same memory. */
  view: DataView = NO_VIEW;
  /** First byte of the frame. */
  start = 0;
  /** First byte after the frame. */
  end = 0;
  /** What the frame starts with. */
  medium: Medium = Medium.Ethernet;
  /** EtherType after any VLAN tags; 0 on the IP medium. */
  etherType = 0;
  /** PCP, DEI and VID of the innermost tag, the one next to IP. */
  vlanTci = -1;
  /** 4, 6, or 0 when there is no IP header. */
  ipVersion: 0 | 4 | 6 = 0;
  /** Where the IP header begins. */
  ipOffset = -1;
  /** End of the IP packet by its own length; Ethernet trailer bytes beyond it are not part of it. */
  ipEnd = -1;
  /** IPv4 protocol or IPv6 next header. */
  protocol = 0;
  /** What follows the IP header: UDP, ICMP... */
  l4Offset = -1;
  /** IPv4 TOS or IPv6 traffic class: DSCP in the upper six bits, ECN in the lower two. */
  trafficClass = 0;
  /** IPv4 TTL or IPv6 hop limit. */
  hopLimit = 0;
  /** UDP source port. */
  sourcePort = 0;
  /** UDP destination port. */
  destPort = 0;
  /** Where the BTH begins. */
  bthOffset = -1;
  /** Opcode of the BTH, 0..255. */
  opcode = 0;
  /** Solicited event bit. */
  solicited: Bit = 0;
  /** MigReq bit. */
  migReq: Bit = 0;
  /** Bytes of pad after the payload, 0..3. */
  padCount = 0;
  /** Transport header version; 0 in every Ok frame. */
  transportVersion = 0;
  /** P_Key, 16 bits. */
  pkey = 0;
  /** FECN bit. */
  fecn: Bit = 0;
  /** BECN bit. */
  becn: Bit = 0;
  /** Destination QPN, 24 bits. */
  destQpn = 0;
  /** AckReq bit. */
  ackReq: Bit = 0;
  /** PSN, 24 bits. */
  psn = 0;
  /** `OPCODE_FLAGS` of the opcode. */
  flags = 0;
  /** Where the payload begins. */
  payloadOffset = -1;
  /** Bytes, pad excluded. */
  payloadLength = 0;
  /** Where the ICRC begins. */
  icrcOffset = -1;
}

/**
 * Parses the frame in [start, end) of `bytes` (and of `view`, which covers the same memory) into `frame`.
 *
 * Fields up to the place of the first fault are set whatever the status, so that ARP and ICMP handlers and printers can
 * use them.
 */
export function parseFrame(
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
  medium: Medium,
  frame: Frame,
): FrameStatus {
  reset(frame, bytes, view, start, end, medium);
  if (medium === Medium.Ethernet) return parseEthernet(frame);
  if (start >= end) return FrameStatus.Truncated;
  const version = view.getUint8(start) >>> 4;
  if (version === 4) return parseIpv4(frame, start);
  return version === 6 ? parseIpv6(frame, start) : FrameStatus.NotIp;
}

/** Source address; only when `ipVersion` is not 0 and the status is not Truncated. Allocates. */
export function frameSource(frame: Frame): IpAddress {
  return readAddress(frame, IPV4_SOURCE_AT, IPV6_SOURCE_AT);
}

/** Destination address, under the same condition. Allocates. */
export function frameDestination(frame: Frame): IpAddress {
  return readAddress(frame, IPV4_DESTINATION_AT, IPV6_DESTINATION_AT);
}

/** `frameSource(frame).equals(address)` without allocation. */
export function frameSourceIs(frame: Frame, address: IpAddress): boolean {
  return addressIs(frame, IPV4_SOURCE_AT, IPV6_SOURCE_AT, address);
}

/** `frameDestination(frame).equals(address)` without allocation. */
export function frameDestinationIs(frame: Frame, address: IpAddress): boolean {
  return addressIs(frame, IPV4_DESTINATION_AT, IPV6_DESTINATION_AT, address);
}

function parseEthernet(frame: Frame): FrameStatus {
  const { view, start, end } = frame;
  if (end - start < ETHERNET_BYTES) return FrameStatus.Truncated;
  frame.etherType = view.getUint16(start + ETHERTYPE_AT);
  let at = start + ETHERNET_BYTES;
  for (let tags = 0; tags < 2 && isVlan(frame.etherType); tags++) {
    if (end - at < VLAN_TAG_BYTES) return FrameStatus.Truncated;
    frame.vlanTci = view.getUint16(at);
    frame.etherType = view.getUint16(at + 2);
    at += VLAN_TAG_BYTES;
  }
  if (frame.etherType === ETHERTYPE_IPV4) return parseIpv4(frame, at);
  return frame.etherType === ETHERTYPE_IPV6 ? parseIpv6(frame, at) : FrameStatus.NotIp;
}

function parseIpv4(frame: Frame, at: number): FrameStatus {
  const { view, end } = frame;
  if (end - at < IPV4_BYTES) return FrameStatus.Truncated;
  // rxe's ICRC takes a fixed 20-byte header, so a packet with options could never match (ref:wire#2).
  if (view.getUint8(at) !== IPV4_VERSION_IHL) return FrameStatus.BadIpHeader;
  frame.ipVersion = 4;
  frame.ipOffset = at;
  frame.trafficClass = view.getUint8(at + IPV4_TOS_AT);
  frame.hopLimit = view.getUint8(at + IPV4_TTL_AT);
  frame.protocol = view.getUint8(at + IPV4_PROTOCOL_AT);
  const totalLength = view.getUint16(at + IPV4_TOTAL_LENGTH_AT);
  if (totalLength < IPV4_BYTES) return FrameStatus.BadIpHeader;
  if (totalLength > end - at) return FrameStatus.Truncated;
  frame.ipEnd = at + totalLength;
  frame.l4Offset = at + IPV4_BYTES;
  if (!ipv4ChecksumMatches(view, at)) return FrameStatus.BadIpChecksum;
  if ((view.getUint16(at + IPV4_FRAGMENT_AT) & IPV4_FRAGMENT_MASK) !== 0) return FrameStatus.Fragment;
  return frame.protocol === IP_PROTOCOL_UDP ? parseUdp(frame) : FrameStatus.NotUdp;
}

function parseIpv6(frame: Frame, at: number): FrameStatus {
  const { view, end } = frame;
  if (end - at < IPV6_BYTES) return FrameStatus.Truncated;
  const first = view.getUint32(at);
  if (first >>> 28 !== 6) return FrameStatus.BadIpHeader;
  frame.ipVersion = 6;
  frame.ipOffset = at;
  frame.trafficClass = (first >>> 20) & 0xff;
  frame.hopLimit = view.getUint8(at + IPV6_HOP_LIMIT_AT);
  frame.protocol = view.getUint8(at + IPV6_NEXT_HEADER_AT);
  const payloadLength = view.getUint16(at + IPV6_PAYLOAD_LENGTH_AT);
  if (payloadLength > end - at - IPV6_BYTES) return FrameStatus.Truncated;
  frame.l4Offset = at + IPV6_BYTES;
  frame.ipEnd = frame.l4Offset + payloadLength;
  return frame.protocol === IP_PROTOCOL_UDP ? parseUdp(frame) : FrameStatus.NotUdp;
}

function parseUdp(frame: Frame): FrameStatus {
  const { view, l4Offset } = frame;
  const available = frame.ipEnd - l4Offset;
  if (available < UDP_BYTES) return FrameStatus.BadUdpLength;
  frame.sourcePort = view.getUint16(l4Offset + UDP_SOURCE_PORT_AT);
  frame.destPort = view.getUint16(l4Offset + UDP_DEST_PORT_AT);
  if (frame.destPort !== ROCE_UDP_PORT) return FrameStatus.NotRoce;
  const length = view.getUint16(l4Offset + UDP_LENGTH_AT);
  // Both lengths run through the ICRC, so they end together (ref:conformance#3, PKT-13): what lies behind a shorter one
  // is not protected.
  if (length !== available || length < UDP_BYTES + BTH_BYTES + ICRC_BYTES) return FrameStatus.BadUdpLength;
  return parseBth(frame, l4Offset + UDP_BYTES, l4Offset + length - ICRC_BYTES);
}

/** `icrcOffset - at` is at least `BTH_BYTES` here. */
function parseBth(frame: Frame, at: number, icrcOffset: number): FrameStatus {
  const { view } = frame;
  const opcode = bthOpcode(view, at);
  frame.bthOffset = at;
  frame.icrcOffset = icrcOffset;
  frame.opcode = opcode;
  frame.solicited = bthSolicited(view, at);
  frame.migReq = bthMigReq(view, at);
  frame.padCount = bthPadCount(view, at);
  frame.transportVersion = bthTransportVersion(view, at);
  frame.pkey = bthPkey(view, at);
  frame.fecn = bthFecn(view, at);
  frame.becn = bthBecn(view, at);
  frame.destQpn = bthDestQpn(view, at);
  frame.ackReq = bthAckReq(view, at);
  frame.psn = bthPsn(view, at);
  frame.flags = OPCODE_FLAGS[opcode] ?? 0;
  // Version first: another version may give every opcode another meaning.
  if (frame.transportVersion !== 0) return FrameStatus.BadTransportVersion;
  if (frame.flags === 0) return FrameStatus.UnknownOpcode;
  const payloadOffset = at + BTH_BYTES + (OPCODE_HEADER_BYTES[opcode] ?? 0);
  if (payloadOffset > icrcOffset) return FrameStatus.BadHeaderLength;
  if (frame.padCount > icrcOffset - payloadOffset) return FrameStatus.BadPad;
  frame.payloadOffset = payloadOffset;
  // Payload plus pad need not be a multiple of four here: a sender's mistake that the transport can still answer.
  frame.payloadLength = icrcOffset - payloadOffset - frame.padCount;
  return FrameStatus.Ok;
}

function reset(frame: Frame, bytes: Uint8Array, view: DataView, start: number, end: number, medium: Medium): void {
  frame.bytes = bytes;
  frame.view = view;
  frame.start = start;
  frame.end = end;
  frame.medium = medium;
  frame.etherType = 0;
  frame.vlanTci = -1;
  frame.ipVersion = 0;
  frame.ipOffset = -1;
  frame.ipEnd = -1;
  frame.protocol = 0;
  frame.l4Offset = -1;
  frame.trafficClass = 0;
  frame.hopLimit = 0;
  frame.sourcePort = 0;
  frame.destPort = 0;
  frame.bthOffset = -1;
  frame.opcode = 0;
  frame.solicited = 0;
  frame.migReq = 0;
  frame.padCount = 0;
  frame.transportVersion = 0;
  frame.pkey = 0;
  frame.fecn = 0;
  frame.becn = 0;
  frame.destQpn = 0;
  frame.ackReq = 0;
  frame.psn = 0;
  frame.flags = 0;
  frame.payloadOffset = -1;
  frame.payloadLength = 0;
  frame.icrcOffset = -1;
}

function isVlan(etherType: number): boolean {
  return etherType === ETHERTYPE_VLAN || etherType === ETHERTYPE_SERVICE_VLAN;
}

function readAddress(frame: Frame, ipv4At: number, ipv6At: number): IpAddress {
  if (frame.ipVersion === 4) return IpAddress.read(frame.view, frame.ipOffset + ipv4At, 4);
  return IpAddress.read(frame.view, frame.ipOffset + ipv6At, 6);
}

function addressIs(frame: Frame, ipv4At: number, ipv6At: number, address: IpAddress): boolean {
  const { view, ipOffset, ipVersion } = frame;
  if (ipVersion !== address.version) return false;
  if (ipVersion === 4) return view.getUint32(ipOffset + ipv4At) === address.w3;
  const at = ipOffset + ipv6At;
  return (
    view.getUint32(at + 12) === address.w3 &&
    view.getUint32(at + 8) === address.w2 &&
    view.getUint32(at + 4) === address.w1 &&
    view.getUint32(at) === address.w0
  );
}
