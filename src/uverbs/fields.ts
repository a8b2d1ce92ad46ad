/** Reads and writes the members of structures of the ABI: little-endian numbers at the offsets of the tables. */
import type { Struct } from './abi/struct.ts';

/** Bytes of a structure, wherever they lie. */
export class Fields {
  readonly bytes: Uint8Array;
  readonly view: DataView;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  u8(at: number): number {
    return this.view.getUint8(at);
  }

  u16(at: number): number {
    return this.view.getUint16(at, true);
  }

  u32(at: number): number {
    return this.view.getUint32(at, true);
  }

  s32(at: number): number {
    return this.view.getInt32(at, true);
  }

  u64(at: number): bigint {
    return this.view.getBigUint64(at, true);
  }

  /** `length` bytes from `at` on, a copy. */
  slice(at: number, length: number): Uint8Array {
    return this.bytes.slice(at, at + length);
  }

  put8(at: number, value: number): void {
    this.view.setUint8(at, value);
  }

  put16(at: number, value: number): void {
    this.view.setUint16(at, value, true);
  }

  put32(at: number, value: number): void {
    this.view.setUint32(at, value, true);
  }

  put64(at: number, value: bigint): void {
    this.view.setBigUint64(at, value, true);
  }

  /** The structure that lies at `at`. */
  within(at: number, length: number): Fields {
    return new Fields(this.bytes.subarray(at, at + length));
  }
}

/** A response of this structure, zeroed, with `more` bytes behind it for what the driver adds. */
export function response(layout: Struct, more = 0): Fields {
  return new Fields(new Uint8Array(layout.size + more));
}
