/**
 * IPv6 header, 40 bytes.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +-------+---------------+---------------------------------------+
 *  |   6   | traffic class |              flow label               |
 *  +-------+---------------+-------+---------------+---------------+
 *  |        payload length         |  next header  |   hop limit   |
 *  +-------------------------------+---------------+---------------+
 *  |                   source address, 16 bytes                    |
 *  +---------------------------------------------------------------+
 *  |                 destination address, 16 bytes                 |
 *  +---------------------------------------------------------------+
 *
 * Owns the bits only. Extension headers are not followed: RoCEv2 packets have none.
 */

import { IpAddress } from './address.ts';

/** Length of the header, in bytes. */
export const IPV6_BYTES = 40;

// Field offsets, exported for the frame parser and writer and for the ICRC mask.
/** Offset of the payload length, 16 bits. */
export const IPV6_PAYLOAD_LENGTH_AT = 4;
/** Offset of the next header, 8 bits. */
export const IPV6_NEXT_HEADER_AT = 6;
/** Offset of the hop limit, 8 bits. */
export const IPV6_HOP_LIMIT_AT = 7;
/** Offset of the source address, 128 bits. */
export const IPV6_SOURCE_AT = 8;
/** Offset of the destination address, 128 bits. */
export const IPV6_DESTINATION_AT = 24;

/** The header, field by field (RFC 8200). */
export interface Ipv6 {
  /** 4 bits */
  readonly version: number;
  /** DSCP in the upper six bits, ECN in the lower two. */
  readonly trafficClass: number;
  /** 20 bits */
  readonly flowLabel: number;
  /** Bytes after this header. */
  readonly payloadLength: number;
  /** 8 bits: the protocol that follows, such as `IP_PROTOCOL_UDP`. */
  readonly nextHeader: number;
  /** 8 bits. */
  readonly hopLimit: number;
  /** Sender, of version 6. */
  readonly source: IpAddress;
  /** Receiver, of version 6. */
  readonly destination: IpAddress;
}

/** Reads the 40 bytes at `offset` as they are, right or wrong. @throws RangeError when they are not there */
export function readIpv6(view: DataView, offset: number): Ipv6 {
  const first = view.getUint32(offset);
  return {
    version: first >>> 28,
    trafficClass: (first >>> 20) & 0xff,
    flowLabel: first & 0x0f_ff_ff,
    payloadLength: view.getUint16(offset + IPV6_PAYLOAD_LENGTH_AT),
    nextHeader: view.getUint8(offset + IPV6_NEXT_HEADER_AT),
    hopLimit: view.getUint8(offset + IPV6_HOP_LIMIT_AT),
    source: IpAddress.read(view, offset + IPV6_SOURCE_AT, 6),
    destination: IpAddress.read(view, offset + IPV6_DESTINATION_AT, 6),
  };
}

/** Writes the 40 bytes; both addresses must be of version 6. */
export function writeIpv6(view: DataView, at: number, header: Ipv6): void {
  view.setUint32(at, ipv6FirstWord(header.version, header.trafficClass, header.flowLabel));
  view.setUint16(at + IPV6_PAYLOAD_LENGTH_AT, header.payloadLength);
  view.setUint8(at + IPV6_NEXT_HEADER_AT, header.nextHeader);
  view.setUint8(at + IPV6_HOP_LIMIT_AT, header.hopLimit);
  header.source.writeGid(view, at + IPV6_SOURCE_AT);
  header.destination.writeGid(view, at + IPV6_DESTINATION_AT);
}

/**
 * Version, traffic class and flow label as the unsigned 32 bits that a header begins with; each is cut to its width.
 */
export function ipv6FirstWord(version: number, trafficClass: number, flowLabel: number): number {
  return ((version << 28) | ((trafficClass & 0xff) << 20) | (flowLabel & 0x0f_ff_ff)) >>> 0;
}
