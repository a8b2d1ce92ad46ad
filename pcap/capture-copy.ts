/**
 * Copies a capture while it is read: packets that the caller keeps, with added comments, and everything else in the
 * file unchanged.
 *
 * Owns the way from what `CaptureReader` reads to the bytes of another file. A pcapng file is copied block by block in
 * its own byte orders, blocks and options of unknown types too. A classic pcap file becomes pcapng, which can hold
 * comments. Does no I/O.
 * Source: draft-ietf-opsawg-pcapng. Blocks and options that it forbids to copy into a changed file (custom ones) are
 * left out, and a section no longer has its length.
 *
 * ```ts
 * const copy = new CaptureCopy();
 * const reader = new CaptureReader(copy);
 * reader.push(chunk);
 * for (let packet = reader.next(); packet !== undefined; packet = reader.next()) {
 *   if (wanted(packet)) copy.keep(packet, ['what is remarkable about it']);
 * }
 * file.write(copy.take());
 * ```
 */
import { RoceError } from '../packets/errors.ts';
import { BlockWriter } from './block-writer.ts';
import { ByteBuilder } from './byte-builder.ts';
import { Block } from './pcapng-block.ts';
import { BlockType, OPTION_HEADER_BYTES, Option, padded, SECTION_FIXED_BYTES } from './pcapng-blocks.ts';
import { type PcapngSectionOptions, PcapngWriter } from './pcapng-writer.ts';
import type { CapturedPacket, CaptureInterface } from './types.ts';

/**
 * Given to one `CaptureReader`, whose `RecordSink` it is, keeps what that reads.
 *
 * @example
 * ```ts
 * import { CaptureCopy, CaptureReader, LinkType, PcapngWriter } from 'rocev2/pcap';
 *
 * const file = new PcapngWriter({ application: 'example' });
 * const wire = file.addInterface({ name: 'wire', linkType: LinkType.Ethernet });
 * for (const length of [60, 100]) file.packet(wire, new Uint8Array(length), 0, length, 1, 500);
 * const copy = new CaptureCopy();
 * const reader = new CaptureReader(copy);
 * reader.push(file.take());
 * for (let packet = reader.next(); packet !== undefined; packet = reader.next()) {
 *   if (packet.bytes.length > 60) copy.keep(packet, ['long']);
 * }
 * const kept = new CaptureReader();
 * kept.push(copy.take());
 * const packet = kept.next();
 * console.log(packet?.bytes.length, packet?.comments.join(), kept.next()); // 100 long undefined
 * ```
 */
export class CaptureCopy {
  private readonly out = new ByteBuilder();
  private readonly blocks = new BlockWriter(this.out);
  private readonly section: PcapngSectionOptions;
  private readonly pending = new Block();
  /** Number of the packet that may be kept; 0: none. */
  private pendingNumber = 0;
  /** Where the options of `pending` begin in its body; -1: a simple packet block has none. */
  private pendingOptionsAt = -1;
  /** Instead of `pending` where the file is a classic pcap. */
  private plainPacket: CapturedPacket | undefined;
  private sections = 0;

  /**
   * An empty copy.
   *
   * @param section its comments are added to the first section header; its other strings are used in the header for a
   * classic pcap file
   */
  constructor(section: PcapngSectionOptions = {}) {
    this.section = section;
  }

  /**
   * Writes the packet that the reader returned last, with `comments` after those that it has. Throws ERR_ROCE_STATE for
   * any other packet, or when it was kept already.
   */
  keep(packet: CapturedPacket, comments: readonly string[] = NO_COMMENTS): void {
    if (packet.number !== this.pendingNumber) {
      throw new RoceError(
        'ERR_ROCE_STATE',
        `packet ${packet.number} is not the one that was read last, or was kept already`,
      );
    }
    this.pendingNumber = 0;
    const { pending, pendingOptionsAt } = this;
    if (this.plainPacket !== undefined) this.writeAsPacketBlock(this.plainPacket, true, comments);
    else if (pendingOptionsAt >= 0) this.withComments(pending, pendingOptionsAt, comments);
    else if (comments.length > 0) this.writeAsPacketBlock(packet, pending.littleEndian, comments);
    else this.verbatim(pending);
  }

