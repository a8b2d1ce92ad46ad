/**
 * One pcapng block, and a cursor over its options.
 *
 * Owns the arithmetic of offsets within a block. The object is made once and filled again for each block. It keeps
 * nothing of a block beyond the lifetime of the block's memory. Source: draft-ietf-opsawg-pcapng, sections on blocks
 * and on options.
 *
 * ```
 * block:   type 4 | total length 4 | body, a multiple of 4 | total length 4
 * option:  code 2 | length 2 | value, padded to 4
 * ```
 */
import { IpAddress } from '../packets/address.ts';
import type { ByteQueue } from './byte-queue.ts';
import { captureError } from './capture-error.ts';
import { BLOCK_OVERHEAD_BYTES, OPTION_HEADER_BYTES, Option, padded } from './pcapng-blocks.ts';

/** The body of one whole block: offsets count from behind type and length. */
export class Block {
  type = 0;
  bodyLength = 0;
  littleEndian = true;
  /** Memory of the block, which begins at `start` and ends at `end`; its body begins at `body`. */
  memory: Uint8Array = new Uint8Array(0);
  start = 0;
  end = 0;
  body = 0;
  /** The option that `nextOption` found: its value is `[valueAt, valueAt + valueLength)` of the body. */
  code = 0;
  valueAt = 0;
  valueLength = 0;
  private view: DataView = new DataView(new ArrayBuffer(0));
  private fileOffset = 0;
  private nextAt = 0;

  /** The block of `length` bytes at the head of `queue`. */
  load(queue: ByteQueue, length: number, littleEndian: boolean): void {
    // References are written when they change only: the garbage collector is told of each.
    if (this.view !== queue.view) {
      this.memory = queue.bytes;
      this.view = queue.view;
    }
    this.start = queue.start;
    this.end = queue.start + length;
    this.body = queue.start + 8;
    this.fileOffset = queue.offset + 8;
    this.bodyLength = length - BLOCK_OVERHEAD_BYTES;
    this.littleEndian = littleEndian;
    this.type = this.view.getUint32(this.start, littleEndian);
  }

  /** The same block as `other`, which may then go on to the next. */
  assign(other: Block): void {
    this.type = other.type;
    this.bodyLength = other.bodyLength;
    this.littleEndian = other.littleEndian;
    this.memory = other.memory;
    this.start = other.start;
    this.end = other.end;
    this.view = other.view;
    this.body = other.body;
    this.fileOffset = other.fileOffset;
  }

  u8(at: number): number {
    return this.view.getUint8(this.body + at);
  }

  u16(at: number): number {
    return this.view.getUint16(this.body + at, this.littleEndian);
  }

  u32(at: number): number {
    return this.view.getUint32(this.body + at, this.littleEndian);
  }

  u64(at: number): bigint {
    return this.view.getBigUint64(this.body + at, this.littleEndian);
  }

  i64(at: number): bigint {
    return this.view.getBigInt64(this.body + at, this.littleEndian);
  }

  bytes(at: number, length: number): Uint8Array {
    // Not `subarray`, which takes twice as long.
    return new Uint8Array(this.memory.buffer, this.memory.byteOffset + this.body + at, length);
  }

  address(at: number, version: 4 | 6): IpAddress {
    return IpAddress.read(this.view, this.body + at, version);
  }

  /** UTF-8 as text; bytes that are not UTF-8 become the replacement character, a trailing NUL is dropped. */
  text(at: number, length: number): string {
    const text = UTF8.decode(this.bytes(at, length));
    return text.endsWith('\0') ? text.slice(0, -1) : text;
  }

  /** Position in the file, for error messages. */
  offsetOf(at: number): number {
    return this.fileOffset + at;
  }

  require(bytes: number): this {
    if (this.bodyLength < bytes)
      throw captureError(this.offsetOf(0), `a block is shorter than its ${bytes} fixed bytes`);
    return this;
  }

  /** Start of the options, from which `nextOption` continues. */
  optionsAt(at: number): void {
    this.nextAt = at;
  }

  /**
   * Goes to the next option; false at the end of the list, which is an end-of-options mark or the end of the block.
   * Throws ERR_ROCE_CAPTURE for an option that does not fit.
   */
  nextOption(): boolean {
    const at = this.nextAt;
    const left = this.bodyLength - at;
    if (left < OPTION_HEADER_BYTES) return false;
    this.code = this.u16(at);
    if (this.code === Option.End) return false;
    this.valueAt = at + OPTION_HEADER_BYTES;
    this.valueLength = this.u16(at + 2);
    if (this.valueLength > left - OPTION_HEADER_BYTES) {
      throw captureError(this.offsetOf(at), 'an option does not fit into its block');
    }
    this.nextAt = this.valueAt + padded(this.valueLength);
    return true;
  }

  /** The value of the current option as text. */
  optionText(): string {
    return this.text(this.valueAt, this.valueLength);
  }
}

const UTF8 = new TextDecoder();
