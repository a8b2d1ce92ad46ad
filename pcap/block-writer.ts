/**
 * Writes pcapng blocks and their options, in either byte order.
 *
 * Owns lengths and padding. The packet block is the only block type here; writer and copier share it. Source:
 * draft-ietf-opsawg-pcapng.
 */
import { ByteBuilder } from './byte-builder.ts';
import { BlockType, Option } from './pcapng-blocks.ts';
import type { CaptureTime, Direction } from './types.ts';

/** What can be said of a packet beside its bytes and time. */
export interface PcapngPacketOptions {
  /** Default: unknown, and nothing is written. */
  readonly direction?: Direction;
  /** Comments, of up to 65,535 bytes each. */
  readonly comments?: readonly string[];
  /** Length on the wire when the caller holds only a part of the packet. */
  readonly originalLength?: number;
  /** How many packets were lost between the one before on this interface and this one, 0..2^53. */
  readonly dropCount?: number;
  /** The same for a packet wherever it is seen, 64 bits. */
  readonly packetId?: bigint;
}

/** One block after another into a `ByteBuilder`. */
export class BlockWriter {
  readonly out: ByteBuilder;
  private start = 0;
  private anyOption = false;

  constructor(out: ByteBuilder) {
    this.out = out;
  }

  begin(type: number): void {
    this.start = this.out.length;
    this.anyOption = false;
    this.out.u32(type);
    this.out.u32(0); // total length, known in `finish`
  }

  /** Ends the options, if there were any, and the block. */
  finish(): void {
    if (this.anyOption) this.out.u32(Option.End);
    const total = this.out.length + 4 - this.start;
    this.out.patchU32(this.start + 4, total);
    this.out.u32(total);
  }

  /** seconds * 1e9 + nanoseconds as two 32-bit words without BigInt: both products below stay under 2^53. */
  timestamp(seconds: number, nanoseconds: number): void {
    const low = (seconds % 0x1_0000) * 1e9 + nanoseconds;
    const high = Math.floor(seconds / 0x1_0000) * 1e9 + Math.floor(low / 0x1_0000);
    this.out.u32(Math.floor(high / 0x1_0000));
    this.out.u32((high % 0x1_0000) * 0x1_0000 + (low % 0x1_0000));
  }

  /** A text of up to 65,535 bytes; nothing when it is absent or empty. */
  text(code: number, value: string | undefined): void {
    if (value !== undefined && value !== '') this.bytes(code, ByteBuilder.utf8(value, LONGEST_OPTION_BYTES));
  }

  comments(comments: readonly string[] | undefined): void {
    for (const comment of comments ?? []) this.text(Option.Comment, comment);
  }

  /** A 64-bit number; nothing when it is absent. */
  u64(code: number, value: number | bigint | undefined): void {
    if (value === undefined) return;
    this.header(code, 8);
    this.out.u64(BigInt(value));
  }

  u32(code: number, value: number): void {
    this.header(code, 4);
    this.out.u32(value);
  }

  time(code: number, value: CaptureTime | undefined): void {
    if (value === undefined) return;
    this.header(code, 8);
    this.timestamp(value.seconds, value.nanoseconds);
  }

  bytes(code: number, value: Uint8Array): void {
    this.header(code, value.length);
    this.out.append(value);
    this.out.pad4();
  }

  /** An option as it stands in another block of the same byte order, with header and padding. */
  raw(memory: Uint8Array, start: number, end: number): void {
    this.anyOption = true;
    this.out.copy(memory, start, end);
  }

  /** A whole enhanced packet block with the first `kept` of the bytes from `start` on. */
  packet(
    interfaceIndex: number,
    memory: Uint8Array,
    start: number,
    kept: number,
    originalLength: number,
    seconds: number,
    nanoseconds: number,
    options: PcapngPacketOptions,
  ): void {
    this.begin(BlockType.EnhancedPacket);
    this.out.u32(interfaceIndex);
    this.timestamp(seconds, nanoseconds);
    this.out.u32(kept);
    this.out.u32(originalLength);
    this.out.copy(memory, start, start + kept);
    this.out.pad4();
    this.comments(options.comments);
    if (options.direction) this.u32(Option.PacketFlags, options.direction);
    this.u64(Option.PacketDropCount, options.dropCount);
    this.u64(Option.PacketId, options.packetId);
    this.finish();
  }

  private header(code: number, length: number): void {
    this.anyOption = true;
    this.out.u16(code);
    this.out.u16(length);
  }
}

const LONGEST_OPTION_BYTES = 0xffff;
