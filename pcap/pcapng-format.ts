/**
 * The pcapng format for `CaptureReader`: several sections, each in its own byte order, several interfaces, packets in
 * enhanced, simple and (obsolete) packet blocks, names, statistics. Every other block is skipped.
 *
 * Owns the list of blocks and their effect on the reader. Does no I/O. Source: draft-ietf-opsawg-pcapng.
 */

import { invariant } from '../packets/errors.ts';
import type { ByteQueue } from './byte-queue.ts';
import { captureError, LARGEST_RECORD_BYTES } from './capture-error.ts';
import type { CaptureFormat, RecordSink } from './capture-format.ts';
import { Block } from './pcapng-block.ts';
import {
  BLOCK_OVERHEAD_BYTES,
  BlockType,
  BYTE_ORDER_MAGIC,
  Option,
  PACKET_FIXED_BYTES,
  padded,
  SECTION_FIXED_BYTES,
} from './pcapng-blocks.ts';
import { INTERFACE_FIXED_BYTES, keepComment, PcapngInterface, STATISTICS_FIXED_BYTES } from './pcapng-interface.ts';
import { readNames } from './pcapng-names.ts';
import { PlacedPacket } from './placed-packet.ts';
import { TextBudget } from './text-budget.ts';
import { type CaptureSection, Direction } from './types.ts';

export class PcapngFormat implements CaptureFormat {
  readonly name = 'pcapng';
  readonly interfaces: PcapngInterface[] = [];
  readonly sections: CaptureSection[] = [];
  readonly names = new Map<string, string[]>();
  packetOffset = 0;
  private readonly sink: RecordSink | undefined;
  private readonly budget = new TextBudget();
  private readonly block = new Block();
  private readonly packet = new PlacedPacket();
  private littleEndian = true;
  /** Interface numbers in the file count from the start of their section. */
  private sectionFirstInterface = 0;
  /** Packets, and other blocks that Wireshark gives numbers to. */
  private numbered = 0;

  constructor(sink: RecordSink | undefined) {
    this.sink = sink;
  }

  next(queue: ByteQueue): PlacedPacket | undefined {
    for (;;) {
      const length = this.blockLength(queue);
      if (length === 0) return undefined;
      this.block.load(queue, length, this.littleEndian);
      const packet = this.readBlock(this.block);
      queue.consume(length);
      if (packet !== undefined) return packet;
      this.sink?.block(this.block);
    }
  }

  /** Total length of the block at the head of the queue once all of it is there, otherwise 0. */
  private blockLength(queue: ByteQueue): number {
    if (!queue.has(BLOCK_OVERHEAD_BYTES)) return 0;
    const { offset } = queue;
    if (queue.view.getUint32(queue.start) === BlockType.SectionHeader) {
      // The one block whose byte order is not known before it is read.
      const magic = queue.view.getUint32(queue.start + 8, true);
      if (magic !== BYTE_ORDER_MAGIC && magic !== SWAPPED_BYTE_ORDER_MAGIC) {
        throw captureError(offset + 8, 'the section header has no byte-order magic');
      }
      this.littleEndian = magic === BYTE_ORDER_MAGIC;
    }
    const length = queue.view.getUint32(queue.start + 4, this.littleEndian);
    if (length < BLOCK_OVERHEAD_BYTES || length % 4 !== 0 || length > LARGEST_RECORD_BYTES) {
      throw captureError(offset + 4, `a block length of ${length} is not valid`);
    }
    if (!queue.has(length)) return 0;
    // Only now is the whole block in one place, which may be another than before.
    const repeated = queue.view.getUint32(queue.start + length - 4, this.littleEndian);
    if (repeated !== length) {
      throw captureError(offset + length - 4, `a block of ${length} bytes ends with the length ${repeated}`);
    }
    return length;
  }

