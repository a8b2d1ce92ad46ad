/**
 * The reader of pcapng, in one piece and in pieces, the dissection and the copy of what it reads. An input is flags 1
 * (1: lengths of blocks are made right first; the rest: size of the pieces) | file.
 */
import { readFileSync } from 'node:fs';
import { LinkType, PcapngWriter } from '../../../pcap/index.ts';
import { readCapture } from '../../../pcap/reader.ts';
import { block, file, interfaceBlock, join, option, section, u16, u32, u64 } from '../../pcap/made-files.ts';
import type { FuzzTarget } from '../engine/target.ts';
import { readInput } from './support/capture.ts';

const SAMPLE = new URL('../../vectors/rxe-sample.pcap', import.meta.url);

/** Both lengths of every block are what is there, up to 300 bytes; its packet fits into it. */
function fixLengths(bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let little = true;
  for (let at = 0; at + 12 <= bytes.length; ) {
    const isSection = view.getUint32(at) === 0x0a0d0d0a;
    if (isSection) little = view.getUint32(at + 8) !== 0x1a2b3c4d;
    const wanted = Math.max(12, (view.getUint32(at + 4, little) % 300) & ~3);
    const length = Math.min(wanted, (bytes.length - at) & ~3);
    view.setUint32(at + 4, length, little);
    view.setUint32(at + length - 4, length, little);
    if (isSection && length >= 28) view.setUint16(at + 12, 1, little);
    if (view.getUint32(at, little) === 6 && length >= 32) {
      view.setUint32(at + 8, 0, little);
      view.setUint32(at + 20, view.getUint32(at + 20, little) % (length - 31), little);
    }
    at += length;
  }
}

function seeds(): Uint8Array[] {
  const packets = [...readCapture(new Uint8Array(readFileSync(SAMPLE)))].slice(0, 2);
  const writer = new PcapngWriter({ application: 'fuzz', hardware: 'none', operatingSystem: 'any', comments: ['c'] });
  writer.addInterface({ name: 'eth0', linkType: LinkType.Ethernet });
  for (const { bytes } of packets) writer.packet(0, bytes, 0, bytes.length, 1, 2, { comments: ['lost'] });
  const byHand = [true, false].map((little) => {
    const packet = (type: number, ...options: Uint8Array[]): Uint8Array =>
      block(
        little,
        type,
        join(file(little, u32(0), u32(1), u32(2), u32(4), u32(90), Uint8Array.of(1, 2, 3, 4)), ...options),
      );
    return join(
      section(little, option(little, 1, 'comment'), option(little, 4, 'application')),
      interfaceBlock(
        ...([little, 1, 100, option(little, 2, 'eth0'), option(little, 9, Uint8Array.of(9))] as const),
        ...[
          option(little, 14, u64(little, 5n)),
          option(little, 8, u64(little, 10n)),
          option(little, 11, 'xhost'),
          option(little, 0, ''),
        ],
      ),
      packet(
        6,
        option(little, 2, file(little, u32(1))),
        option(little, 4, u64(little, 7n)),
        option(little, 5, u64(little, 9n)),
      ),
      packet(2),
      block(little, 3, file(little, u32(4), Uint8Array.of(1, 2, 3, 4))),
      block(
        little,
        4,
        join(
          file(little, u16(1), u16(8), Uint8Array.of(10, 0, 0, 1, 97, 98, 99, 0)),
          file(little, u16(3), u16(8), Uint8Array.of(2, 0, 0, 0, 0, 1, 97, 0)),
          file(little, u16(0), u16(0)),
        ),
      ),
      block(
        little,
        5,
        join(
          file(little, u32(0), u32(1), u32(2)),
          option(little, 4, u64(little, 3n)),
          option(little, 5, u64(little, 1n)),
          option(little, 2, u64(little, 1n)),
        ),
      ),
      block(little, 0xbad, file(little, u32(32473), u32(1))),
      block(little, 9, file(little, u32(0x61623d63))),
    );
  });
  return [writer.take(), ...byHand].flatMap((bytes) => [0, 1, 7].map((flags) => Uint8Array.from([flags, ...bytes])));
}

export const target: FuzzTarget = {
  name: 'pcapng',
  maxBytes: 1500,
  seeds,
  run: (input) => readInput(input, fixLengths),
};
