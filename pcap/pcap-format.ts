/**
 * The classic pcap format for `CaptureReader`.
 *
 * Owns the file header and the record headers. Does no I/O. Sources: draft-ietf-opsawg-pcap; wiretap's libpcap reader
 * for the format of Kuznetzov's patches, whose records are longer.
 *
 * ```
 * file header:   magic 4 | major 2 | minor 2 | zone 4 | accuracy 4 | snap length 4 | link type 4
 * record:        seconds 4 | fraction 4 | captured length 4 | original length 4 | bytes
 * patched:       seconds 4 | fraction 4 | captured length 4 | original length 4
 *                | interface 4 | protocol 2 | type 1 | pad 1 | bytes
 * ```
 */

import type { ByteQueue } from './byte-queue.ts';
import { captureError, LARGEST_RECORD_BYTES } from './capture-error.ts';
import type { CaptureFormat, RecordSink } from './capture-format.ts';
import { PlacedPacket } from './placed-packet.ts';
import type { CaptureInterface } from './types.ts';

/** The variant of a pcap file, from its magic number. */
export interface PcapVariant {
  readonly littleEndian: boolean;
  /** 1,000 or 1. */
  readonly nanosecondsPerUnit: number;
  /** Bytes before the packet: 16, or 24 in the patched format. */
  readonly recordHeaderBytes: number;
}

/** The variant by the first four bytes of a file, read in both orders; undefined when it is no pcap file. */
export function pcapVariant(little: number, big: number): PcapVariant | undefined {
  for (const littleEndian of [true, false]) {
    const magic = littleEndian ? little : big;
    if (magic === PCAP_MAGIC_MICROSECONDS) return { littleEndian, nanosecondsPerUnit: 1_000, recordHeaderBytes: 16 };
    if (magic === PCAP_MAGIC_NANOSECONDS) return { littleEndian, nanosecondsPerUnit: 1, recordHeaderBytes: 16 };
    if (magic === PCAP_MAGIC_PATCHED) return { littleEndian, nanosecondsPerUnit: 1_000, recordHeaderBytes: 24 };
  }
  return undefined;
}

export class PcapFormat implements CaptureFormat {
  readonly name = 'pcap';
  readonly interfaces: CaptureInterface[] = [];
  readonly sections = [];
  readonly names = new Map<string, string[]>();
  packetOffset = 0;
  private readonly variant: PcapVariant;
  private readonly sink: RecordSink | undefined;
  private readonly packet = new PlacedPacket();
  private linkType = -1;

  constructor(variant: PcapVariant, sink: RecordSink | undefined) {
    this.variant = variant;
    this.sink = sink;
  }

  next(queue: ByteQueue): PlacedPacket | undefined {
    const { littleEndian, nanosecondsPerUnit, recordHeaderBytes } = this.variant;
    if (this.linkType < 0 && !this.readFileHeader(queue)) return undefined;
    if (!queue.has(PLAIN_RECORD_HEADER_BYTES)) return undefined;
    const captured = queue.view.getUint32(queue.start + 8, littleEndian);
    if (captured > LARGEST_RECORD_BYTES) {
      throw captureError(queue.offset + 8, `a packet of ${captured} bytes is not believable`);
    }
    if (!queue.has(recordHeaderBytes + captured)) return undefined;
    const { view, start } = queue;
    const nanoseconds = view.getUint32(start + 4, littleEndian) * nanosecondsPerUnit;
    this.packetOffset = queue.offset + recordHeaderBytes;
    const { packet } = this;
    packet.number++;
    // Some writers let the fraction run past a second; carry it over.
    packet.seconds = view.getUint32(start, littleEndian) + Math.floor(nanoseconds / 1e9);
    packet.nanoseconds = nanoseconds % 1e9;
    packet.memory = queue.bytes;
    packet.at = start + recordHeaderBytes;
    packet.captured = captured;
    packet.originalLength = view.getUint32(start + 12, littleEndian);
    packet.linkType = this.linkType;
    queue.consume(recordHeaderBytes + captured);
    this.sink?.packetRecord(packet);
    return packet;
  }

  private readFileHeader(queue: ByteQueue): boolean {
    if (!queue.has(FILE_HEADER_BYTES)) return false;
    const { view, start } = queue;
    const { littleEndian } = this.variant;
    const major = view.getUint16(start + 4, littleEndian);
    if (major !== 2) throw captureError(queue.offset + 4, `pcap version ${major} is not known`);
    this.linkType = view.getUint32(start + 20, littleEndian) & LINK_TYPE_MASK;
    const snapLength = view.getUint32(start + 16, littleEndian);
    const described = { linkType: this.linkType, snapLength, name: '', description: '' };
    this.interfaces.push(described);
    queue.consume(FILE_HEADER_BYTES);
    this.sink?.pcapHeader(described);
    return true;
  }
}

/** First word of a pcap file in the byte order of its writer: fractions of a second in micro- or nanoseconds. */
export const PCAP_MAGIC_MICROSECONDS = 0xa1b2_c3d4;
export const PCAP_MAGIC_NANOSECONDS = 0xa1b2_3c4d;
/** Of Kuznetzov's patches to libpcap, found in files of old Linux distributions. */
const PCAP_MAGIC_PATCHED = 0xa1b2_cd34;
const FILE_HEADER_BYTES = 24;
const PLAIN_RECORD_HEADER_BYTES = 16;
// The bits above say how long a frame check sequence at the end of each packet is; frames are read by their IP length.
const LINK_TYPE_MASK = 0x03ff_ffff;
