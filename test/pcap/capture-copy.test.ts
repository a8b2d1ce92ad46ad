// Goal: a copy of a capture holds what was kept and everything else as it was: unknown blocks and options byte for
// byte, each section in its byte order; and comments that were added stand behind the others. Method: files assembled
// by hand in both orders and both formats; the copy of any damaged file is a whole file; tshark and capinfos on copies.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CaptureCopy } from '../../pcap/capture-copy.ts';
import { PcapWriter } from '../../pcap/pcap-writer.ts';
import type { Block } from '../../pcap/pcapng-block.ts';
import { BlockType } from '../../pcap/pcapng-blocks.ts';
import { CaptureReader, readCapture } from '../../pcap/reader.ts';
import { type CapturedPacket, Direction, LinkType } from '../../pcap/types.ts';
import { tsharkRows } from '../../tools/tshark.ts';
import { rxeFrame } from '../packets/made-frames.ts';
import { toHex } from '../packets/support.ts';
import { describeWith } from '../support/need.ts';
import { block, file, interfaceBlock, join, option, packetBlock, section, u16, u32 } from './made-files.ts';

/** Comments for a packet that is kept, undefined for one that is not. */
type Choice = (packet: CapturedPacket) => readonly string[] | undefined;

/** The copy, as far as the file could be read. */
function copied(bytes: Uint8Array, choose: Choice, copy = new CaptureCopy(), chunkBytes = bytes.length): Uint8Array {
  const reader = new CaptureReader(copy);
  const parts: Uint8Array[] = [];
  try {
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      reader.push(bytes.slice(at, at + chunkBytes));
      for (let packet = reader.next(); packet !== undefined; packet = reader.next()) {
        const comments = choose(packet);
        if (comments !== undefined) copy.keep(packet, comments);
      }
      parts.push(copy.take());
    }
  } catch {
    parts.push(copy.take());
  }
  return join(...parts);
}

const all: Choice = () => [];
const byte = (value: number) => new Uint8Array([value]);
const unknownOption = (e: boolean) => option(e, 40_000, 'unknown');
const custom = (e: boolean) => block(e, 0xbad, file(e, u32(32_473), u32(7)));
const notCopied = (e: boolean) => block(e, 0x4000_0bad, file(e, u32(32_473), u32(7)));
const secrets = (e: boolean) => block(e, 10, file(e, u32(0x544c534b), u32(4), u32(1)));
const unknown = (e: boolean) => block(e, 0x7fff_0001, new Uint8Array([1, 2, 3, 4]));
const simple = (e: boolean) => block(e, 3, file(e, u32(3), byte(1), byte(2), byte(3), byte(0xee)));
const end = new Uint8Array(4);

/**
 * Sections of either order with blocks and options that the reader does not know; padding that is not zero, trash
 * behind the options.
 */
function oddFile(): Uint8Array {
  return join(
    ...[true, false].flatMap((e) => [
      ...[section(e, option(e, 4, 'dumpcap'), unknownOption(e), end, end), interfaceBlock(e, 1, 0, unknownOption(e))],
      ...[custom(e), packetBlock(e, 0, 1n, byte(1)), unknown(e), secrets(e), simple(e)],
      ...[
        packetBlock(e, 0, 2n, byte(2), option(e, 1, 'old'), unknownOption(e), end, byte(9), byte(9), byte(9), byte(9)),
      ],
      ...[block(e, 2, file(e, u16(0), u16(3), u32(0), u32(3), u32(1), u32(60), byte(7), new Uint8Array(3)))],
    ]),
  );
}

/** Counts the numbered blocks that a copy does not have. */
class CountingCopy extends CaptureCopy {
  leftOut = 0;

  override block(block: Block): void {
    if (block.type === BlockType.CustomNotCopied) this.leftOut++;
    super.block(block);
  }
}

