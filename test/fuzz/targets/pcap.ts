/**
 * The reader of classic pcap, in one piece and in pieces, the dissection and the copy of what it reads. An input is
 * flags 1 (1: lengths of records are made right first; the rest: size of the pieces) | file.
 */
import { readFileSync } from 'node:fs';
import { LinkType } from '../../../pcap/index.ts';
import { PcapWriter } from '../../../pcap/pcap-writer.ts';
import { readCapture } from '../../../pcap/reader.ts';
import { file, join, u16, u32 } from '../../pcap/made-files.ts';
import type { FuzzTarget } from '../engine/target.ts';
import { readInput } from './support/capture.ts';

const SAMPLE = new URL('../../vectors/rxe-sample.pcap', import.meta.url);

/** The captured length of every record is what is there, up to 200 bytes. */
function fixLengths(bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 24) return;
  const little = (bytes[0] ?? 0) !== 0xa1;
  for (let at = 24; at + 16 <= bytes.length; ) {
    const length = Math.min(view.getUint32(at + 8, little) % 200, bytes.length - at - 16);
    view.setUint32(at + 8, length, little);
    at += 16 + length;
  }
}

function seeds(): Uint8Array[] {
  const packets = [...readCapture(new Uint8Array(readFileSync(SAMPLE)))].slice(0, 3);
  const made = [LinkType.Ethernet, LinkType.Raw, LinkType.LinuxCooked, LinkType.LinuxCooked2].map((linkType) => {
    const writer = new PcapWriter(linkType);
    for (const { bytes } of packets) writer.packet(bytes, 0, bytes.length, 1, 2);
    return writer.take();
  });
  const byHand = [true, false].flatMap((little) =>
    [0xa1b2c3d4, 0xa1b23c4d, 0xa1b2cd34].map((magic) => {
      const header = file(little, u32(magic), u16(2), u16(4), u32(0), u32(0), u32(65_535), u32(1));
      return join(header, file(little, u32(1), u32(2), u32(4), u32(90), Uint8Array.of(1, 2, 3, 4)));
    }),
  );
  return [...made, ...byHand].flatMap((bytes) => [0, 7].map((flags) => Uint8Array.from([flags, ...bytes])));
}

export const target: FuzzTarget = { name: 'pcap', maxBytes: 1500, seeds, run: (input) => readInput(input, fixLengths) };
