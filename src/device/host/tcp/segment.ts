/**
 * TCP segments: header, the one option we speak (maximum segment size), checksum, and whole Ethernet frames around
 * them.
 *
 * ```
 *  +-------------------------------+-------------------------------+
 *  |          source port          |       destination port        |
 *  +-------------------------------+-------------------------------+
 *  |                        sequence number                        |
 *  |                     acknowledgment number                     |
 *  +-------+-------+---------------+-------------------------------+
 *  |offset |   0   |     flags     |            window             |
 *  +-------+-------+---------------+-------------------------------+
 *  |           checksum            |        urgent pointer         |
 *  +-------------------------------+-------------------------------+
 * ```
 *
 * Owns the bytes. Never decides whether to send or accept one. Never throws for what arrives and never reads beyond it.
 * Allocates per frame: TCP carries a few hundred bytes of connection setup here, never bulk data.
 * Sources: RFC 9293 sections 3.1, 3.2 and 3.7.1; RFC 1624 is not needed, since every checksum is computed in full.
 */

import type { IpAddress, MacAddress } from '../../../../packets/address.ts';
import {
  finishChecksum,
  ipv4HeaderChecksum,
  onesComplementSum,
  pseudoHeaderSum,
} from '../../../../packets/checksum.ts';
import { defined } from '../../../../packets/defined.ts';
import {
  ETHERNET_BYTES,
  ETHERTYPE_IPV4,
  ETHERTYPE_IPV6,
  ETHERTYPE_VLAN,
  VLAN_TAG_BYTES,
  writeEthernet,
  writeVlanTag,
} from '../../../../packets/ethernet.ts';
import type { Frame } from '../../../../packets/frame.ts';
import {
  IP_PROTOCOL_TCP,
  IPV4_BYTES,
  IPV4_CHECKSUM_AT,
  IPV4_DONT_FRAGMENT,
  writeIpv4,
} from '../../../../packets/ipv4.ts';
import { IPV6_BYTES, writeIpv6 } from '../../../../packets/ipv6.ts';

export const TCP_BYTES = 20;

/** Bits of the flags byte; URG, ECE and CWR are never sent and are ignored. */
export const TcpFlag = { Fin: 0x01, Syn: 0x02, Rst: 0x04, Psh: 0x08, Ack: 0x10 } as const;

export interface TcpSegment {
  /** Sequence number of the first byte, of the SYN where there is one; 32 bits. */
  readonly seq: number;
  /** The next sequence number expected from the other side; 0 without `TcpFlag.Ack`. */
  readonly ack: number;
  /** Bits of `TcpFlag`. */
  readonly flags: number;
  /** Receive window of the sender, in bytes. */
  readonly window: number;
  /** Largest segment the sender takes, in bytes of data; absent: the option is not there. */
  readonly mss?: number;
  readonly data: Uint8Array;
}

/** A segment with the ports it came with. */
export interface ReceivedSegment extends TcpSegment {
  readonly sourcePort: number;
  readonly destPort: number;
}

/** Where a segment goes, and from where. */
export interface TcpRoute {
  readonly sourceMac: MacAddress;
  readonly destMac: MacAddress;
  readonly vlanTci?: number | undefined;
  readonly source: IpAddress;
  readonly destination: IpAddress;
  readonly sourcePort: number;
  readonly destPort: number;
}

/**
 * The segment in a frame that `parseFrame` found to be IP of protocol 6; undefined when its lengths or its checksum are
 * wrong. The data are a copy.
 */
export function readSegment(frame: Frame): ReceivedSegment | undefined {
  const { view, bytes, l4Offset: at, ipEnd: end } = frame;
  if (end - at < TCP_BYTES) return undefined;
  const headerBytes = (view.getUint8(at + OFFSET_AT) >>> 4) * 4;
  if (headerBytes < TCP_BYTES || headerBytes > end - at || !checksumMatches(frame)) return undefined;
  const flags = view.getUint8(at + FLAGS_AT);
  const mss = (flags & TcpFlag.Syn) === 0 ? undefined : readMss(view, at + TCP_BYTES, at + headerBytes);
  return {
    sourcePort: view.getUint16(at),
    destPort: view.getUint16(at + DEST_PORT_AT),
    seq: view.getUint32(at + SEQ_AT),
    ack: view.getUint32(at + ACK_AT),
    flags,
    window: view.getUint16(at + WINDOW_AT),
    ...defined({ mss }),
    data: bytes.slice(at + headerBytes, end),
  };
}

