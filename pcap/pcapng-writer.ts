/**
 * Writes pcapng: one section, any number of interfaces, nanosecond times, directions and comments.
 *
 * Owns the block layout. Never does I/O and has no clock: blocks gather in memory until `take`, and times come from the
 * caller, so the same calls give the same file byte for byte. Little-endian whatever the host.
 * Source: draft-ietf-opsawg-pcapng, sections on the section header, interface description and enhanced packet blocks.
 *
 * ```ts
 * const writer = new PcapngWriter({ application: 'roce' });
 * const wire = writer.addInterface({ name: 'wire', linkType: LinkType.Ethernet });
 * writer.packet(wire, bytes, 0, bytes.length, 12, 345, { direction: Direction.Outbound, comments: ['dropped on purpose'] });
 * file.write(writer.take());
 * ```
 */

import { RoceError } from '../packets/errors.ts';
import { ByteBuilder } from './byte-builder.ts';
import { BlockType, BYTE_ORDER_MAGIC, Option } from './pcapng-blocks.ts';
import type { Direction } from './types.ts';

/** Strings of the section header. */
export interface PcapngSectionOptions {
  /** Program that writes the file (shb_userappl). */
  readonly application?: string;
  /** Machine (shb_hardware). */
  readonly hardware?: string;
  /** Operating system (shb_os). */
  readonly operatingSystem?: string;
  /** A comment on the whole file. */
  readonly comment?: string;
}

/** An interface to be described. */
export interface PcapngInterfaceOptions {
  /** Interface name as Wireshark shows it. */
  readonly name: string;
  /** What it is, in words (if_description). */
  readonly description?: string;
  /** See `LinkType`. */
  readonly linkType: number;
  /** Packets are cut to this many bytes; 0, the default, keeps all. */
  readonly snapLength?: number;
}

/** What can be said of a packet beside its bytes and time. */
export interface PcapngPacketOptions {
  /** Default: unknown, and nothing is written. */
  readonly direction?: Direction;
  /** Comments, of up to 65,535 bytes each. */
  readonly comments?: readonly string[];
  /** Length on the wire when the caller holds only a part of the packet. */
  readonly originalLength?: number;
}

/** Writes one pcapng file. */
export class PcapngWriter {
  private readonly out = new ByteBuilder();
  private readonly snapLengths: number[] = [];

  /** Writes the section header; strings that are absent or empty are left out. */
  constructor(section: PcapngSectionOptions = {}) {
    const start = this.begin(BlockType.SectionHeader);
    this.out.u32(BYTE_ORDER_MAGIC);
    this.out.u16(1); // major version
    this.out.u16(0); // minor version
    this.out.u32(0xffff_ffff); // section length unknown: it streams
    this.out.u32(0xffff_ffff);
    this.text(Option.Hardware, section.hardware);
    this.text(Option.OperatingSystem, section.operatingSystem);
    this.text(Option.Application, section.application);
    this.text(Option.Comment, section.comment);
    this.endOfOptions();
    this.finish(start);
  }

  /** Describes one more interface; returns its index for `packet`. */
  addInterface(options: PcapngInterfaceOptions): number {
    const snapLength = options.snapLength ?? 0;
    const start = this.begin(BlockType.InterfaceDescription);
    this.out.u16(options.linkType);
    this.out.u16(0); // reserved
    this.out.u32(snapLength);
    this.text(Option.InterfaceName, options.name);
    this.text(Option.InterfaceDescription, options.description);
    this.option(Option.TimestampResolution, NANOSECOND_RESOLUTION);
    this.endOfOptions();
    this.finish(start);
    this.snapLengths.push(snapLength);
    return this.snapLengths.length - 1;
  }

  /**
   * Appends the packet `bytes[start, end)` seen at `seconds` + `nanoseconds` since the epoch (or since the start of a
   * simulation). Throws ERR_ROCE_ARGUMENT for an interface that was not added.
   */
  packet(
    interfaceIndex: number,
    bytes: Uint8Array,
    start: number,
    end: number,
    seconds: number,
    nanoseconds: number,
    options: PcapngPacketOptions = NO_OPTIONS,
  ): void {
    const snapLength = this.snapLengths[interfaceIndex];
    if (snapLength === undefined) {
      throw new RoceError('ERR_ROCE_ARGUMENT', `capture interface ${interfaceIndex} was not added to this writer`);
    }
    const length = end - start;
    const kept = snapLength > 0 ? Math.min(length, snapLength) : length;
    const block = this.begin(BlockType.EnhancedPacket);
    this.out.u32(interfaceIndex);
    this.timestamp(seconds, nanoseconds);
    this.out.u32(kept);
    this.out.u32(options.originalLength ?? length);
    this.out.copy(bytes, start, start + kept);
    this.out.pad4();
    this.packetOptions(options);
    this.finish(block);
  }

  /** Bytes that `take` would return: a caller that streams takes them when there are enough. */
  get pendingBytes(): number {
    return this.out.length;
  }

  /** All blocks written since the last call, whole blocks only; append them to the file. */
  take(): Uint8Array {
    return this.out.take();
  }

  private begin(type: number): number {
    const start = this.out.length;
    this.out.u32(type);
    this.out.u32(0); // total length, known in `finish`
    return start;
  }

  private finish(start: number): void {
    const total = this.out.length + 4 - start;
    this.out.patchU32(start + 4, total);
    this.out.u32(total);
  }

  // seconds * 1e9 + nanoseconds as two 32-bit words without BigInt: both products below stay under 2^53.
  private timestamp(seconds: number, nanoseconds: number): void {
    const low = (seconds % 0x1_0000) * 1e9 + nanoseconds;
    const high = Math.floor(seconds / 0x1_0000) * 1e9 + Math.floor(low / 0x1_0000);
    this.out.u32(Math.floor(high / 0x1_0000));
    this.out.u32((high % 0x1_0000) * 0x1_0000 + (low % 0x1_0000));
  }

  private packetOptions(options: PcapngPacketOptions): void {
    const direction = options.direction ?? 0;
    const comments = options.comments ?? NO_COMMENTS;
    if (direction === 0 && comments.length === 0) return;
    for (const comment of comments) this.text(Option.Comment, comment);
    if (direction !== 0) this.option(Option.PacketFlags, new Uint8Array([direction, 0, 0, 0]));
    this.endOfOptions();
  }

  private text(code: number, value: string | undefined): void {
    if (value !== undefined && value !== '') this.option(code, ByteBuilder.utf8(value, LONGEST_OPTION_BYTES));
  }

  private option(code: number, value: Uint8Array): void {
    this.out.u16(code);
    this.out.u16(value.length);
    this.out.copy(value, 0, value.length);
    this.out.pad4();
  }

  private endOfOptions(): void {
    this.out.u32(0);
  }
}

const NANOSECOND_RESOLUTION = new Uint8Array([9]);
const LONGEST_OPTION_BYTES = 0xffff;
const NO_OPTIONS: PcapngPacketOptions = {};
const NO_COMMENTS: readonly string[] = [];