describe('CaptureCopy', () => {
  it.each([1, 13, 10_000])('copies a file byte for byte, in chunks of %i bytes', (chunkBytes) => {
    expect(toHex(copied(oddFile(), all, new CaptureCopy(), chunkBytes))).toBe(toHex(oddFile()));
  });

  it('leaves out packets that are not kept, and nothing else', () => {
    const bytes = copied(oddFile(), ({ number }) => (number % 5 === 2 ? [] : undefined));
    const expected = join(
      ...[true, false].flatMap((e) => [
        ...[section(e, option(e, 4, 'dumpcap'), unknownOption(e), end, end), interfaceBlock(e, 1, 0, unknownOption(e))],
        ...[custom(e), packetBlock(e, 0, 1n, byte(1)), unknown(e), secrets(e)],
      ]),
    );
    expect(toHex(bytes)).toBe(toHex(expected));
  });

  it('adds comments behind those that are there, in the byte order of the section', () => {
    const bytes = copied(oddFile(), ({ number }) => (number % 5 === 4 ? ['new', 'newer'] : undefined));
    const expected = join(
      ...[true, false].flatMap((e) => [
        ...[section(e, option(e, 4, 'dumpcap'), unknownOption(e), end, end), interfaceBlock(e, 1, 0, unknownOption(e))],
        ...[custom(e), unknown(e), secrets(e)],
        packetBlock(
          ...([e, 0, 2n, byte(2), option(e, 1, 'old'), unknownOption(e)] as const),
          ...[option(e, 1, 'new'), option(e, 1, 'newer'), end],
        ),
      ]),
    );
    expect(toHex(bytes)).toBe(toHex(expected));
  });

  it('adds comments to packets of every kind of block', () => {
    const before = [...readCapture(oddFile())];
    const after = [...readCapture(copied(oddFile(), ({ number }) => [`packet ${number}`]))];
    expect(after).toEqual(
      before.map((packet) => ({ ...packet, comments: [...packet.comments, `packet ${packet.number}`] })),
    );
  });

  it.each([true, false])('makes an enhanced block of a simple one for a comment (little-endian: %s)', (e) => {
    const before = join(section(e), interfaceBlock(e, 1, 0), simple(e));
    const after = join(
      ...[section(e), interfaceBlock(e, 1, 0)],
      packetBlock(e, 0, 0n, new Uint8Array([1, 2, 3]), option(e, 1, 'new'), end),
    );
    expect(toHex(copied(before, () => ['new']))).toBe(toHex(after));
  });

  it('adds comments to the first section', () => {
    const copy = new CaptureCopy({ comments: ['analyzed', 'twice'], application: 'not told' });
    const reader = new CaptureReader();
    reader.push(copied(oddFile(), all, copy));
    while (reader.next() !== undefined);
    reader.end();
    expect(reader.sections.map(({ comments, application }) => [application, comments])).toEqual([
      ['dumpcap', ['analyzed', 'twice']],
      ['dumpcap', []],
    ]);
  });

  it.each([true, false])('leaves out what is not to be copied (little-endian: %s)', (e) => {
    const mine = option(e, 2988, 'kept');
    const theirs = [option(e, 19_372, 'text'), option(e, 19_373, new Uint8Array(5))];
    const before = join(
      section(e, ...theirs, mine),
      ...[interfaceBlock(e, 1, 0), notCopied(e), packetBlock(e, 0, 1n, byte(1), mine, ...theirs, option(e, 1, 'x'))],
    );
    const after = join(
      section(e, mine, end),
      interfaceBlock(e, 1, 0),
      packetBlock(e, 0, 1n, byte(1), mine, option(e, 1, 'x'), end),
    );
    expect(toHex(copied(before, all))).toBe(toHex(after));
  });

  it.each([true, false])('no longer tells the length of a section (little-endian: %s)', (e) => {
    const before = section(e);
    new DataView(before.buffer).setUint32(16, 0x1234, e);
    new DataView(before.buffer).setUint32(20, 0, e);
    expect(toHex(copied(join(before, interfaceBlock(e, 1, 0)), all))).toBe(
      toHex(join(section(e), interfaceBlock(e, 1, 0))),
    );
  });

  it('makes pcapng of a classic pcap file', () => {
    const writer = new PcapWriter(LinkType.Raw, 2);
    writer.packet(new Uint8Array([1, 2, 3]), 0, 3, 1_700_000_000, 123_456_789);
    writer.packet(new Uint8Array([4]), 0, 1, 1_700_000_001, 0);
    const bytes = copied(writer.take(), ({ number }) => [`number ${number}`], new CaptureCopy({ application: 'roce' }));
    const reader = new CaptureReader();
    reader.push(bytes);
    const common = { linkType: LinkType.Raw, interfaceIndex: 0, direction: Direction.Unknown };
    expect([reader.next(), reader.next(), reader.next()]).toEqual([
      {
        ...{ ...common, number: 1, seconds: 1_700_000_000, nanoseconds: 123_456_789 },
        ...{ bytes: new Uint8Array([1, 2]), originalLength: 3, comments: ['number 1'] },
      },
      {
        ...{ ...common, number: 2, seconds: 1_700_000_001, nanoseconds: 0 },
        ...{ bytes: new Uint8Array([4]), originalLength: 1, comments: ['number 2'] },
      },
      undefined,
    ]);
    expect([reader.sections[0]?.application, reader.interfaces[0]?.snapLength]).toEqual(['roce', 2]);
  });

  it('keeps the packet read last only, and only once', () => {
    const copy = new CaptureCopy();
    const reader = new CaptureReader(copy);
    reader.push(oddFile());
    const [first, second] = [reader.next(), reader.next()];
    if (first === undefined || second === undefined) throw new Error('the file has more packets');
    const message = (number: number) => `packet ${number} is not the one that was read last, or was kept already`;
    expect(() => copy.keep(first)).toThrow(message(first.number));
    copy.keep(second);
    expect(() => copy.keep(second)).toThrow(
      expect.objectContaining({ code: 'ERR_ROCE_STATE', message: message(second.number) }),
    );
  });

  it('makes a whole file of any damaged one, with the packets that could be read', () => {
    const hits = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 4 });
    // One bit makes a custom block one that is not copied: the reader had given it a number.
    const oneBitOfCustom: [[number, number][], number, number, boolean] = [[[155_563_503, 64]], 151_980_900, 1, false];
    fc.assert(
      fc.property(hits, fc.nat(), fc.integer({ min: 1, max: 99 }), fc.boolean(), (damage, cut, chunkBytes, comment) => {
        const good = oddFile();
        for (const [at, value] of damage) good[at % good.length] = value;
        const bytes = good.subarray(0, cut % good.length);
        const copy = new CountingCopy();
        const packets: CapturedPacket[] = [];
        const result = copied(
          bytes,
          (packet) => {
            packets.push({ ...packet, number: packet.number - copy.leftOut });
            return comment ? ['c'] : [];
          },
          copy,
          chunkBytes,
        );
        const added = comment ? ['c'] : [];
        expect(result.length === 0 ? [] : [...readCapture(result)]).toEqual(
          packets.map((packet) => ({ ...packet, comments: [...packet.comments, ...added] })),
        );
      }),
      { numRuns: 500, examples: [oneBitOfCustom] },
    );
  });
});