  private readBlock(block: Block): PlacedPacket | undefined {
    switch (block.type) {
      case BlockType.EnhancedPacket:
        return this.timedPacket(block, block.require(PACKET_FIXED_BYTES).u32(0), NO_DROP_COUNT);
      case BlockType.Packet:
        // As above, but interface 2 | drops 2; its options have the same codes and meanings.
        return this.timedPacket(block, block.require(PACKET_FIXED_BYTES).u16(0), block.u16(2));
      case BlockType.SimplePacket:
        return this.simplePacket(block);
      case BlockType.SectionHeader:
        this.startSection(block);
        return undefined;
      case BlockType.InterfaceDescription:
        this.addInterface(block);
        return undefined;
      case BlockType.InterfaceStatistics:
        this.readStatistics(block);
        return undefined;
      case BlockType.NameResolution:
        readNames(block, this.budget, this.names);
        return undefined;
      case BlockType.Custom:
      case BlockType.CustomNotCopied:
      case BlockType.SystemdJournal:
        // Observed with tshark 4.0.17: Wireshark counts these as records, and the packets after them are numbered
        // accordingly.
        this.numbered++;
        return undefined;
      default:
        return undefined;
    }
  }

  private startSection(block: Block): void {
    block.require(SECTION_FIXED_BYTES);
    const major = block.u16(4);
    if (major !== 1) throw captureError(block.offsetOf(4), `pcapng version ${major} is not known`);
    if (this.sections.length >= MOST_SECTIONS) {
      throw captureError(block.offsetOf(0), `more than ${MOST_SECTIONS} sections are not believable`);
    }
    const texts = { hardware: '', operatingSystem: '', application: '' };
    const comments: string[] = [];
    block.optionsAt(SECTION_FIXED_BYTES);
    while (block.nextOption()) {
      const text = SECTION_TEXTS.get(block.code);
      if (text !== undefined) texts[text] = this.budget.keep(block.optionText());
      else if (block.code === Option.Comment) keepComment(block, this.budget, comments);
    }
    this.sections.push({ ...texts, comments, littleEndian: this.littleEndian });
    this.sectionFirstInterface = this.interfaces.length;
  }

  private addInterface(block: Block): void {
    block.require(INTERFACE_FIXED_BYTES);
    if (this.interfaces.length >= MOST_INTERFACES) {
      throw captureError(block.offsetOf(0), `more than ${MOST_INTERFACES} interfaces are not believable`);
    }
    this.interfaces.push(new PcapngInterface(block, this.sections.length - 1, this.budget));
  }

  private readStatistics(block: Block): void {
    const index = this.interfaceIndex(block, block.require(STATISTICS_FIXED_BYTES).u32(0), 'a statistics block');
    this.interfaceAt(index).readStatistics(block, this.budget);
  }

  // interface 4 | time high 4 | time low 4 | captured length 4 | original length 4 | bytes, padded | options
  private timedPacket(block: Block, sectionInterface: number, drops: number): PlacedPacket {
    const captured = block.u32(12);
    const optionsAt = PACKET_FIXED_BYTES + padded(captured);
    if (optionsAt > block.bodyLength) {
      throw captureError(block.offsetOf(12), `a packet of ${captured} bytes does not fit into its block`);
    }
    const interfaceIndex = this.interfaceIndex(block, sectionInterface);
    const { packet } = this;
    readOptions(block, optionsAt, packet);
    if (drops !== NO_DROP_COUNT) packet.dropCount ??= drops;
    const { linkType, clock } = this.interfaceAt(interfaceIndex);
    clock.read(block.u32(4), block.u32(8));
    this.packetOffset = block.offsetOf(PACKET_FIXED_BYTES);
    packet.number = ++this.numbered;
    packet.seconds = clock.seconds;
    packet.nanoseconds = clock.nanoseconds;
    if (packet.memory !== block.memory) packet.memory = block.memory;
    packet.at = block.body + PACKET_FIXED_BYTES;
    packet.captured = captured;
    packet.originalLength = block.u32(16);
    packet.linkType = linkType;
    packet.interfaceIndex = interfaceIndex;
    this.sink?.packetBlock(block, packet, optionsAt);
    return packet;
  }

