/**
 * The datagrams of udpong of rdmacm-utils (rdma:librdmacm/examples/udpong.c), in network order:
 *
 * ```
 *  0   operation | client | sequence number | reserved
 *  4   data (32): in the answer to End, the messages that the server has counted
 * ```
 */

/**
 * Login gives a client its number, Start resets its count, Data counts, Echo counts and is sent back, End asks for the
 * count.
 */
export const PongOp = { Login: 0, Start: 1, Data: 2, Echo: 3, End: 4 } as const;
export type PongOp = (typeof PongOp)[keyof typeof PongOp];

export interface PongHeader {
  readonly op: number;
  readonly client: number;
  readonly sequence: number;
  readonly data: number;
}

/** Writes into the first 8 bytes. */
export function writePong(bytes: Uint8Array, { op, client, sequence, data }: PongHeader): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, PONG_HEADER_BYTES);
  view.setUint8(0, op);
  view.setUint8(1, client);
  view.setUint8(2, sequence);
  view.setUint8(3, 0);
  view.setUint32(4, data);
}

/** Undefined for less than a header. */
export function readPong(bytes: Uint8Array): PongHeader | undefined {
  if (bytes.length < PONG_HEADER_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, PONG_HEADER_BYTES);
  return { op: view.getUint8(0), client: view.getUint8(1), sequence: view.getUint8(2), data: view.getUint32(4) };
}

export const UDPONG_PORT = 7174;
/** Bytes of Login, Start and End, and the least of the others. */
export const CONTROL_BYTES = 16;
export const MAX_PONG_BYTES = 2048;
const PONG_HEADER_BYTES = 8;
