/**
 * The classic pcap format behind `CaptureReader`.
 *
 * Owns the file header and the record headers. Never does I/O. Source: draft-ietf-opsawg-pcap.
 *
 * ```
 * file header:   magic 4 | major 2 | minor 2 | zone 4 | accuracy 4 | snap length 4 | link type 4
 * record:        seconds 4 | fraction 4 | captured length 4 | original length 4 | bytes
 * ```
 */

import type { ByteQueue } from './byte-queue.ts';
import { captureError, LARGEST_RECORD_BYTES } from './capture-error.ts';
import type { CaptureFormat } from './capture-format.ts';
import { type CapturedPacket, type CaptureInterface, Direction } from './types.ts';

export class PcapFormat implements CaptureFormat {
  readonly interfaces: CaptureInterface[] = [];
  private readonly littleEndian: boolean;
  private readonly nanosecondsPerUnit: number;
  private packets = 0;

  /** `nanosecondsPerUnit`: 1,000 or 1, by the magic number of the file. */
  constructor(littleEndian: boolean, nanosecondsPerUnit: number) {
    this.littleEndian = littleEndian;
    this.nanosecondsPerUnit = nanosecondsPerUnit;
  }

  next(queue: ByteQueue): CapturedPacket | undefined {
    if (this.interfaces.length === 0 && !this.readFileHeader(queue)) return undefined;
    const linkType = this.interfaces[0]?.linkType;
    if (linkType === undefined || queue.length < RECORD_HEADER_BYTES) return undefined;
    const at = queue.start;
    const captured = queue.view.getUint32(at + 8, this.littleEndian);
    if (captured > LARGEST_RECORD_BYTES) {
      throw captureError(queue.offset + 8, `a packet of ${captured} bytes is not believable`);
    }
    if (queue.length < RECORD_HEADER_BYTES + captured) return undefined;

    const nanoseconds = queue.view.getUint32(at + 4, this.littleEndian) * this.nanosecondsPerUnit;
    const bytes = queue.bytes.subarray(at + RECORD_HEADER_BYTES, at + RECORD_HEADER_BYTES + captured);
    const packet: CapturedPacket = {
      number: ++this.packets,
      // Some writers let the fraction run past a second; carry it over.
      seconds: queue.view.getUint32(at, this.littleEndian) + Math.floor(nanoseconds / 1e9),
      nanoseconds: nanoseconds % 1e9,
      bytes,
      originalLength: queue.view.getUint32(at + 12, this.littleEndian),
      linkType,
      interfaceIndex: 0,
      direction: Direction.Unknown,
      comments: NO_COMMENTS,
    };
    queue.consume(RECORD_HEADER_BYTES + captured);
    return packet;
  }

  private readFileHeader(queue: ByteQueue): boolean {
    if (queue.length < FILE_HEADER_BYTES) return false;
    const { view, start } = queue;
    const major = view.getUint16(start + 4, this.littleEndian);
    if (major !== 2) throw captureError(queue.offset + 4, `pcap version ${major} is not known`);
    this.interfaces.push({
      linkType: view.getUint32(start + 20, this.littleEndian) & LINK_TYPE_MASK,
      snapLength: view.getUint32(start + 16, this.littleEndian),
      name: '',
      description: '',
    });
    queue.consume(FILE_HEADER_BYTES);
    return true;
  }
}

const FILE_HEADER_BYTES = 24;
const RECORD_HEADER_BYTES = 16;
// The bits above say how long a frame check sequence at the end of each packet is; frames are read by their IP length.
const LINK_TYPE_MASK = 0x03ff_ffff;
const NO_COMMENTS: readonly string[] = [];
