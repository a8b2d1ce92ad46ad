/**
 * The pcapng format behind `CaptureReader`: several sections, each in its own byte order, several interfaces, packets in
 * enhanced, simple and (obsolete) packet blocks. Every other block is skipped.
 *
 * Owns blocks and options. Never does I/O. Source: draft-ietf-opsawg-pcapng.
 *
 * ```
 * block:   type 4 | total length 4 | body, a multiple of 4 | total length 4
 * option:  code 2 | length 2 | value, padded to 4
 * ```
 */

import { invariant } from '../packets/errors.ts';
import type { ByteQueue } from './byte-queue.ts';
import { captureError, LARGEST_RECORD_BYTES } from './capture-error.ts';
import type { CaptureFormat } from './capture-format.ts';
import { BLOCK_OVERHEAD_BYTES, BlockType, BYTE_ORDER_MAGIC, Option } from './pcapng-blocks.ts';
import { PcapngInterface } from './pcapng-interface.ts';
import { type OptionVisitor, optionText, readOptions } from './pcapng-options.ts';
import { type CapturedPacket, type CaptureInterface, Direction } from './types.ts';

export class PcapngFormat implements CaptureFormat {
  readonly interfaces: CaptureInterface[] = [];
  private readonly all: PcapngInterface[] = [];
  private littleEndian = true;
  /** Interface numbers in the file count from the start of their section. */
  private sectionFirstInterface = 0;
  private packets = 0;

  next(queue: ByteQueue): CapturedPacket | undefined {
    for (;;) {
      const length = this.blockLength(queue);
      if (length === 0) return undefined;
      const block = new Block(queue, length, this.littleEndian);
      const packet = this.readBlock(block);
      queue.consume(length);
      if (packet !== undefined) return packet;
    }
  }

  /** Total length of the block at the head of the queue once all of it is there, otherwise 0. */
  private blockLength(queue: ByteQueue): number {
    if (queue.length < BLOCK_OVERHEAD_BYTES) return 0;
    const { view, start, offset } = queue;
    if (view.getUint32(start) === BlockType.SectionHeader) {
      // The one block whose byte order is not known before it is read.
      const magic = view.getUint32(start + 8, true);
      if (magic !== BYTE_ORDER_MAGIC && magic !== SWAPPED_BYTE_ORDER_MAGIC) {
        throw captureError(offset + 8, 'the section header has no byte-order magic');
      }
      this.littleEndian = magic === BYTE_ORDER_MAGIC;
    }
    const length = view.getUint32(start + 4, this.littleEndian);
    if (length < BLOCK_OVERHEAD_BYTES || length % 4 !== 0 || length > LARGEST_RECORD_BYTES) {
      throw captureError(offset + 4, `a block length of ${length} is not valid`);
    }
    if (queue.length < length) return 0;
    const repeated = view.getUint32(start + length - 4, this.littleEndian);
    if (repeated !== length) {
      throw captureError(offset + length - 4, `a block of ${length} bytes ends with the length ${repeated}`);
    }
    return length;
  }

  private readBlock(block: Block): CapturedPacket | undefined {
    switch (block.type) {
      case BlockType.SectionHeader:
        this.startSection(block);
        return undefined;
      case BlockType.InterfaceDescription:
        this.addInterface(block);
        return undefined;
      case BlockType.EnhancedPacket:
        return this.enhancedPacket(block);
      case BlockType.Packet:
        return this.obsoletePacket(block);
      case BlockType.SimplePacket:
        return this.simplePacket(block);
      default:
        return undefined;
    }
  }

  private startSection(block: Block): void {
    block.require(SECTION_FIXED_BYTES);
    const major = block.u16(4);
    if (major !== 1) throw captureError(block.offsetOf(4), `pcapng version ${major} is not known`);
    this.sectionFirstInterface = this.all.length;
  }

  private addInterface(block: Block): void {
    block.require(INTERFACE_FIXED_BYTES);
    if (this.all.length >= MOST_INTERFACES) {
      throw captureError(block.offsetOf(0), `more than ${MOST_INTERFACES} interfaces are not believable`);
    }
    const added = new PcapngInterface(block.u16(0), block.u32(4));
    block.options(INTERFACE_FIXED_BYTES, (code, view, at, length, littleEndian) =>
      added.option(code, view, at, length, littleEndian),
    );
    this.all.push(added);
    this.interfaces.push(added);
  }

  // interface 4 | time high 4 | time low 4 | captured length 4 | original length 4 | bytes, padded | options
  private enhancedPacket(block: Block): CapturedPacket {
    return this.timedPacket(block, block.require(PACKET_FIXED_BYTES).u32(0));
  }

  // As above, but interface 2 | drops 2; its flags option has the same code and meaning.
  private obsoletePacket(block: Block): CapturedPacket {
    return this.timedPacket(block, block.require(PACKET_FIXED_BYTES).u16(0));
  }

