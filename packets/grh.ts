/**
 * Global Route Header, 40 bytes: what a UD receive buffer starts with. On RoCEv2 over IPv6 it is the IPv6 header
 * itself; over IPv4 the IPv4 header stands in its last 20 bytes (ref:wire#6).
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +-------+---------------+---------------------------------------+
 *  | IPVer | traffic class |              flow label               |
 *  +-------+---------------+-------+---------------+---------------+
 *  |        payload length         |  next header  |   hop limit   |
 *  +-------------------------------+---------------+---------------+
 *  |                     source GID, 16 bytes                      |
 *  +---------------------------------------------------------------+
 *  |                  destination GID, 16 bytes                    |
 *  +---------------------------------------------------------------+
 *
 * Owns the bits only.
 */

import { IpAddress } from './address.ts';

/** Length of the header, in bytes, and of what a UD receive begins with. */
export const GRH_BYTES = 40;

/** Offset of the IPv4 header in the GRH area of a datagram that came over IPv4. */
export const GRH_IPV4_AT = 20;

const FIRST_WORD = 0;
const PAYLOAD_LENGTH = 4;
const NEXT_HEADER = 6;
const HOP_LIMIT = 7;
const SOURCE_GID = 8;
const DESTINATION_GID = 24;

/** The header, field by field (ref:wire#6). */
export interface Grh {
  /** 4 bits */
  readonly version: number;
  /** 8 bits */
  readonly trafficClass: number;
  /** 20 bits */
  readonly flowLabel: number;
  /** Bytes after this header, 16 bits. */
  readonly payloadLength: number;
  /** 8 bits: 0x1b behind a real GRH, 17 (UDP) where it is the IPv6 header of RoCEv2. */
  readonly nextHeader: number;
  /** 8 bits. */
  readonly hopLimit: number;
  /** The sender. */
  readonly sourceGid: IpAddress;
  /** Whom it was sent to, a group for multicast. */
  readonly destinationGid: IpAddress;
}

/** Reads the header at `offset`, where `GRH_BYTES` must be. @throws RangeError otherwise */
export function readGrh(view: DataView, offset: number): Grh {
  const first = view.getUint32(offset + FIRST_WORD);
  return {
    version: first >>> 28,
    trafficClass: (first >>> 20) & 0xff,
    flowLabel: first & 0x0f_ff_ff,
    payloadLength: view.getUint16(offset + PAYLOAD_LENGTH),
    nextHeader: view.getUint8(offset + NEXT_HEADER),
    hopLimit: view.getUint8(offset + HOP_LIMIT),
    sourceGid: IpAddress.fromGid(view, offset + SOURCE_GID),
    destinationGid: IpAddress.fromGid(view, offset + DESTINATION_GID),
  };
}

/** Writes all 40 bytes; numbers are cut to their width. */
export function writeGrh(view: DataView, at: number, grh: Grh): void {
  const flow = ((grh.trafficClass & 0xff) << 20) | (grh.flowLabel & 0x0f_ff_ff);
  view.setUint32(at + FIRST_WORD, (grh.version << 28) | flow);
  view.setUint16(at + PAYLOAD_LENGTH, grh.payloadLength);
  view.setUint8(at + NEXT_HEADER, grh.nextHeader);
  view.setUint8(at + HOP_LIMIT, grh.hopLimit);
  grh.sourceGid.writeGid(view, at + SOURCE_GID);
  grh.destinationGid.writeGid(view, at + DESTINATION_GID);
}
