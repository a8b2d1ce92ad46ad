/**
 * Writes pcapng: one section, any number of interfaces, nanosecond times, directions, comments, names, statistics.
 *
 * Owns the choice of blocks. It does no I/O and has no clock: blocks gather in memory until `take`, and times come from
 * the caller, so the same calls give the same file byte for byte. Little-endian on every host. Source:
 * draft-ietf-opsawg-pcapng.
 *
 * ```ts
 * const writer = new PcapngWriter({ application: 'roce' });
 * const wire = writer.addInterface({ name: 'wire', linkType: LinkType.Ethernet });
 * const comments = ['dropped on purpose'];
 * writer.packet(wire, bytes, 0, bytes.length, 12, 345, { direction: Direction.Outbound, comments });
 * file.write(writer.take());
 * ```
 */

import { IpAddress } from '../packets/address.ts';
import { RoceError } from '../packets/errors.ts';
import { BlockWriter, type PcapngPacketOptions } from './block-writer.ts';
import { ByteBuilder } from './byte-builder.ts';
import { BlockType, BYTE_ORDER_MAGIC, NameRecord, Option } from './pcapng-blocks.ts';
import type { InterfaceStatistics } from './types.ts';

export type { PcapngPacketOptions } from './block-writer.ts';

/** Strings of the section header; what is absent or empty is left out. */
export interface PcapngSectionOptions {
  /** Program that writes the file (shb_userappl). */
  readonly application?: string;
  /** Machine (shb_hardware). */
  readonly hardware?: string;
  /** Operating system (shb_os). */
  readonly operatingSystem?: string;
  /** A comment on the whole file. */
  readonly comment?: string;
  /** More of them. */
  readonly comments?: readonly string[];
}

/** An interface to be described; texts that are absent or empty are left out. */
export interface PcapngInterfaceOptions {
  /** Interface name as Wireshark shows it. */
  readonly name: string;
  /** What it is, in words (if_description). */
  readonly description?: string;
  /** See `LinkType`. */
  readonly linkType: number;
  /** Packets are cut to this many bytes; 0, the default, keeps all. */
  readonly snapLength?: number;
  /** Capture filter in the language of libpcap (if_filter). */
  readonly filter?: string;
  /** Hardware of the interface, in words (if_hardware). */
  readonly hardware?: string;
  /** Operating system of its machine (if_os). */
  readonly operatingSystem?: string;
  /** Bits per second (if_speed). */
  readonly speedBps?: number;
  /** Comments on it. */
  readonly comments?: readonly string[];
}

/**
 * Writes one pcapng file.
 *
 * @example
 * ```ts
 * import { CaptureReader, LinkType, PcapngWriter } from 'rocev2/pcap';
 *
 * const file = new PcapngWriter({ application: 'example' });
 * const wire = file.addInterface({ name: 'wire', linkType: LinkType.Ethernet });
 * file.packet(wire, Uint8Array.of(2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5), 0, 14, 1, 500);
 * const reader = new CaptureReader();
 * reader.push(file.take());
 * console.log(reader.next()?.nanoseconds, reader.interfaces[0]?.name); // 500 wire
 * ```
 */
export class PcapngWriter {
  private readonly out = new ByteBuilder();
  private readonly blocks = new BlockWriter(this.out);
  private readonly snapLengths: number[] = [];

  /** Writes the section header. */
  constructor(section: PcapngSectionOptions = {}) {
    this.blocks.begin(BlockType.SectionHeader);
    this.out.u32(BYTE_ORDER_MAGIC);
    this.out.u16(1); // major version
    this.out.u16(0); // minor version
    this.out.u32(0xffff_ffff); // section length unknown: it streams
    this.out.u32(0xffff_ffff);
    this.blocks.text(Option.Hardware, section.hardware);
    this.blocks.text(Option.OperatingSystem, section.operatingSystem);
    this.blocks.text(Option.Application, section.application);
    this.blocks.text(Option.Comment, section.comment);
    this.blocks.comments(section.comments);
    this.blocks.finish();
  }

