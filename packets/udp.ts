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

export const UDP_BYTES = 8;

/** Destination port of every RoCEv2 packet (ref:wire#1). */
export const ROCE_UDP_PORT = 4791;

// Field offsets, exported for the frame parser and writer and for the ICRC mask.
export const UDP_SOURCE_PORT_AT = 0;
export const UDP_DEST_PORT_AT = 2;
export const UDP_LENGTH_AT = 4;
export const UDP_CHECKSUM_AT = 6;

export interface Udp {
  readonly sourcePort: number;
  readonly destPort: number;
  /** Bytes, header included. */
  readonly length: number;
  readonly checksum: number;
}

export function readUdp(view: DataView, offset: number): Udp {
  return {
    sourcePort: view.getUint16(offset + UDP_SOURCE_PORT_AT),
    destPort: view.getUint16(offset + UDP_DEST_PORT_AT),
    length: view.getUint16(offset + UDP_LENGTH_AT),
    checksum: view.getUint16(offset + UDP_CHECKSUM_AT),
  };
}

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
