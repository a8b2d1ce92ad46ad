/**
 * The bytes of the rsocket protocol: private data of the connection, messages in immediate data, scatter-gather and
 * iomap entries that one side writes into the other's memory.
 *
 * Owns layouts and constants (rdma:rsocket.c, rdma:docs/rsocket). Never decides what is sent when. Reading cannot fail
 * on any bytes of the right length; `connDataFault` checks the values.
 *
 * Private data is in network order. Entries written by RDMA WRITE are in the order of the host that owns the memory,
 * which says so with a flag (rdma:rsocket.c#rs_save_conn_data); memory of ours is little-endian.
 *
 * ```
 *  0   version | flags | credits (16)          16  key (32) | length (32)    an entry of a list:
 *  4   reserved (24) | scaled size of iomap    24  address of the data buffer   0  address (64)
 *  8   address of the list of entries          32  key (32) | length (32)       8  key (32) | length (32)
 * ```
 */

/**
 * Types of a message, its upper three bits. Write marks completions of our own and never travels; 1, 3 and 5 are
 * reserved.
 */
export const RsOp = { Data: 0, Write: 2, Sgl: 4, IomapSgl: 6, Ctrl: 7 } as const;
export type RsOp = (typeof RsOp)[keyof typeof RsOp];

/** The data of a message of type Ctrl. */
export const RsCtrl = { Disconnect: 0, Keepalive: 1, Shutdown: 2 } as const;
export type RsCtrl = (typeof RsCtrl)[keyof typeof RsCtrl];

/** A message: 32 bits of immediate data. `data` has 29 bits. */
export function rsMessage(op: RsOp, data: number): number {
  return ((op << DATA_BITS) | data) >>> 0;
}

export function messageOp(message: number): number {
  return message >>> DATA_BITS;
}

export function messageData(message: number): number {
  return message & MAX_MESSAGE_DATA;
}

/** Memory of one side as a remote address, key and length. */
export interface RemoteSge {
  readonly addr: bigint;
  readonly key: number;
  readonly length: number;
}

/** A piece of the peer's memory that answers to offsets (riomap). */
export interface IomapEntry {
  readonly offset: bigint;
  readonly sge: RemoteSge;
}

/** The connection data of each side. */
export interface ConnData {
  readonly version: number;
  /** Whether the sender reads entries in big-endian order. */
  readonly bigEndian: boolean;
  /** Data messages that the sender takes before it has granted more: the size of its receive queue. */
  readonly credits: number;
  /** Iomap entries behind the list of entries; 0 when the sender supports none. */
  readonly iomapSize: number;
  /** The list of entries that the receiver is to write into; `length` counts entries, not bytes. */
  readonly targetSgl: RemoteSge;
  /** The first buffer for data, in bytes. */
  readonly dataBuf: RemoteSge;
}

export function writeConnData(data: ConnData): Uint8Array {
  const bytes = new Uint8Array(CONN_DATA_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, data.version);
  view.setUint8(1, FLAG_IOMAP | (data.bigEndian ? FLAG_NET : 0));
  view.setUint16(2, data.credits);
  view.setUint8(IOMAP_SIZE_AT, scaleOf(data.iomapSize));
  writeSge(view, TARGET_SGL_AT, data.targetSgl, false);
  writeSge(view, DATA_BUF_AT, data.dataBuf, false);
  return bytes;
}

/**
 * Undefined when the bytes are too few: the peer uses another protocol. Later bytes are padding of the connection
 * manager.
 */
export function readConnData(bytes: Uint8Array): ConnData | undefined {
  if (bytes.length < CONN_DATA_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const flags = view.getUint8(1);
  return {
    version: view.getUint8(0),
    bigEndian: (flags & FLAG_NET) !== 0,
    credits: view.getUint16(2),
    iomapSize: (flags & FLAG_IOMAP) === 0 ? 0 : scaledValue(view.getUint8(IOMAP_SIZE_AT)),
    targetSgl: readSge(view, TARGET_SGL_AT, false),
    dataBuf: readSge(view, DATA_BUF_AT, false),
  };
}

/**
 * Why a peer's connection data is invalid, or undefined. The second entry of its list is written first, so a shorter
 * list makes no sense (rdma:rsocket.c#rs_send_credits).
 */
export function connDataFault(data: ConnData | undefined): string | undefined {
  if (data === undefined) return 'its private data is too short';
  if (data.version !== RS_VERSION) return `its version is ${data.version}`;
  const { targetSgl, iomapSize, dataBuf } = data;
  if (targetSgl.length < 2 || targetSgl.length > MAX_TARGET_ENTRIES)
    return `its list of buffers has ${targetSgl.length} entries`;
  const listBytes = targetSgl.length * SGE_BYTES + iomapSize * IOMAP_BYTES;
  if (!fits(targetSgl.addr, listBytes)) return 'its list of buffers is beyond the end of memory';
  if (!fits(dataBuf.addr, dataBuf.length)) return 'its buffer is beyond the end of memory';
  return undefined;
}

/** Whether a peer's address range is valid: the address plus the length stay within 64 bits. */
export function fits(addr: bigint, length: number): boolean {
  return addr + BigInt(length) <= ADDRESS_SPACE;
}

export function writeSge(view: DataView, at: number, sge: RemoteSge, littleEndian: boolean): void {
  view.setBigUint64(at, sge.addr, littleEndian);
  view.setUint32(at + 8, sge.key, littleEndian);
  view.setUint32(at + 12, sge.length, littleEndian);
}

export function readSge(view: DataView, at: number, littleEndian: boolean): RemoteSge {
  return {
    addr: view.getBigUint64(at, littleEndian),
    key: view.getUint32(at + 8, littleEndian),
    length: view.getUint32(at + 12, littleEndian),
  };
}

export function writeIomap(view: DataView, at: number, entry: IomapEntry, littleEndian: boolean): void {
  view.setBigUint64(at, entry.offset, littleEndian);
  writeSge(view, at + 8, entry.sge, littleEndian);
}

export function readIomap(view: DataView, at: number, littleEndian: boolean): IomapEntry {
  return { offset: view.getBigUint64(at, littleEndian), sge: readSge(view, at + 8, littleEndian) };
}

/**
 * One byte for a count: itself up to 128, above that in steps of 256, rounded down (rdma:rsocket.c#rs_value_to_scale).
 */
export function scaleOf(value: number): number {
  return value <= SCALE_BIT ? value : SCALE_BIT | (value >> 8);
}

export function scaledValue(scale: number): number {
  return scale <= SCALE_BIT ? scale : (scale & ~SCALE_BIT) << 8;
}

export const RS_VERSION = 1;
export const CONN_DATA_BYTES = 40;
export const SGE_BYTES = 16;
export const IOMAP_BYTES = 24;
/** Bytes of a message where it travels as a SEND (iWARP). */
export const MESSAGE_BYTES = 4;
/** Entries of the list that rsocket.c makes, and ours. */
export const TARGET_ENTRIES = 2;
/** Largest count that fits the scaled byte. */
export const MAX_IOMAPS = 0x7f << 8;

/** Larger than any list; bounds the value of a peer. */
const MAX_TARGET_ENTRIES = 0x1_00_00;
const DATA_BITS = 29;
/** The lower 29 bits of a message. */
export const MAX_MESSAGE_DATA = 2 ** DATA_BITS - 1;
const FLAG_NET = 1;
const FLAG_IOMAP = 2;
const SCALE_BIT = 0x80;
const IOMAP_SIZE_AT = 7;
const TARGET_SGL_AT = 8;
const DATA_BUF_AT = 24;
const ADDRESS_SPACE = 1n << 64n;