/** A whole Ethernet frame around a segment, padded to the shortest that Ethernet allows. */
export function segmentFrame(route: TcpRoute, segment: TcpSegment): Uint8Array {
  const { vlanTci, source } = route;
  const tagBytes = vlanTci === undefined ? 0 : VLAN_TAG_BYTES;
  const ipBytes = source.version === 4 ? IPV4_BYTES : IPV6_BYTES;
  const tcpBytes = TCP_BYTES + (segment.mss === undefined ? 0 : MSS_OPTION_BYTES) + segment.data.length;
  const ip = ETHERNET_BYTES + tagBytes;
  const bytes = new Uint8Array(Math.max(MIN_FRAME_BYTES + tagBytes, ip + ipBytes + tcpBytes));
  const view = new DataView(bytes.buffer);
  const etherType = source.version === 4 ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6;
  writeEthernet(view, 0, route.destMac, route.sourceMac, vlanTci === undefined ? etherType : ETHERTYPE_VLAN);
  if (vlanTci !== undefined) writeVlanTag(view, ETHERNET_BYTES, vlanTci, etherType);
  writeIp(view, ip, route, tcpBytes);
  const tcp = ip + ipBytes;
  writeTcp(bytes, view, tcp, route, segment);
  const sum = pseudoHeaderSum(view, ip, source.version, IP_PROTOCOL_TCP, tcpBytes);
  view.setUint16(tcp + CHECKSUM_AT, finishChecksum(onesComplementSum(view, tcp, tcp + tcpBytes, sum)));
  return bytes;
}

/** Bytes of data, with one for a SYN and one for a FIN: how far a segment moves the sequence number. */
export function sequenceLength({ flags, data }: TcpSegment): number {
  return data.length + ((flags & TcpFlag.Syn) === 0 ? 0 : 1) + ((flags & TcpFlag.Fin) === 0 ? 0 : 1);
}

/**
 * A checksum field that holds the bare sum of the pseudo-header is right too: a kernel leaves it so when the interface
 * is to finish it, and on virtual interfaces (veth, TAP) it stays so.
 * linux:skbuff.h, CHECKSUM_PARTIAL
 */
function checksumMatches({ view, ipOffset, ipVersion, l4Offset, ipEnd }: Frame): boolean {
  const sum = pseudoHeaderSum(view, ipOffset, ipVersion, IP_PROTOCOL_TCP, ipEnd - l4Offset);
  if (view.getUint16(l4Offset + CHECKSUM_AT) === sum) return true;
  return onesComplementSum(view, l4Offset, ipEnd, sum) === 0xff_ff;
}

/** RFC 9293 3.2: kind 0 ends the list, kind 1 has no length, all others have one. */
function readMss(view: DataView, start: number, end: number): number | undefined {
  for (let at = start; at < end; ) {
    const kind = view.getUint8(at);
    if (kind === OPTION_END) return undefined;
    if (kind === OPTION_NOTHING) {
      at += 1;
      continue;
    }
    const length = at + 1 < end ? view.getUint8(at + 1) : 0;
    if (length < 2 || length > end - at) return undefined;
    if (kind === OPTION_MSS && length === MSS_OPTION_BYTES) return view.getUint16(at + 2);
    at += length;
  }
  return undefined;
}

function writeTcp(bytes: Uint8Array, view: DataView, at: number, route: TcpRoute, segment: TcpSegment): void {
  const { mss, data } = segment;
  const headerBytes = TCP_BYTES + (mss === undefined ? 0 : MSS_OPTION_BYTES);
  view.setUint16(at, route.sourcePort);
  view.setUint16(at + DEST_PORT_AT, route.destPort);
  view.setUint32(at + SEQ_AT, segment.seq);
  view.setUint32(at + ACK_AT, segment.ack);
  view.setUint8(at + OFFSET_AT, (headerBytes / 4) << 4);
  view.setUint8(at + FLAGS_AT, segment.flags);
  view.setUint16(at + WINDOW_AT, segment.window);
  if (mss !== undefined) {
    view.setUint8(at + TCP_BYTES, OPTION_MSS);
    view.setUint8(at + TCP_BYTES + 1, MSS_OPTION_BYTES);
    view.setUint16(at + TCP_BYTES + 2, mss);
  }
  bytes.set(data, at + headerBytes);
}

function writeIp(view: DataView, at: number, { source, destination }: TcpRoute, tcpBytes: number): void {
  if (source.version === 6) {
    writeIpv6(view, at, {
      version: 6,
      trafficClass: 0,
      flowLabel: 0,
      payloadLength: tcpBytes,
      nextHeader: IP_PROTOCOL_TCP,
      hopLimit: HOP_LIMIT,
      source,
      destination,
    });
    return;
  }
  writeIpv4(view, at, {
    version: 4,
    ihl: 5,
    trafficClass: 0,
    totalLength: IPV4_BYTES + tcpBytes,
    identification: 0,
    flags: IPV4_DONT_FRAGMENT >>> 13,
    fragmentOffset: 0,
    ttl: HOP_LIMIT,
    protocol: IP_PROTOCOL_TCP,
    checksum: 0,
    source,
    destination,
  });
  view.setUint16(at + IPV4_CHECKSUM_AT, ipv4HeaderChecksum(view, at));
}

const DEST_PORT_AT = 2;
const SEQ_AT = 4;
const ACK_AT = 8;
const OFFSET_AT = 12;
const FLAGS_AT = 13;
const WINDOW_AT = 14;
const CHECKSUM_AT = 16;
const OPTION_END = 0;
const OPTION_NOTHING = 1;
const OPTION_MSS = 2;
const MSS_OPTION_BYTES = 4;
const HOP_LIMIT = 64;
/** Without the FCS. */
const MIN_FRAME_BYTES = 60;
