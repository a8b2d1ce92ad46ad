/**
 * Prints frames from any source, one line, several lines or one JSON object each, and optionally writes them to a file.
 *
 * Owns the loop and the layout of a line; the words for a frame are `packets/format.ts`. Never opens anything.
 */

import type { Writable } from 'node:stream';
import type { FieldValue } from '../../packets/field-list.ts';
import { formatFrame, formatFrameDetails } from '../../packets/format.ts';
import { Frame, FrameStatus, parseFrame } from '../../packets/frame.ts';
import { frameFields } from '../../packets/frame-fields.ts';
import { icrcMatches } from '../../packets/icrc.ts';
import { PcapngWriter } from '../../pcap/pcapng-writer.ts';
import {
  type CapturedPacket,
  type CaptureInterface,
  type CaptureTime,
  Direction,
  mediumOfLinkType,
  nanosecondsSince,
} from '../../pcap/types.ts';
import { Output } from './output.ts';

/** Where frames come from. A packet's bytes need to stay unchanged only until the next one is asked for. */
export interface CaptureSource extends AsyncIterable<CapturedPacket> {
  /** Interfaces known so far, by `CapturedPacket.interfaceIndex`; they give names to output. */
  readonly interfaces?: readonly CaptureInterface[];
}

export interface DumpOptions {
  /** All fields on several lines. */
  readonly verbose?: boolean;
  /** One JSON object a line, keys as tshark names them. */
  readonly json?: boolean;
  /** Stop after this many packets. */
  readonly count?: number;
  /** Also written as pcapng. */
  readonly capture?: Writable;
  /** Do not print at all: when the capture itself goes to standard output. */
  readonly quiet?: boolean;
}

/**
 * Prints every packet of `source` to `out`; returns how many there were. Ends early, without an error, when the reader of `out` goes
 * away (EPIPE). Errors of the source pass through after everything before them was printed.
 */
export async function dumpFrames(source: CaptureSource, options: DumpOptions, out: Writable): Promise<number> {
  const text = new Output(out);
  const copy = options.capture === undefined ? undefined : new CaptureCopy(source, new Output(options.capture));
  const limit = options.count ?? Number.POSITIVE_INFINITY;
  const printer = new PacketPrinter(options, source);
  let packets = 0;
  try {
    if (limit === 0) return packets;
    for await (const packet of source) {
      if (options.quiet !== true) await text.write(`${printer.print(packet)}\n`);
      await copy?.packet(packet);
      packets++;
      if (packets >= limit || text.closed || copy?.closed) break;
    }
  } finally {
    await copy?.finish();
    await text.flush();
  }
  return packets;
}

class PacketPrinter {
  private readonly frame = new Frame();
  private readonly options: DumpOptions;
  private readonly source: CaptureSource;
  private first: CaptureTime | undefined;

  constructor(options: DumpOptions, source: CaptureSource) {
    this.options = options;
    this.source = source;
  }

  print(packet: CapturedPacket): string {
    this.first ??= packet;
    const medium = mediumOfLinkType(packet.linkType);
    if (medium === undefined) return this.layOut(packet, `link type ${packet.linkType} is not one this tool reads`, {});
    const { bytes } = packet;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const status = parseFrame(bytes, view, 0, bytes.length, medium, this.frame);
    const icrcOk = status === FrameStatus.Ok && icrcMatches(this.frame);
    if (this.options.json) return this.layOut(packet, '', frameFields(this.frame, status, icrcOk));
    const format = this.options.verbose ? formatFrameDetails : formatFrame;
    return this.layOut(packet, format(this.frame, status, icrcOk), {});
  }

  private layOut(packet: CapturedPacket, text: string, fields: Record<string, FieldValue>): string {
    if (this.options.json) return JSON.stringify({ ...this.packetFields(packet), ...fields });
    const time = secondsText(nanosecondsSince(this.first ?? packet, packet));
    const head = `${String(packet.number).padStart(5)} ${time.padStart(14)} `;
    const [line = '', ...details] = text.split('\n');
    return [`${head}${line}${margin(packet)}`, ...details].join('\n');
  }

  private packetFields(packet: CapturedPacket): Record<string, FieldValue> {
    const name = this.source.interfaces?.[packet.interfaceIndex]?.name ?? '';
    return {
      'frame.number': packet.number,
      // Text, as tshark prints it: a double would lose the last digits.
      'frame.time_epoch': `${packet.seconds}.${String(packet.nanoseconds).padStart(9, '0')}`,
      'frame.len': packet.originalLength,
      'frame.cap_len': packet.bytes.length,
      'frame.interface_id': packet.interfaceIndex,
      ...(name === '' ? {} : { 'frame.interface_name': name }),
      ...(packet.direction === Direction.Unknown ? {} : { 'frame.packet_flags_direction': packet.direction }),
      ...(packet.comments.length === 0 ? {} : { 'frame.comment': packet.comments.join('\n') }),
    };
  }
}

/** What the capture says about a packet beside its bytes. */
function margin({ bytes, originalLength, comments }: CapturedPacket): string {
  const cut = bytes.length < originalLength ? ` [${bytes.length} of ${originalLength} bytes captured]` : '';
  return `${cut}${comments.map((comment) => ` # ${comment.replaceAll(/\s+/g, ' ')}`).join('')}`;
}

function secondsText(nanoseconds: number): string {
  const sign = nanoseconds < 0 ? '-' : '';
  const magnitude = Math.abs(nanoseconds);
  return `${sign}${Math.floor(magnitude / 1e9)}.${String(magnitude % 1e9).padStart(9, '0')}`;
}

/** Copies packets into a pcapng file, interfaces as they come. */
class CaptureCopy {
  private readonly writer = new PcapngWriter({ application: 'roce dump' });
  private readonly source: CaptureSource;
  private readonly output: Output;
  private readonly indices = new Map<number, number>();

  constructor(source: CaptureSource, output: Output) {
    this.source = source;
    this.output = output;
  }

  get closed(): boolean {
    return this.output.closed;
  }

  async packet(packet: CapturedPacket): Promise<void> {
    const { bytes, seconds, nanoseconds, direction, comments, originalLength } = packet;
    const options = { direction, comments, originalLength };
    this.writer.packet(this.indexOf(packet), bytes, 0, bytes.length, seconds, nanoseconds, options);
    if (this.writer.pendingBytes >= WRITE_BYTES) await this.output.write(this.writer.take());
  }

  async finish(): Promise<void> {
    await this.output.write(this.writer.take());
    await this.output.end();
  }

  private indexOf({ interfaceIndex, linkType }: CapturedPacket): number {
    const known = this.indices.get(interfaceIndex);
    if (known !== undefined) return known;
    const described = this.source.interfaces?.[interfaceIndex];
    const name = described?.name ?? '';
    const description = described?.description ?? '';
    const added = this.writer.addInterface({ name, description, linkType });
    this.indices.set(interfaceIndex, added);
    return added;
  }
}

const WRITE_BYTES = 65_536;
