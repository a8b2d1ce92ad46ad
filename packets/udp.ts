/**
 * UDP header, 8 bytes.
 *
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +-------------------------------+-------------------------------+
 *  |          source port          |       destination port        |
 *  +-------------------------------+-------------------------------+
 *  |            length             |           checksum            |
 *  +-------------------------------+-------------------------------+
 *
 * Owns the bits only. RoCEv2 sends checksum 0 over IPv4 and IPv6 alike (ref:wire#2).
 */

/** Length of the header, in bytes. */
export const UDP_BYTES = 8;

/** Destination port of every RoCEv2 packet (ref:wire#1). */
export const ROCE_UDP_PORT = 4791;

// Field offsets, exported for the frame parser and writer and for the ICRC mask.
/** Offset of the source port, 16 bits. */
export const UDP_SOURCE_PORT_AT = 0;
/** Offset of the destination port, 16 bits. */
export const UDP_DEST_PORT_AT = 2;
/** Offset of the length, 16 bits. */
export const UDP_LENGTH_AT = 4;
/** Offset of the checksum, 16 bits. */
export const UDP_CHECKSUM_AT = 6;

/** The header, field by field (RFC 768). */
export interface Udp {
  /** 16 bits. RoCEv2 varies it by connection, so that networks can spread them. */
  readonly sourcePort: number;
  /** 16 bits; `ROCE_UDP_PORT` for RoCEv2. */
  readonly destPort: number;
  /** Bytes, header included. */
  readonly length: number;
  /** 16 bits; 0 for none. */
  readonly checksum: number;
}

/** Reads the header at `offset`, where `UDP_BYTES` must be. @throws RangeError otherwise */
export function readUdp(view: DataView, offset: number): Udp {
  return {
    sourcePort: view.getUint16(offset + UDP_SOURCE_PORT_AT),
    destPort: view.getUint16(offset + UDP_DEST_PORT_AT),
    length: view.getUint16(offset + UDP_LENGTH_AT),
    checksum: view.getUint16(offset + UDP_CHECKSUM_AT),
  };
}

/** Writes all 8 bytes as given. */
export function writeUdp(
  view: DataView,
  at: number,
  sourcePort: number,
  destPort: number,
  length: number,
  checksum: number,
): void {
  view.setUint16(at + UDP_SOURCE_PORT_AT, sourcePort);
  view.setUint16(at + UDP_DEST_PORT_AT, destPort);
  view.setUint16(at + UDP_LENGTH_AT, length);
  view.setUint16(at + UDP_CHECKSUM_AT, checksum);
}
