/**
 * What two sides of perftest send each other about a queue pair: as a line of hexadecimal over TCP, as a record over a
 * queue pair.
 *
 * Owns the bytes. Never sends them. Both forms were seen on the wire of perftest 4.5+0.17 (which calls itself 6.06):
 *
 * ```
 *  lid :out_reads:qpn   :psn   :rkey    :vaddr           :16 bytes of GID, each ":"-ended :srqn    :\0      108 bytes
 *  0000:0001     :000011:3a581e:00000233:00005584d8864000:00:00: ... :0a:4d:00:02         :00000000:\0
 *
 *  +---+---------+---+---+----+---+-----+-----+----+---------+
 *  |lid|out_reads|qpn|psn|rkey| 0 |vaddr| gid |srqn|gid_index|   56 bytes, big-endian, 4 each; vaddr 8, gid 16
 *  +---+---------+---+---+----+---+-----+-----+----+---------+
 * ```
 */
import { IpAddress, RoceError } from 'rocev2/packets';
import { hex } from '../hex.ts';

export const DEST_TEXT_BYTES = 108;
export const DEST_RECORD_BYTES = 56;

/** One queue pair of one side. */
export interface PerfDest {
  readonly lid: number;
  /** READs and atomics it can answer at a time. */
  readonly outReads: number;
  readonly qpn: number;
  /** Where its send queue begins. */
  readonly psn: number;
  readonly rkey: number;
  /** Where messages go that name an address. */
  readonly vaddr: bigint;
  readonly gid: IpAddress;
  readonly srqn: number;
  readonly gidIndex: number;
}

export function writeDestText(dest: PerfDest): Uint8Array {
  const { lid, outReads, qpn, psn, rkey, vaddr, gid, srqn } = dest;
  const words = [hex(lid, 4), hex(outReads, 4), hex(qpn, 6), hex(psn, 6), hex(rkey, 8), hex(vaddr, 16)];
  for (const byte of gidBytes(gid)) words.push(hex(byte, 2));
  return new TextEncoder().encode(`${[...words, hex(srqn, 8)].join(':')}:\0`);
}

/** Throws ERR_ROCE_REJECTED for what perftest does not send. */
export function readDestText(bytes: Uint8Array): PerfDest {
  const text = new TextDecoder('latin1').decode(bytes);
  const match = DEST_PATTERN.exec(text);
  if (match === null) throw new RoceError('ERR_ROCE_REJECTED', 'the peer does not introduce itself as perftest does');
  const [, lid = '', outReads = '', qpn = '', psn = '', rkey = '', vaddr = '', gid = '', srqn = ''] = match;
  const view = new DataView(new ArrayBuffer(16));
  for (const [i, byte] of gid.split(':').entries()) view.setUint8(i, Number.parseInt(byte, 16));
  return {
    lid: Number.parseInt(lid, 16),
    outReads: Number.parseInt(outReads, 16),
    qpn: Number.parseInt(qpn, 16),
    psn: Number.parseInt(psn, 16),
    rkey: Number.parseInt(rkey, 16),
    vaddr: BigInt(`0x${vaddr}`),
    gid: IpAddress.fromGid(view, 0),
    srqn: Number.parseInt(srqn, 16),
    gidIndex: 0,
  };
}

export function writeDestRecord(dest: PerfDest): Uint8Array {
  const view = new DataView(new ArrayBuffer(DEST_RECORD_BYTES));
  const words = [dest.lid, dest.outReads, dest.qpn, dest.psn, dest.rkey];
  for (const [i, word] of words.entries()) view.setUint32(4 * i, word);
  view.setBigUint64(VADDR_AT, dest.vaddr);
  dest.gid.writeGid(view, GID_AT);
  view.setUint32(SRQN_AT, dest.srqn);
  view.setUint32(GID_INDEX_AT, dest.gidIndex);
  return new Uint8Array(view.buffer);
}

/** Throws ERR_ROCE_REJECTED for a record of another length. */
export function readDestRecord(bytes: Uint8Array): PerfDest {
  if (bytes.length !== DEST_RECORD_BYTES)
    throw new RoceError('ERR_ROCE_REJECTED', `the peer introduces itself with ${bytes.length} bytes, not 56`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return {
    lid: view.getUint32(0),
    outReads: view.getUint32(4),
    qpn: view.getUint32(8),
    psn: view.getUint32(12),
    rkey: view.getUint32(16),
    vaddr: view.getBigUint64(VADDR_AT),
    gid: IpAddress.fromGid(view, GID_AT),
    srqn: view.getUint32(SRQN_AT),
    gidIndex: view.getUint32(GID_INDEX_AT),
  };
}

/** The 16 bytes of a GID. */
export function gidBytes(gid: IpAddress): Uint8Array {
  const bytes = new Uint8Array(16);
  gid.writeGid(new DataView(bytes.buffer), 0);
  return bytes;
}

const H = '([0-9a-f]+)';
const DEST_PATTERN = new RegExp(`^${`${H}:`.repeat(6)}((?:[0-9a-f]{2}:){15}[0-9a-f]{2}):${H}:`);
/** The compiler of the peer aligns the address to 8. */
const VADDR_AT = 24;
const GID_AT = 32;
const SRQN_AT = 48;
const GID_INDEX_AT = 52;
