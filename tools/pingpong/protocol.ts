/**
 * What the pingpong programs of libibverbs exchange over TCP before any RDMA: fixed-length lines of hexadecimal text
 * with a zero byte at the end. Owns the text; never opens a connection. Formats from rdma-core:libibverbs/examples
 * (rc_pingpong.c, xsrq_pingpong.c, pingpong.c#gid_to_wire_gid).
 */
import { IpAddress, RoceError } from 'rocev2/packets';
import { hex } from '../hex.ts';

/** Where one queue pair of a side is. */
export interface PingpongDest {
  /** Always 0 on Ethernet. */
  readonly lid: number;
  readonly qpn: number;
  /** First PSN this side sends. */
  readonly psn: number;
  /** Undefined where the peer was started without a GID index. */
  readonly gid: IpAddress | undefined;
}

/** Where the two queue pairs of a side of xsrq_pingpong are. */
export interface XsrqDest extends Omit<PingpongDest, 'qpn'> {
  readonly recvQpn: number;
  readonly sendQpn: number;
  readonly srqn: number;
}

/** Bytes of a `PingpongDest`, its zero byte included. */
export const DEST_BYTES = 4 + 1 + 6 + 1 + 6 + 1 + 32 + 1;
/** Bytes of an `XsrqDest`. */
export const XSRQ_DEST_BYTES = DEST_BYTES + 2 * 7;
/** The last message of the client of the four older programs. */
export const DONE = zeroEnded('done');
/** The last message of both sides of xsrq_pingpong. */
export const END = zeroEnded('END');

export function writeDest({ lid, qpn, psn, gid }: PingpongDest): Uint8Array {
  return zeroEnded([hex(lid, 4), hex(qpn, 6), hex(psn, 6), gidText(gid)].join(':'));
}

/** @throws RoceError ERR_ROCE_ARGUMENT for bytes that are no destination */
export function readDest(bytes: Uint8Array): PingpongDest {
  const { numbers, gid } = fieldsOf(bytes, 3);
  const [lid = 0, qpn = 0, psn = 0] = numbers;
  return { lid, qpn, psn, gid };
}

export function writeXsrqDest({ lid, recvQpn, sendQpn, psn, srqn, gid }: XsrqDest): Uint8Array {
  const fields = [hex(lid, 4), hex(recvQpn, 6), hex(sendQpn, 6), hex(psn, 6), hex(srqn, 6), gidText(gid)];
  return zeroEnded(fields.join(':'));
}

/** @throws RoceError ERR_ROCE_ARGUMENT for bytes that are no destination */
export function readXsrqDest(bytes: Uint8Array): XsrqDest {
  const { numbers, gid } = fieldsOf(bytes, 5);
  const [lid = 0, recvQpn = 0, sendQpn = 0, psn = 0, srqn = 0] = numbers;
  return { lid, recvQpn, sendQpn, psn, srqn, gid };
}

/** An address as inet_ntop(3) prints the GID it maps to. */
export function gidName(gid: IpAddress | undefined): string {
  if (gid === undefined) return '::';
  return gid.version === 4 ? `::ffff:${gid}` : gid.toString();
}

/** Hexadecimal numbers and a GID, with colons between and a zero byte behind. */
function fieldsOf(bytes: Uint8Array, count: number): { numbers: number[]; gid: IpAddress | undefined } {
  const text = String.fromCharCode(...bytes);
  const parts = text.slice(0, -1).split(':');
  const gid = parts.pop() ?? '';
  const sound = parts.length === count && parts.every((part) => /^[0-9a-f]{1,8}$/i.test(part));
  if (!sound || !text.endsWith('\0') || !/^[0-9a-f]{32}$/i.test(gid))
    throw new RoceError('ERR_ROCE_ARGUMENT', `the peer sent no pingpong address but ${JSON.stringify(text)}`);
  return { numbers: parts.map((part) => Number.parseInt(part, 16)), gid: gidOf(gid) };
}

function gidOf(text: string): IpAddress | undefined {
  if (/^0+$/.test(text)) return undefined;
  const view = new DataView(new ArrayBuffer(16));
  for (let i = 0; i < 4; i++) view.setUint32(i * 4, Number.parseInt(text.slice(i * 8, i * 8 + 8), 16));
  return IpAddress.fromGid(view, 0);
}

function gidText(gid: IpAddress | undefined): string {
  if (gid === undefined) return '0'.repeat(32);
  return [gid.w0, gid.w1, gid.w2, gid.w3].map((word) => hex(word, 8)).join('');
}

function zeroEnded(text: string): Uint8Array {
  return new TextEncoder().encode(`${text}\0`);
}
