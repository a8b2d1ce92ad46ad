/**
 * The bytes of datagram rsockets: the messages over UDP until both queue pair numbers are known, and the header of each
 * datagram between queue pairs, which carries the sender (rdma:rsocket.c#ds_sendv_udp, #ds_format_hdr;
 * rdma:docs/rsocket).
 *
 * Owns layouts and constants, network order throughout. Never throws on bytes: returns undefined for what is not a
 * message.
 *
 * ```
 *  over UDP                                             between queue pairs
 *  0   tag 0x55555555                                   0   version | length | UDP port (16)
 *  4   version | op | length of header | reserved       4   IPv4 address, or flow information and
 *  8   queue pair (low 24 bits)                         8   IPv6 address
 * 12   address, 4 or 16 bytes
 * ```
 */
import { IpAddress } from '../../../packets/address.ts';
import { RsOp } from './protocol.ts';

/** Announces the sender's queue pair, with data or without. */
export interface UdpMessage {
  /** `RsOp.Data` or `RsOp.Ctrl`. */
  readonly op: number;
  /** Of the sender, 24 bits. */
  readonly qpn: number;
  readonly data: Uint8Array;
}

/** @param source the sender's address, whose version is that of the header */
export function writeUdpMessage({ op, qpn, data }: UdpMessage, source: IpAddress): Uint8Array {
  const length = udpHeaderBytes(source.version);
  const bytes = new Uint8Array(length + data.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, UDP_TAG);
  view.setUint8(4, source.version);
  view.setUint8(5, op);
  view.setUint8(6, length);
  view.setUint32(8, qpn);
  source.write(view, UDP_ADDRESS_AT);
  bytes.set(data, length);
  return bytes;
}

/**
 * Undefined for what is no message of this protocol from an address of this version. `data` are bytes of the argument.
 */
export function readUdpMessage(bytes: Uint8Array, version: 4 | 6): UdpMessage | undefined {
  const length = udpHeaderBytes(version);
  if (bytes.length < length) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0) !== UDP_TAG || view.getUint8(4) !== version || view.getUint8(6) !== length) return undefined;
  const op = view.getUint8(5);
  const qpn = view.getUint32(8) & 0xff_ff_ff;
  if ((op !== RsOp.Data && op !== RsOp.Ctrl) || qpn === 0) return undefined;
  return { op, qpn, data: bytes.subarray(length) };
}

/** The source of a datagram. */
export interface DatagramSource {
  /** Its sender. */
  readonly address: IpAddress;
  /** UDP port, 0..65535. */
  readonly port: number;
}

/** Writes the header of a datagram; returns its length. There must be room for `MAX_DATAGRAM_HEADER_BYTES`. */
export function writeDatagramHeader(view: DataView, at: number, { address, port }: DatagramSource): number {
  const length = datagramHeaderBytes(address.version);
  view.setUint8(at, address.version);
  view.setUint8(at + 1, length);
  view.setUint16(at + 2, port);
  if (address.version === 6) view.setUint32(at + 4, 0);
  address.write(view, at + length - (address.version === 4 ? 4 : 16));
  return length;
}

/** The header of a datagram of `length` bytes at `at`, with its own length; undefined for what is none. */
export function readDatagramHeader(
  view: DataView,
  at: number,
  length: number,
): (DatagramSource & { readonly headerBytes: number }) | undefined {
  if (length < datagramHeaderBytes(4)) return undefined;
  const version = view.getUint8(at);
  if (version !== 4 && version !== 6) return undefined;
  const headerBytes = datagramHeaderBytes(version);
  if (view.getUint8(at + 1) !== headerBytes || length < headerBytes) return undefined;
  const address = IpAddress.read(view, at + headerBytes - (version === 4 ? 4 : 16), version);
  return { address, port: view.getUint16(at + 2), headerBytes };
}

export function datagramHeaderBytes(version: 4 | 6): number {
  return version === 4 ? 8 : MAX_DATAGRAM_HEADER_BYTES;
}

function udpHeaderBytes(version: 4 | 6): number {
  return version === 4 ? 16 : 28;
}

export const MAX_DATAGRAM_HEADER_BYTES = 24;
const UDP_TAG = 0x5555_5555;
const UDP_ADDRESS_AT = 12;