  private timedPacket(block: Block, sectionInterface: number): CapturedPacket {
    const captured = block.u32(12);
    const optionsAt = PACKET_FIXED_BYTES + padded(captured);
    if (optionsAt > block.bodyLength) {
      throw captureError(block.offsetOf(12), `a packet of ${captured} bytes does not fit into its block`);
    }
    const interfaceIndex = this.interfaceIndex(block, sectionInterface);
    let flags = 0;
    let comments: string[] | undefined;
    block.options(optionsAt, (code, view, at, length, littleEndian) => {
      if (code === Option.PacketFlags && length === 4) flags = view.getUint32(at, littleEndian);
      if (code === Option.Comment) {
        comments ??= [];
        comments.push(optionText(view, at, length));
      }
    });
    const [seconds, nanoseconds] = this.interfaceAt(interfaceIndex).time(block.u32(4), block.u32(8));
    return {
      number: ++this.packets,
      seconds,
      nanoseconds,
      bytes: block.bytes(PACKET_FIXED_BYTES, captured),
      originalLength: block.u32(16),
      linkType: this.interfaceAt(interfaceIndex).linkType,
      interfaceIndex,
      direction: directionOf(flags),
      comments: comments ?? NO_COMMENTS,
    };
  }

  // original length 4 | bytes. No time, and the captured length follows from the interface's snap length.
  private simplePacket(block: Block): CapturedPacket {
    block.require(4);
    const interfaceIndex = this.interfaceIndex(block, 0);
    const { snapLength, linkType } = this.interfaceAt(interfaceIndex);
    const originalLength = block.u32(0);
    const captured = snapLength > 0 ? Math.min(originalLength, snapLength) : originalLength;
    if (4 + padded(captured) > block.bodyLength) {
      throw captureError(block.offsetOf(0), `a packet of ${captured} bytes does not fit into its block`);
    }
    return {
      number: ++this.packets,
      seconds: 0,
      nanoseconds: 0,
      bytes: block.bytes(4, captured),
      originalLength,
      linkType,
      interfaceIndex,
      direction: Direction.Unknown,
      comments: NO_COMMENTS,
    };
  }

  private interfaceIndex(block: Block, sectionInterface: number): number {
    const index = this.sectionFirstInterface + sectionInterface;
    if (index >= this.all.length) {
      throw captureError(block.offsetOf(0), `a packet names interface ${sectionInterface}, which was not described`);
    }
    return index;
  }

  private interfaceAt(index: number): PcapngInterface {
    const found = this.all[index];
    invariant(found !== undefined, 'interface indices are checked where they are read');
    return found;
  }
}

/** The body of one whole block: offsets count from behind type and length. */
class Block {
  readonly type: number;
  readonly bodyLength: number;
  private readonly queue: ByteQueue;
  private readonly body: number;
  private readonly littleEndian: boolean;

  constructor(queue: ByteQueue, length: number, littleEndian: boolean) {
    this.type = queue.view.getUint32(queue.start, littleEndian);
    this.bodyLength = length - BLOCK_OVERHEAD_BYTES;
    this.queue = queue;
    this.body = queue.start + 8;
    this.littleEndian = littleEndian;
  }

  u16(at: number): number {
    return this.queue.view.getUint16(this.body + at, this.littleEndian);
  }

  u32(at: number): number {
    return this.queue.view.getUint32(this.body + at, this.littleEndian);
  }

  bytes(at: number, length: number): Uint8Array {
    return this.queue.bytes.subarray(this.body + at, this.body + at + length);
  }

  /** Position in the file, for error messages. */
  offsetOf(at: number): number {
    return this.queue.offset + 8 + at;
  }

  require(bytes: number): this {
    if (this.bodyLength < bytes)
      throw captureError(this.offsetOf(0), `a block is shorter than its ${bytes} fixed bytes`);
    return this;
  }

  options(from: number, visit: OptionVisitor): void {
    const at = this.body + from;
    const bad = readOptions(this.queue.view, at, this.body + this.bodyLength, this.littleEndian, visit);
    if (bad !== -1) throw captureError(this.offsetOf(from + bad - at), 'an option does not fit into its block');
  }
}

function directionOf(flags: number): Direction {
  const bits = flags & 3;
  return bits === Direction.Inbound || bits === Direction.Outbound ? bits : Direction.Unknown;
}

function padded(length: number): number {
  return Math.ceil(length / 4) * 4;
}

const SWAPPED_BYTE_ORDER_MAGIC = 0x4d3c_2b1a;
const SECTION_FIXED_BYTES = 16;
const INTERFACE_FIXED_BYTES = 8;
const PACKET_FIXED_BYTES = 20;
const MOST_INTERFACES = 65_536;
const NO_COMMENTS: readonly string[] = [];
