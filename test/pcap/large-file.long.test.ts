// Goal: memory does not grow with a file, however large it is, read or copied. Method: gigabytes of the same megabytes
// again and again, with records across the joints, and the resident memory of the process looked at on the way.

import { describe, expect, it } from 'vitest';
import { Op } from '../../packets/opcode.ts';
import { CaptureCopy } from '../../pcap/capture-copy.ts';
import { Dissection, dissect } from '../../pcap/dissection.ts';
import { PcapWriter } from '../../pcap/pcap-writer.ts';
import { PcapngWriter } from '../../pcap/pcapng-writer.ts';
import { CaptureReader } from '../../pcap/reader.ts';
import { LinkType } from '../../pcap/types.ts';
import { rxeFrame } from '../packets/made-frames.ts';

const FRAME = rxeFrame(Op.WriteFirst);
const PIECE_BYTES = 1024 * 1024;
const TOTAL_BYTES = 10 * 1024 ** 3;
const COPIED_BYTES = 2 * 1024 ** 3;

/** A file header, and records of 10,000 packets that can follow it as often as one likes. */
function parts(pcapng: boolean): { readonly header: Uint8Array; readonly records: Uint8Array } {
  if (pcapng) {
    const writer = new PcapngWriter();
    writer.addInterface({ name: 'wire', linkType: LinkType.Ethernet });
    const header = writer.take();
    const statistics = { seconds: 0, nanoseconds: 0, received: 1, comments: ['so far'] };
    for (let count = 0; count < 10_000; count++) {
      writer.packet(0, FRAME, 0, FRAME.length, count, 0, count % 10 === 0 ? { comments: ['tenth'] } : {});
      if (count % 100 === 0) writer.statistics(0, statistics);
      if (count % 100 === 50) writer.names([['10.0.0.1', ['left', 'right']]]);
    }
    return { header, records: writer.take() };
  }
  const writer = new PcapWriter(LinkType.Ethernet);
  const header = writer.take();
  for (let count = 0; count < 10_000; count++) writer.packet(FRAME, 0, FRAME.length, count, 0);
  return { header, records: writer.take() };
}

/**
 * Reads `totalBytes` in pieces that end anywhere; returns how many packets there were and how far the memory grew, in
 * bytes.
 */
function readAll(pcapng: boolean, totalBytes: number, copy?: CaptureCopy): { packets: number; grownBytes: number } {
  const { header, records } = parts(pcapng);
  const reader = new CaptureReader(copy);
  const dissection = new Dissection();
  reader.push(header);
  let packets = 0;
  let largest = 0;
  const before = process.memoryUsage().rss;
  for (let bytes = 0, at = 0; bytes < totalBytes; ) {
    // A piece is memory of its own, as a stream gives it.
    const piece = records.slice(at, at + PIECE_BYTES);
    at = at + piece.length === records.length ? 0 : at + piece.length;
    bytes += piece.length;
    reader.push(piece);
    for (let packet = reader.next(); packet !== undefined; packet = reader.next()) {
      packets++;
      dissect(packet, dissection);
      copy?.keep(packet);
    }
    copy?.take();
    largest = Math.max(largest, process.memoryUsage().rss);
  }
  return { packets, grownBytes: largest - before };
}

describe('a large file', () => {
  it.each([
    ['pcap', false],
    ['pcapng', true],
  ])('of 10 GB is read in bounded memory: %s', (_name, pcapng) => {
    const { packets, grownBytes } = readAll(pcapng, TOTAL_BYTES);
    expect(packets).toBeGreaterThan(TOTAL_BYTES / (FRAME.length + 200));
    expect(grownBytes).toBeLessThan(256 * 1024 ** 2);
  });

  it.each([
    ['pcap', false],
    ['pcapng', true],
  ])('of 2 GB is copied in bounded memory: %s', (_name, pcapng) => {
    expect(readAll(pcapng, COPIED_BYTES, new CaptureCopy()).grownBytes).toBeLessThan(256 * 1024 ** 2);
  });
});
