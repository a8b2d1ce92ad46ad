/**
 * SGL descriptor, 16 bytes: where the data of a command is. A command on RDMA has exactly one.
 *
 *   0   address, or offset in the capsule (64)
 *   8   keyed data block: length (24), key (32)        others: length (32), reserved (24)
 *  15   subtype (4, low), type (4, high)
 *
 * Owns the bits. Whether a controller takes a descriptor is decided elsewhere. Rules: ref:nvmeof.
 */

/** Length of a descriptor, in bytes. */
export const SGL_BYTES = 16;

/** Types of descriptors. */
export const SglType = {
  /** A block of data, by address, or in the capsule by offset. */
  DataBlock: 0x0,
  /** Data that nobody wants. */
  BitBucket: 0x1,
  /** More descriptors, and others behind them. */
  Segment: 0x2,
  /** More descriptors, the last. */
  LastSegment: 0x3,
  /** Memory of the peer, with its key: what RDMA uses. */
  KeyedDataBlock: 0x4,
  /** Of the transport. */
  TransportDataBlock: 0x5,
} as const;

/** How the address of a descriptor is meant. */
export const SglSubtype = {
  /** An address. */
  Address: 0x0,
  /** An offset from the start of the data in the capsule. */
  Offset: 0x1,
  /** An address, and the key is to be invalidated by the response. */
  Invalidate: 0xf,
} as const;

/**
 * A descriptor, field by field. The address is two halves: no command allocates a bigint that has no data to move.
 *
 * @example
 * ```ts
 * import { readSgl, SGL_BYTES, SglDescriptor, SglType, writeSgl } from 'rocev2/nvme';
 *
 * const view = new DataView(new ArrayBuffer(SGL_BYTES));
 * writeSgl(view, 0, new SglDescriptor().setKeyed(0x1000n, 4096, 0x77, true));
 * const read = new SglDescriptor();
 * readSgl(view, 0, read);
 * console.log(read.type === SglType.KeyedDataBlock, read.length, read.invalidates); // true 4096 true
 * ```
 */
export class SglDescriptor {
  /** One of `SglType`, or a reserved number, 0..15. */
  type = 0;
  /** One of `SglSubtype`, or a reserved number, 0..15. */
  subtype = 0;
  /** Upper 32 bits of the address. */
  addressHigh = 0;
  /** Lower 32 bits of the address. */
  addressLow = 0;
  /** Bytes of data: below 2^24 where the descriptor is keyed, else below 2^32. */
  length = 0;
  /** Key of the memory, 32 bits; 0 where the descriptor is not keyed. */
  key = 0;

  /** The address, unsigned 64 bits. */
  get address(): bigint {
    return (BigInt(this.addressHigh) << 32n) | BigInt(this.addressLow);
  }

  /** The address as an offset in the capsule; not exact above 2^53, where no capsule reaches. */
  get offset(): number {
    return this.addressHigh * 2 ** 32 + this.addressLow;
  }

  /** Whether the response has to invalidate the key. */
  get invalidates(): boolean {
    return this.type === SglType.KeyedDataBlock && this.subtype === SglSubtype.Invalidate;
  }

  /** Makes it a keyed block. @param address unsigned 64 bits @param length below 2^24 */
  setKeyed(address: bigint, length: number, key: number, invalidate: boolean): this {
    this.type = SglType.KeyedDataBlock;
    this.subtype = invalidate ? SglSubtype.Invalidate : SglSubtype.Address;
    this.addressHigh = Number(address >> 32n);
    this.addressLow = Number(address & 0xff_ff_ff_ffn);
    this.length = length;
    this.key = key;
    return this;
  }

  /** Makes it data in the capsule. @param offset from the end of the submission queue entry, plus the controller's */
  setInCapsule(offset: number, length: number): this {
    this.type = SglType.DataBlock;
    this.subtype = SglSubtype.Offset;
    this.addressHigh = Math.floor(offset / 2 ** 32);
    this.addressLow = offset >>> 0;
    this.length = length;
    this.key = 0;
    return this;
  }

  /**
   * Makes it a descriptor of no data: a keyed block of length 0, as Linux sends (rdma.c#nvme_rdma_set_sg_null).
   */
  setNone(): this {
    return this.setKeyed(0n, 0, 0, false);
  }
}

/** Reads the descriptor at `at`, where `SGL_BYTES` must be. @throws RangeError otherwise */
export function readSgl(view: DataView, at: number, into: SglDescriptor): void {
  const id = view.getUint8(at + ID_AT);
  const keyed = id >>> 4 === SglType.KeyedDataBlock;
  into.type = id >>> 4;
  into.subtype = id & 0x0f;
  into.addressLow = view.getUint32(at, true);
  into.addressHigh = view.getUint32(at + 4, true);
  into.length = keyed ? view.getUint32(at + LENGTH_AT, true) & 0xff_ff_ff : view.getUint32(at + LENGTH_AT, true);
  into.key = keyed ? view.getUint32(at + KEY_AT, true) : 0;
}

/** Writes all 16 bytes; numbers are cut to their width. */
export function writeSgl(view: DataView, at: number, sgl: SglDescriptor): void {
  view.setUint32(at, sgl.addressLow, true);
  view.setUint32(at + 4, sgl.addressHigh, true);
  if (sgl.type === SglType.KeyedDataBlock) {
    view.setUint32(at + LENGTH_AT, sgl.length & 0xff_ff_ff, true);
    view.setUint32(at + KEY_AT, sgl.key, true);
  } else {
    view.setUint32(at + LENGTH_AT, sgl.length, true);
    view.setUint32(at + RESERVED_AT, 0, true);
  }
  view.setUint8(at + ID_AT, ((sgl.type & 0x0f) << 4) | (sgl.subtype & 0x0f));
}

const LENGTH_AT = 8;
const KEY_AT = 11;
const RESERVED_AT = 12;
const ID_AT = 15;
