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
import { captureError } from './capture-error.ts';
import type { CaptureFormat } from './capture-format.ts';
import { PcapFormat } from './pcap-format.ts';
import { PCAP_MAGIC_MICROSECONDS, PCAP_MAGIC_NANOSECONDS } from './pcap-writer.ts';
import { BlockType } from './pcapng-blocks.ts';
import { PcapngFormat } from './pcapng-format.ts';
import type { CapturedPacket, CaptureInterface } from './types.ts';

/** Reads one capture file, pcap or pcapng. */
export class CaptureReader {
  private readonly queue = new ByteQueue();
  private format: CaptureFormat | undefined;
  private ended = false;

  /** Interfaces described so far. In pcapng more can follow at any time. */
  get interfaces(): readonly CaptureInterface[] {
    return this.format?.interfaces ?? [];
  }

  /** Appends the next bytes of the file. The reader may keep and hand out `chunk` itself: do not change it afterwards. */
  push(chunk: Uint8Array): void {
    if (this.ended) throw new RoceError('ERR_ROCE_STATE', 'bytes were pushed after the end of the capture');
    this.queue.push(chunk);
  }

  /** The next packet, or undefined when more bytes are needed. Throws ERR_ROCE_CAPTURE when the file is malformed. */
  next(): CapturedPacket | undefined {
    this.format ??= detectFormat(this.queue);
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

function detectFormat(queue: ByteQueue): CaptureFormat | undefined {
  if (queue.length < 4) return undefined;
  const big = queue.view.getUint32(queue.start);
  if (big === BlockType.SectionHeader) return new PcapngFormat();
  const little = queue.view.getUint32(queue.start, true);
  for (const [magic, littleEndian] of [
    [little, true],
    [big, false],
  ] as const) {
    if (magic === PCAP_MAGIC_MICROSECONDS) return new PcapFormat(littleEndian, 1_000);
    if (magic === PCAP_MAGIC_NANOSECONDS) return new PcapFormat(littleEndian, 1);
  }
  if (big >>> 16 === GZIP_MAGIC) throw captureError(0, 'the file is compressed with gzip: decompress it first');
  throw captureError(0, `0x${big.toString(16).padStart(8, '0')} is neither the start of a pcap nor of a pcapng file`);
}

const GZIP_MAGIC = 0x1f8b;
