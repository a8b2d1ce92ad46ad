/**
 * Reads capture files: classic pcap (both byte orders, micro- and nanoseconds) and pcapng, in one piece or in chunks.
 *
 * Owns format detection and the pull loop. Never does I/O, never decodes a packet, and for any bytes whatever throws
 * nothing but `RoceError` ERR_ROCE_CAPTURE, whose message names the byte offset. Memory is bounded: at most one
 * unfinished record (16 MiB) and the chunk pushed last are held, so a file of any size can be streamed.
 *
 * ```ts
 * const reader = new CaptureReader();
 * for await (const chunk of stream) {
 *   reader.push(chunk);
 *   for (let packet = reader.next(); packet !== undefined; packet = reader.next()) use(packet);
 * }
 * reader.end();
 * ```
 */

import { RoceError } from '../packets/errors.ts';
import { ByteQueue } from './byte-queue.ts';
import type { CaptureCopy } from './capture-copy.ts';
import { captureError } from './capture-error.ts';
import type { CaptureFormat, RecordSink } from './capture-format.ts';
import { foreignFile } from './foreign-files.ts';
import { PcapFormat, pcapVariant } from './pcap-format.ts';
import { BlockType } from './pcapng-blocks.ts';
import { PcapngFormat } from './pcapng-format.ts';
import { ownPacket, type PlacedPacket } from './placed-packet.ts';
import type { CapturedPacket, CaptureInterface, CaptureSection } from './types.ts';

/**
 * Reads one capture file, pcap or pcapng.
 *
 * @example
 * ```ts
 * import { CaptureReader, LinkType, PcapngWriter } from 'rocev2/pcap';
 *
 * const file = new PcapngWriter({ application: 'example' });
 * const wire = file.addInterface({ name: 'wire', linkType: LinkType.Ethernet });
 * file.packet(wire, Uint8Array.of(2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5), 0, 14, 1, 500);
 * const bytes = file.take();
 * const reader = new CaptureReader();
 * // Pieces of any size, as they come from a file or a pipe.
 * reader.push(bytes.subarray(0, 50));
 * console.log(reader.next()); // undefined
 * reader.push(bytes.subarray(50));
 * console.log(reader.next()?.bytes.length); // 14
 * reader.end();
 * ```
 */
export class CaptureReader {
  private readonly queue = new ByteQueue();
  private readonly sink: RecordSink | undefined;
  private format: CaptureFormat | undefined;
  private ended = false;

  /**
   * A reader at the start of a file.
   *
   * @param copy can keep packets that this reader returns, and receives everything else in the file; one copy for one
   * reader
   */
  constructor(copy?: CaptureCopy) {
    this.sink = copy;
  }

  /**
   * Where in the file the bytes of the packet begin that `next` returned last; 0 before the first. They lie there in
   * one piece, so that whoever can read the file again need not keep them.
   */
  get packetOffset(): number {
    return this.format?.packetOffset ?? 0;
  }

  /** Which format it is; undefined before the first four bytes are there. */
  get formatName(): 'pcap' | 'pcapng' | undefined {
    return this.format?.name;
  }

  /** Interfaces described so far. In pcapng more can follow at any time. */
  get interfaces(): readonly CaptureInterface[] {
    return this.format?.interfaces ?? [];
  }

  /**
   * Headers of the sections so far: the application that made the file, and comments on it. A classic pcap file has
   * none.
   */
  get sections(): readonly CaptureSection[] {
    return this.format?.sections ?? [];
  }

  /** Names in the file so far, by address as text: "10.0.0.1", "fe80::1", "52:54:00:00:00:01". */
  get names(): ReadonlyMap<string, readonly string[]> {
    return this.format?.names ?? NO_NAMES;
  }

  /**
   * Appends the next bytes of the file. The reader may keep `chunk` and return views of it: do not change it
   * afterwards.
   */
  push(chunk: Uint8Array): void {
    if (this.ended) throw new RoceError('ERR_ROCE_STATE', 'bytes were pushed after the end of the capture');
    this.queue.push(chunk);
  }

  /**
   * The next packet, or undefined when more bytes are needed. Throws ERR_ROCE_CAPTURE where the file is malformed,
   * after all packets before that place were returned. Nothing after that place is read.
   */
  next(): CapturedPacket | undefined {
    const packet = this.nextPlaced();
    return packet === undefined ? undefined : ownPacket(packet);
  }

  /**
   * As `next`, but the same object each time, for those who look at a packet once and are in a hurry.
   *
   * @internal
   */
  nextPlaced(): PlacedPacket | undefined {
    this.format ??= detectFormat(this.queue, this.sink);
    return this.format?.next(this.queue);
  }

  /** No more bytes will come. Throws ERR_ROCE_CAPTURE when the file stops inside a record or is no capture at all. */
  end(): void {
    this.ended = true;
    if (this.queue.length > 0) {
      throw captureError(this.queue.offset, `the file ends inside a record, ${this.queue.length} bytes into it`);
    }
    if (this.format === undefined) throw captureError(0, 'the file is empty');
  }
}

/**
 * All packets of a capture file that is in memory. Throws ERR_ROCE_CAPTURE at the first malformed record, after every
 * packet before it was yielded: a capture that was cut short still shows what it has.
 */
export function* readCapture(bytes: Uint8Array): Generator<CapturedPacket, void, undefined> {
  const reader = new CaptureReader();
  reader.push(bytes);
  for (let packet = reader.next(); packet !== undefined; packet = reader.next()) yield packet;
  reader.end();
}

function detectFormat(queue: ByteQueue, sink: RecordSink | undefined): CaptureFormat | undefined {
  if (!queue.has(4)) return undefined;
  const big = queue.view.getUint32(queue.start);
  if (big === BlockType.SectionHeader) return new PcapngFormat(sink);
  const variant = pcapVariant(queue.view.getUint32(queue.start, true), big);
  if (variant !== undefined) return new PcapFormat(variant, sink);
  const hex = big.toString(16).padStart(8, '0');
  throw captureError(0, foreignFile(big) ?? `0x${hex} is neither the start of a pcap nor of a pcapng file`);
}

const NO_NAMES: ReadonlyMap<string, readonly string[]> = new Map();