  /** Describes one more interface; returns its index for `packet`. */
  addInterface(options: PcapngInterfaceOptions): number {
    const { snapLength = 0, filter = '' } = options;
    this.blocks.begin(BlockType.InterfaceDescription);
    this.out.u16(options.linkType);
    this.out.u16(0); // reserved
    this.out.u32(snapLength);
    this.blocks.text(Option.InterfaceName, options.name);
    this.blocks.text(Option.InterfaceDescription, options.description);
    this.blocks.bytes(Option.TimestampResolution, NANOSECOND_RESOLUTION);
    this.blocks.u64(Option.InterfaceSpeed, options.speedBps);
    // A leading zero byte marks text, in contrast to bytecode.
    if (filter !== '') this.blocks.text(Option.InterfaceFilter, `\0${filter}`);
    this.blocks.text(Option.InterfaceOperatingSystem, options.operatingSystem);
    this.blocks.text(Option.InterfaceHardware, options.hardware);
    this.blocks.comments(options.comments);
    this.blocks.finish();
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
    const snapLength = this.snapLengthOf(interfaceIndex);
    const length = end - start;
    const kept = snapLength > 0 ? Math.min(length, snapLength) : length;
    const original = options.originalLength ?? length;
    this.blocks.packet(interfaceIndex, bytes, start, kept, original, seconds, nanoseconds, options);
  }

  /**
   * Appends the statistics of an interface, usually at the end. Throws ERR_ROCE_ARGUMENT for an interface that was not
   * added.
   */
  statistics(interfaceIndex: number, statistics: InterfaceStatistics): void {
    this.snapLengthOf(interfaceIndex);
    const { blocks } = this;
    blocks.begin(BlockType.InterfaceStatistics);
    this.out.u32(interfaceIndex);
    blocks.timestamp(statistics.seconds, statistics.nanoseconds);
    blocks.time(Option.StatisticsStart, statistics.start);
    blocks.time(Option.StatisticsEnd, statistics.end);
    blocks.u64(Option.StatisticsReceived, statistics.received);
    blocks.u64(Option.StatisticsDropped, statistics.dropped);
    blocks.u64(Option.StatisticsAccepted, statistics.accepted);
    blocks.u64(Option.StatisticsDroppedByOs, statistics.droppedByOs);
    blocks.u64(Option.StatisticsDelivered, statistics.delivered);
    blocks.comments(statistics.comments);
    blocks.finish();
  }

  /**
   * Appends names of IPv4 and IPv6 addresses, which Wireshark shows instead of the addresses. A `Map` from address to
   * names is such a list. Throws ERR_ROCE_ADDRESS for an invalid address.
   */
  names(names: Iterable<readonly [address: string, names: readonly string[]]>): void {
    // All of them are parsed before anything is written: a refused list leaves no half of a block.
    const parsed = [...names].map(([text, list]) => ({ address: IpAddress.parse(text), list }));
    this.blocks.begin(BlockType.NameResolution);
    for (const { address, list } of parsed) {
      const bytes = new Uint8Array(address.version === 4 ? 4 : 16);
      address.write(new DataView(bytes.buffer), 0);
      for (const name of list) this.nameRecord(address.version === 4 ? NameRecord.Ipv4 : NameRecord.Ipv6, bytes, name);
    }
    this.out.u32(NameRecord.End);
    this.blocks.finish();
  }

  /**
   * Appends a block of any other type, such as a custom block (0xbad), whose body begins with the enterprise number of
   * its owner. `body` is padded to a multiple of four. Throws ERR_ROCE_ARGUMENT for sections and interfaces, which this
   * writer counts.
   */
  block(type: number, body: Uint8Array): void {
    if (type === BlockType.SectionHeader || type === BlockType.InterfaceDescription) {
      throw new RoceError('ERR_ROCE_ARGUMENT', `a pcapng block of type ${type} is not written as mere bytes`);
    }
    this.blocks.begin(type);
    this.out.append(body);
    this.out.pad4();
    this.blocks.finish();
  }

  /** Bytes that `take` would return: a caller that streams takes them when there are enough. */
  get pendingBytes(): number {
    return this.out.length;
  }

  /** All blocks written since the last call, whole blocks only; append them to the file. */
  take(): Uint8Array {
    return this.out.take();
  }

  private nameRecord(type: number, address: Uint8Array, name: string): void {
    const text = ByteBuilder.utf8(name.replaceAll('\0', ''), LONGEST_NAME_BYTES);
    if (text.length === 0) return;
    this.out.u16(type);
    this.out.u16(address.length + text.length + 1);
    this.out.append(address);
    this.out.append(text);
    this.out.u8(0);
    this.out.pad4();
  }

  private snapLengthOf(interfaceIndex: number): number {
    const snapLength = this.snapLengths[interfaceIndex];
    if (snapLength === undefined) {
      throw new RoceError('ERR_ROCE_ARGUMENT', `capture interface ${interfaceIndex} was not added to this writer`);
    }
    return snapLength;
  }
}

const NANOSECOND_RESOLUTION = new Uint8Array([9]);
/** With the address and a zero a record of 65,535 bytes at most. */
const LONGEST_NAME_BYTES = 0xffff - 17;
const NO_OPTIONS: PcapngPacketOptions = {};