  /** Bytes that `take` would return: a caller that streams takes them when there are enough. */
  get pendingBytes(): number {
    return this.out.length;
  }

  /** Everything copied since the last call, whole blocks only; append it to the file. */
  take(): Uint8Array {
    return this.out.take();
  }

  /** @internal */
  pcapHeader({ linkType, snapLength }: CaptureInterface): void {
    const writer = new PcapngWriter(this.section);
    writer.addInterface({ name: '', linkType, snapLength });
    this.out.append(writer.take());
  }

  /** @internal */
  block(block: Block): void {
    if (block.type === BlockType.CustomNotCopied) return;
    if (block.type === BlockType.SectionHeader) this.sectionHeader(block);
    else this.verbatim(block);
  }

  /** @internal */
  packetBlock(block: Block, packet: CapturedPacket, optionsAt: number): void {
    this.pending.assign(block);
    this.pendingOptionsAt = optionsAt;
    this.pendingNumber = packet.number;
  }

  /** @internal */
  packetRecord(packet: CapturedPacket): void {
    this.plainPacket = packet;
    this.pendingNumber = packet.number;
  }

  private verbatim({ memory, start, end }: Block): void {
    this.out.copy(memory, start, end);
  }

  private sectionHeader(block: Block): void {
    const at = this.out.length;
    this.withComments(block, SECTION_FIXED_BYTES, this.sections === 0 ? this.section.comments : NO_COMMENTS);
    this.sections++;
    this.out.patchU32(at + SECTION_LENGTH_AT, UNKNOWN_LENGTH);
    this.out.patchU32(at + SECTION_LENGTH_AT + 4, UNKNOWN_LENGTH);
  }

  /** The block with the comments behind its options; byte for byte where nothing is to be added or left out. */
  private withComments(block: Block, optionsAt: number, comments: readonly string[] = NO_COMMENTS): void {
    if (comments.length === 0 && !hasOptionNotCopied(block, optionsAt)) {
      this.verbatim(block);
      return;
    }
    this.out.littleEndian = block.littleEndian;
    this.blocks.begin(block.type);
    this.out.copy(block.memory, block.body, block.body + optionsAt);
    block.optionsAt(optionsAt);
    while (block.nextOption()) {
      const { valueAt, valueLength } = block;
      if (isNotCopied(block.code)) continue;
      const start = block.body + valueAt - OPTION_HEADER_BYTES;
      this.blocks.raw(block.memory, start, start + OPTION_HEADER_BYTES + padded(valueLength));
    }
    this.blocks.comments(comments);
    this.blocks.finish();
  }

  /** A packet that had no such block before. */
  private writeAsPacketBlock(packet: CapturedPacket, littleEndian: boolean, comments: readonly string[]): void {
    const { bytes, originalLength, seconds, nanoseconds } = packet;
    this.out.littleEndian = littleEndian;
    this.blocks.packet(0, bytes, 0, bytes.length, originalLength, seconds, nanoseconds, { comments });
  }
}

function hasOptionNotCopied(block: Block, optionsAt: number): boolean {
  block.optionsAt(optionsAt);
  while (block.nextOption()) if (isNotCopied(block.code)) return true;
  return false;
}

function isNotCopied(code: number): boolean {
  return code === Option.CustomTextNotCopied || code === Option.CustomBytesNotCopied;
}

/** Behind type, total length, byte-order magic and version. */
const SECTION_LENGTH_AT = 16;
const UNKNOWN_LENGTH = 0xffff_ffff;
const NO_COMMENTS: readonly string[] = [];