  // original length 4 | bytes. No time, and the captured length follows from the interface's snap length.
  private simplePacket(block: Block): PlacedPacket {
    block.require(SIMPLE_PACKET_FIXED_BYTES);
    const interfaceIndex = this.interfaceIndex(block, 0);
    const { snapLength, linkType } = this.interfaceAt(interfaceIndex);
    const originalLength = block.u32(0);
    const captured = snapLength > 0 ? Math.min(originalLength, snapLength) : originalLength;
    if (SIMPLE_PACKET_FIXED_BYTES + padded(captured) > block.bodyLength) {
      throw captureError(block.offsetOf(0), `a packet of ${captured} bytes does not fit into its block`);
    }
    this.packetOffset = block.offsetOf(SIMPLE_PACKET_FIXED_BYTES);
    const { packet } = this;
    forgetOptions(packet);
    packet.number = ++this.numbered;
    packet.seconds = 0;
    packet.nanoseconds = 0;
    packet.memory = block.memory;
    packet.at = block.body + SIMPLE_PACKET_FIXED_BYTES;
    packet.captured = captured;
    packet.originalLength = originalLength;
    packet.linkType = linkType;
    packet.interfaceIndex = interfaceIndex;
    this.sink?.packetBlock(block, packet, -1);
    return packet;
  }

  private interfaceIndex(block: Block, sectionInterface: number, what = 'a packet'): number {
    const index = this.sectionFirstInterface + sectionInterface;
    if (index >= this.interfaces.length) {
      throw captureError(block.offsetOf(0), `${what} names interface ${sectionInterface}, which was not described`);
    }
    return index;
  }

  private interfaceAt(index: number): PcapngInterface {
    const found = this.interfaces[index];
    invariant(found !== undefined, 'interface indices are checked where they are read');
    return found;
  }
}

function forgetOptions(packet: PlacedPacket): void {
  packet.direction = Direction.Unknown;
  packet.comments = NO_COMMENTS;
  packet.dropCount = undefined;
  packet.packetId = undefined;
}

/** Reads the options of a packet, without allocation where there are none. */
function readOptions(block: Block, at: number, packet: PlacedPacket): void {
  forgetOptions(packet);
  let comments: string[] | undefined;
  block.optionsAt(at);
  while (block.nextOption()) {
    const { code, valueAt, valueLength } = block;
    if (code === Option.Comment) {
      comments ??= [];
      comments.push(block.optionText());
      packet.comments = comments;
    }
    if (code === Option.PacketFlags && valueLength === 4) packet.direction = directionOf(block.u32(valueAt));
    else if (code === Option.PacketDropCount && valueLength === 8) packet.dropCount = Number(block.u64(valueAt));
    else if (code === Option.PacketId && valueLength === 8) packet.packetId = block.u64(valueAt);
  }
}

function directionOf(flags: number): Direction {
  const bits = flags & 3;
  return bits === Direction.Inbound || bits === Direction.Outbound ? bits : Direction.Unknown;
}

const SWAPPED_BYTE_ORDER_MAGIC = 0x4d3c_2b1a;
/** The original length. */
const SIMPLE_PACKET_FIXED_BYTES = 4;
const MOST_INTERFACES = 65_536;
const MOST_SECTIONS = 65_536;
/** In an obsolete packet block: the count is not known. */
const NO_DROP_COUNT = 0xffff;
const NO_COMMENTS: readonly string[] = [];
const SECTION_TEXTS: ReadonlyMap<number, 'hardware' | 'operatingSystem' | 'application'> = new Map([
  [Option.Hardware, 'hardware'],
  [Option.OperatingSystem, 'operatingSystem'],
  [Option.Application, 'application'],
]);