describeWith('tshark', 'tshark and capinfos', () => {
  it('read a copy with comments, of two sections in different byte orders', async () => {
    const frames = [rxeFrame(0x11), rxeFrame(0x06)];
    const bytes = join(
      ...[true, false].flatMap((e) => [
        ...[section(e, option(e, 4, 'dumpcap'), end), interfaceBlock(e, 1, 0), custom(e), unknown(e)],
        ...frames.map((frame, index) => packetBlock(e, 0, BigInt(index), frame, option(e, 1, 'old'), end)),
      ]),
    );
    const directory = mkdtempSync(joinPath(tmpdir(), 'roce-copy-'));
    try {
      const path = joinPath(directory, 'copy.pcapng');
      writeFileSync(
        path,
        copied(bytes, ({ number }) => (number === 3 ? undefined : [`number ${number}`])),
      );
      const fields = ['frame.number', 'frame.comment', 'infiniband.bth.opcode'];
      const rows = await tsharkRows(path, fields, { filter: 'infiniband' });
      expect(rows.map((row) => [...row.values()])).toEqual([
        [['2'], ['old', 'number 2'], ['17']],
        [['4'], ['old', 'number 5'], ['17']],
        [['5'], ['old', 'number 6'], ['6']],
      ]);
      // Custom blocks have numbers as well, for Wireshark and for us.
      expect([...readCapture(readFileSync(path))].map(({ number }) => number)).toEqual([2, 4, 5]);
      expect(execFileSync('capinfos', ['-c', '-M', path], { encoding: 'utf8' })).toMatch(/Number of packets:\s+3\n/);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
