/**
 * IPv4 header without options, 20 bytes.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +-------+-------+---------------+-------------------------------+
 *  |   4   |  IHL  |      TOS      |          total length         |
 *  +-------+-------+---------------+-+-+-+-------------------------+
 *  |        identification         |0|D|M|     fragment offset     |
 *  +---------------+---------------+-+-+-+-------------------------+
 *  |      TTL      |   protocol    |        header checksum        |
 *  +---------------+---------------+-------------------------------+
 *  |                        source address                         |
 *  +---------------------------------------------------------------+
 *  |                      destination address                      |
 *  +---------------------------------------------------------------+
 *
 * Owns the bits only. Options are never written and never accepted: rxe's ICRC copies a fixed 20 bytes (ref:wire#2).
 */

import { IpAddress } from './address.ts';

/** Length of the header without options, in bytes. */
export const IPV4_BYTES = 20;

/** Protocol numbers, shared with IPv6's next header. */
export const IP_PROTOCOL_ICMP = 1;
/** TCP. */
export const IP_PROTOCOL_TCP = 6;
/** UDP. */
export const IP_PROTOCOL_UDP = 17;
/** ICMP over IPv6. */
export const IP_PROTOCOL_ICMPV6 = 58;

/** Version 4, IHL 5: the only first byte this project accepts. */
export const IPV4_VERSION_IHL = 0x45;

// Field offsets, exported for the frame parser and writer and for the ICRC mask.
/** Offset of the TOS byte: DSCP and ECN. */
export const IPV4_TOS_AT = 1;
/** Offset of the total length, 16 bits. */
export const IPV4_TOTAL_LENGTH_AT = 2;
/** Offset of the identification, 16 bits. */
export const IPV4_ID_AT = 4;
/** Offset of flags and fragment offset, 16 bits. */
export const IPV4_FRAGMENT_AT = 6;
/** Offset of the TTL, 8 bits. */
export const IPV4_TTL_AT = 8;
/** Offset of the protocol, 8 bits. */
export const IPV4_PROTOCOL_AT = 9;
/** Offset of the header checksum, 16 bits. */
export const IPV4_CHECKSUM_AT = 10;
/** Offset of the source address, 32 bits. */
export const IPV4_SOURCE_AT = 12;
/** Offset of the destination address, 32 bits. */
export const IPV4_DESTINATION_AT = 16;

/** The don't-fragment bit in the 16 bits at `IPV4_FRAGMENT_AT`. */
export const IPV4_DONT_FRAGMENT = 0x40_00;
/** More-fragments bit and fragment offset: any of them set makes a fragment. */
export const IPV4_FRAGMENT_MASK = 0x3f_ff;

/** The header, field by field (RFC 791). */
export interface Ipv4 {
  /** 4 bits */
  readonly version: number;
  /** Header length in 32-bit words, 4 bits. */
  readonly ihl: number;
  /** TOS byte: DSCP in the upper six bits, ECN in the lower two. */
  readonly trafficClass: number;
  /** Bytes, header included. */
  readonly totalLength: number;
  /** 16 bits. */
  readonly identification: number;
  /** Three bits: reserved, don't fragment, more fragments. */
  readonly flags: number;
  /** In units of 8 bytes, 13 bits. */
  readonly fragmentOffset: number;
  /** 8 bits. */
  readonly ttl: number;
  /** 8 bits, such as `IP_PROTOCOL_UDP`. */
  readonly protocol: number;
  /** 16 bits: over the header, as written or to be written. */
  readonly checksum: number;
  /** Sender, of version 4. */
  readonly source: IpAddress;
  /** Receiver, of version 4. */
  readonly destination: IpAddress;
}

/** Reads the 20 bytes at `offset` as they are, right or wrong. @throws RangeError when they are not there */
export function readIpv4(view: DataView, offset: number): Ipv4 {
  const versionIhl = view.getUint8(offset);
  const fragment = view.getUint16(offset + IPV4_FRAGMENT_AT);
  return {
    version: versionIhl >>> 4,
    ihl: versionIhl & 0x0f,
    trafficClass: view.getUint8(offset + IPV4_TOS_AT),
    totalLength: view.getUint16(offset + IPV4_TOTAL_LENGTH_AT),
    identification: view.getUint16(offset + IPV4_ID_AT),
    flags: fragment >>> 13,
    fragmentOffset: fragment & 0x1f_ff,
    ttl: view.getUint8(offset + IPV4_TTL_AT),
    protocol: view.getUint8(offset + IPV4_PROTOCOL_AT),
    checksum: view.getUint16(offset + IPV4_CHECKSUM_AT),
    source: IpAddress.read(view, offset + IPV4_SOURCE_AT, 4),
    destination: IpAddress.read(view, offset + IPV4_DESTINATION_AT, 4),
  };
}

/**
 * Writes the 20 bytes as given; the checksum is the caller's (`ipv4HeaderChecksum` computes it from the written
 * header).
 */
export function writeIpv4(view: DataView, at: number, header: Ipv4): void {
  view.setUint8(at, (header.version << 4) | (header.ihl & 0x0f));
  view.setUint8(at + IPV4_TOS_AT, header.trafficClass);
  view.setUint16(at + IPV4_TOTAL_LENGTH_AT, header.totalLength);
  view.setUint16(at + IPV4_ID_AT, header.identification);
  view.setUint16(at + IPV4_FRAGMENT_AT, (header.flags << 13) | (header.fragmentOffset & 0x1f_ff));
  view.setUint8(at + IPV4_TTL_AT, header.ttl);
  view.setUint8(at + IPV4_PROTOCOL_AT, header.protocol);
  view.setUint16(at + IPV4_CHECKSUM_AT, header.checksum);
  header.source.write(view, at + IPV4_SOURCE_AT);
  header.destination.write(view, at + IPV4_DESTINATION_AT);
}
