/**
 * The seams of `CaptureReader`: to the file formats it reads, and to whoever copies what it reads.
 */

import type { ByteQueue } from './byte-queue.ts';
import type { Block } from './pcapng-block.ts';
import type { PlacedPacket } from './placed-packet.ts';
import type { CapturedPacket, CaptureInterface, CaptureSection } from './types.ts';

/** What each file format does behind `CaptureReader`. */
export interface CaptureFormat {
  readonly name: 'pcap' | 'pcapng';
  readonly interfaces: readonly CaptureInterface[];
  readonly sections: readonly CaptureSection[];
  /** Names by address in text form. */
  readonly names: ReadonlyMap<string, readonly string[]>;
  /** Where in the file the bytes of the packet begin that `next` returned last. */
  readonly packetOffset: number;
  /**
   * Consumes records up to and including the next packet: the same object each time. Undefined when the queue holds no
   * further whole packet.
   */
  next(queue: ByteQueue): PlacedPacket | undefined;
}

/**
 * Receives everything that a reader reads, so that it can be written again unchanged. The arguments are valid during
 * the call only.
 */
export interface RecordSink {
  /** The file header of a classic pcap file. */
  pcapHeader(described: CaptureInterface): void;
  /** A whole pcapng block that is no packet, after its lengths were checked. */
  block(block: Block): void;
  /**
   * The block of the packet that `next` is about to return. Its options begin at `optionsAt` of the body; -1: it has
   * none.
   */
  packetBlock(block: Block, packet: CapturedPacket, optionsAt: number): void;
  /** A packet without a block, of a classic pcap file, that `next` is about to return. */
  packetRecord(packet: CapturedPacket): void;
}
