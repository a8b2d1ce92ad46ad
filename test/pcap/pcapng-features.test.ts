// Goal: whatever a pcapng file tells beside bytes and times reaches the reader's user, in either byte order, and is
// bounded. Method: a file with every block and option, assembled by hand, read in one piece and byte by byte;
// timestamps against BigInt arithmetic.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PcapngClock } from '../../pcap/pcapng-clock.ts';
import { CaptureReader, readCapture } from '../../pcap/reader.ts';
import { Direction } from '../../pcap/types.ts';
import { fromHex } from '../packets/support.ts';
import {
  block,
  file,
  interfaceBlock,
  join,
  option,
  packetBlock,
  readAll,
  section,
  timestamp,
  u16,
  u32,
  u64,
} from './made-files.ts';

function drained(bytes: Uint8Array, chunkBytes = bytes.length): CaptureReader {
  const reader = new CaptureReader();
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    reader.push(bytes.slice(at, at + chunkBytes));
    while (reader.next() !== undefined);
  }
  reader.end();
  return reader;
}

/** Pieces of one length, one after another. */
function repeated(count: number, make: (index: number) => Uint8Array): Uint8Array {
  const { length } = make(0);
  const bytes = new Uint8Array(count * length);
  for (let index = 0; index < count; index++) bytes.set(make(index), index * length);
  return bytes;
}

const byte = (value: number) => new Uint8Array([value]);
const end = new Uint8Array(4);

/** A file with everything that is read. */
function richFile(e: boolean): Uint8Array {
  const texts = [option(e, 3, 'Linux'), option(e, 1, 'first'), option(e, 2, 'a machine'), option(e, 4, 'dumpcap')];
  const described = [
    ...[option(e, 2, 'eth0'), option(e, 3, 'the left port'), option(e, 8, u64(e, 100_000_000_000n))],
    ...[
      option(e, 9, byte(9)),
      option(e, 11, '\0udp port 4791'),
      option(e, 12, 'Linux 6.12'),
      option(e, 15, 'ConnectX'),
    ],
    ...[option(e, 1, 'a comment'), option(e, 1, 'another'), option(e, 2988, new Uint8Array(9)), end],
  ];
  const names = file(
    e,
    ...[u16(1), u16(4 + 9), fromHex('0a000001'), new TextEncoder().encode('left\0lft\0'), new Uint8Array(3)],
    ...[u16(2), u16(16 + 3), fromHex('fe800000000000000000000000000001'), new TextEncoder().encode('v6\0'), byte(0)],
    ...[u16(3), u16(6 + 4), fromHex('525400000001'), new TextEncoder().encode('nic\0'), new Uint8Array(2)],
    ...[u16(99), u16(5), new Uint8Array(8), u16(0), u16(0)],
  );
  const statistics = file(
    e,
    ...[u32(0), timestamp(e, 9_000_000_007n)],
    ...[option(e, 2, timestamp(e, 1_000_000_001n)), option(e, 3, timestamp(e, 8_000_000_002n))],
    ...[option(e, 4, u64(e, 100n)), option(e, 5, u64(e, 3n)), option(e, 6, u64(e, 97n)), option(e, 7, u64(e, 2n))],
    ...[option(e, 8, u64(e, 95n)), option(e, 1, 'counted'), end],
  );
  return join(
    ...[section(e, ...texts, end), interfaceBlock(e, 1, 128, ...described), interfaceBlock(e, 113, 0)],
    packetBlock(e, 0, 5_000_000_006n, byte(1), option(e, 2, file(e, u32(0xffff_0002))), option(e, 4, u64(e, 7n)), end),
    ...[block(e, 4, names), block(e, 10, new Uint8Array(8)), block(e, 0xbad, new Uint8Array(8))],
    packetBlock(e, 1, 6_000_001n, byte(2), option(e, 5, u64(e, 2n ** 63n)), option(e, 1, 'odd'), option(e, 1, '')),
    ...[block(e, 0x7fff_fff0, new Uint8Array(4)), block(e, 5, statistics)],
    block(e, 2, file(e, u16(1), u16(12), timestamp(e, 1n), u32(0), u32(0))),
    block(e, 2, file(e, u16(1), u16(0xffff), timestamp(e, 1n), u32(0), u32(0))),
  );
}

describe.each([
  ['little', true],
  ['big', false],
])('a rich pcapng file in %s-endian order', (_name, e) => {
  it.each([1, 7, 64, 100_000])('is read in chunks of %i bytes', (chunkBytes) => {
    const reader = drained(richFile(e), chunkBytes);
    expect(reader.formatName).toBe('pcapng');
    expect(reader.sections).toEqual([
      { hardware: 'a machine', operatingSystem: 'Linux', application: 'dumpcap', comments: ['first'], littleEndian: e },
    ]);
    expect(reader.interfaces[0]).toMatchObject({
      ...{ linkType: 1, snapLength: 128, name: 'eth0', description: 'the left port', speedBps: 1e11, section: 0 },
      ...{ filter: 'udp port 4791', operatingSystem: 'Linux 6.12', hardware: 'ConnectX' },
      comments: ['a comment', 'another'],
      statistics: {
        ...{ seconds: 9, nanoseconds: 7, received: 100, dropped: 3, accepted: 97, droppedByOs: 2, delivered: 95 },
        ...{ start: { seconds: 1, nanoseconds: 1 }, end: { seconds: 8, nanoseconds: 2 }, comments: ['counted'] },
      },
    });
    expect(reader.interfaces[1]).toMatchObject({ linkType: 113, name: '', comments: [], statistics: undefined });
    expect([...reader.names]).toEqual([
      ['10.0.0.1', ['left', 'lft']],
      ['fe80::1', ['v6']],
      ['52:54:00:00:00:01', ['nic']],
    ]);
  });

  it('tells of packets what few packets have', () => {
    const [first, second, third, fourth] = [...readCapture(richFile(e))];
    expect(first).toMatchObject({
      seconds: 5,
      nanoseconds: 6,
      direction: Direction.Outbound,
      dropCount: 7,
      comments: [],
    });
    expect(first).not.toHaveProperty('packetId');
    expect(second).toMatchObject({ seconds: 6, nanoseconds: 1000, packetId: 2n ** 63n, comments: ['odd', ''] });
    expect(second).not.toHaveProperty('dropCount');
    expect(third).toMatchObject({ interfaceIndex: 1, dropCount: 12, direction: Direction.Unknown });
    expect(third).not.toHaveProperty('packetId');
    expect(fourth).not.toHaveProperty('dropCount');
  });
});

describe('a pcapng reader', () => {
  it('counts interfaces of statistics from the start of their section, and keeps the last that they say', () => {
    const counted = (e: boolean, received: bigint) =>
      block(e, 5, join(file(e, u32(0), u32(0), u32(0)), option(e, 4, u64(e, received))));
    const bytes = join(
      ...[section(true), interfaceBlock(true, 1, 0), counted(true, 1n), counted(true, 2n)],
      ...[section(false), interfaceBlock(false, 1, 0), counted(false, 3n)],
    );
    expect(drained(bytes).interfaces.map(({ statistics, section: at }) => [statistics?.received, at])).toEqual([
      [2, 0],
      [3, 1],
    ]);
  });

  it('ignores options of a wrong size', () => {
    const e = true;
    const odd = [2, 4, 5].map((code) => option(e, code, new Uint8Array(3).fill(1)));
    const bytes = join(
      section(e),
      interfaceBlock(e, 1, 0, ...[8, 9, 14].map((code) => option(e, code, new Uint8Array(3))), option(e, 11, byte(0))),
      packetBlock(e, 0, 1_000_001n, byte(1), ...odd),
    );
    const [packet] = [...readCapture(bytes)];
    expect(packet).toEqual({
      ...{
        number: 1,
        seconds: 1,
        nanoseconds: 1000,
        bytes: byte(1),
        originalLength: 1,
        linkType: 1,
        interfaceIndex: 0,
      },
      ...{ direction: Direction.Unknown, comments: [] },
    });
  });

  it.each([
    [
      'a name record that does not fit',
      block(true, 4, file(true, u16(1), u16(5))),
      8,
      'a name record does not fit into its block',
    ],
    [
      'statistics of an interface that was not described',
      block(true, 5, file(true, u32(1), u32(0), u32(0))),
      8,
      'a statistics block names interface 1, which was not described',
    ],
    ['short statistics', block(true, 5, new Uint8Array(8)), 8, 'a block is shorter than its 12 fixed bytes'],
    [
      'a packet of 4 GB in a small block',
      block(true, 6, file(true, u32(0), u32(0), u32(0), u32(0xffff_ffff), u32(0))),
      20,
      'a packet of 4294967295 bytes does not fit into its block',
    ],
  ])('refuses %s', (_name, bad, offset, sentence) => {
    const start = join(section(true), interfaceBlock(true, 1, 0));
    const { error } = readAll(join(start, bad));
    expect(error).toMatchObject({ message: `capture file, byte ${start.length + offset}: ${sentence}` });
  });

  it.each([1, 2, 3, 4, 0xffff])('refuses an option of %i bytes at the very end of its block', (length) => {
    const start = join(section(true), interfaceBlock(true, 1, 0));
    const { error } = readAll(join(start, packetBlock(true, 0, 0n, byte(1), file(true, u16(1), u16(length)))));
    const message = `capture file, byte ${start.length + 32}: an option does not fit into its block`;
    expect(error).toMatchObject({ message });
  });

  it('numbers packets as Wireshark does, which counts custom blocks and entries of logs as well', () => {
    const e = true;
    const others = [0xbad, 0x4000_0bad, 9].map((type) => block(e, type, new Uint8Array(8)));
    const unnumbered = [10, 0x7fff_fff0].map((type) => block(e, type, new Uint8Array(8)));
    const packet = packetBlock(e, 0, 0n, byte(1));
    const bytes = join(section(e), interfaceBlock(e, 1, 0), packet, ...others, packet, ...unnumbered, packet);
    expect([...readCapture(bytes)].map(({ number }) => number)).toEqual([1, 5, 6]);
  });

  it('passes over name records without names, and repeated ones', () => {
    const e = false;
    const record = (text: string) =>
      file(e, u16(1), u16(4 + text.length), fromHex('0a000001'), new TextEncoder().encode(text));
    const names = block(e, 4, join(record(''), record('abc\0'), record('abc\0'), record('\0\0xy')));
    expect([...drained(join(section(e), names, names)).names]).toEqual([['10.0.0.1', ['abc', 'xy']]]);
  });

  it('refuses a flood of interfaces and of sections', () => {
    const many = (what: Uint8Array) => repeated(65_537, () => what);
    const { error: interfaces } = readAll(join(section(true), many(interfaceBlock(true, 1, 0))));
    expect(interfaces).toMatchObject({
      message: expect.stringContaining('more than 65536 interfaces are not believable'),
    });
    const { error: sections } = readAll(many(section(true)));
    expect(sections).toMatchObject({ message: expect.stringContaining('more than 65536 sections are not believable') });
  });

  it('keeps a bounded amount of text, however much the file has', () => {
    const long = option(true, 2, 'x'.repeat(65_532));
    const one = interfaceBlock(true, 1, 0, long);
    const reader = new CaptureReader();
    reader.push(section(true));
    for (let count = 0; count < 300; count++) {
      reader.push(one);
      reader.next();
    }
    const kept = reader.interfaces.reduce((sum, { name }) => sum + name.length, 0);
    expect(reader.interfaces.length).toBe(300);
    expect(kept).toBeGreaterThan(4 * 1024 * 1024);
    expect(kept).toBeLessThan(8 * 1024 * 1024);
  });

  it('keeps a bounded number of comments and names, empty ones too', () => {
    const e = true;
    const empty = new Uint8Array(2 * 1024 * 1024);
    for (let at = 0; at < empty.length; at += 4) empty[at] = 1;
    const many = drained(join(section(e, empty), section(e, option(e, 1, 'too late'))));
    expect(many.sections[0]?.comments.length).toBe((8 * 1024 * 1024) / 32);
    expect(many.sections[1]?.comments).toEqual([]);
    const name = new TextEncoder().encode(`${'x'.repeat(1003)}\0`);
    const record = (index: number) => file(e, u16(1), u16(4 + name.length), u32(index), name);
    const names = block(e, 4, repeated(9000, record));
    const known = drained(join(section(e), names)).names.size;
    expect(known).toBeGreaterThan(7000);
    expect(known).toBeLessThan(8500);
    const sameAddress = (index: number) => file(e, u16(1), u16(7), u32(1), new Uint8Array([index, 0x61, 0x61, 0]));
    const ofOne = block(
      e,
      4,
      repeated(100, (index) => sameAddress(1 + index)),
    );
    expect([...drained(join(section(e), ofOne)).names.values()].map(({ length }) => length)).toEqual([64]);
  });

  it('counts comments on statistics for as long as they are the last', () => {
    const e = true;
    const counted = block(e, 5, join(file(e, u32(0), u32(0), u32(0)), option(e, 1, 'x'.repeat(60_000))));
    const reader = new CaptureReader();
    reader.push(join(section(e), interfaceBlock(e, 1, 0)));
    for (let times = 0; times < 300; times++) reader.push(counted);
    reader.push(interfaceBlock(e, 1, 0, option(e, 2, 'eth1')));
    reader.next();
    expect(reader.interfaces[0]?.statistics?.comments?.[0]?.length).toBe(60_000);
    expect(reader.interfaces[1]?.name).toBe('eth1');
  });

  it('reads a packet with very many comments in a time that grows with their number', () => {
    const comments = new Uint8Array(2 * 1024 * 1024);
    for (let at = 0; at < comments.length; at += 4) comments[at] = 1;
    const e = true;
    const length = 12 + 20 + comments.length;
    const head = file(e, u32(6), u32(length), new Uint8Array(20));
    const [packet] = [...readCapture(join(section(e), interfaceBlock(e, 1, 0), head, comments, file(e, u32(length))))];
    expect(packet?.comments.length).toBe(512 * 1024);
  });
});

describe('PcapngClock', () => {
  it('is exact for any timestamp at any resolution', () => {
    const word = fc.oneof(fc.integer({ min: 0, max: 0xffff_ffff }), fc.constantFrom(0, 1, 0xffff_ffff, 0x8000_0000));
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 255 }), word, word, fc.integer(), (resolution, high, low, offset) => {
        const units = (resolution & 0x80 ? 2n : 10n) ** BigInt(resolution & 0x7f);
        const time = (BigInt(high) << 32n) | BigInt(low);
        const clock = new PcapngClock(resolution, offset);
        clock.read(high, low);
        expect(clock.nanoseconds).toBe(Number(((time % units) * 1_000_000_000n) / units));
        expect(clock.seconds).toBe(Number(time / units) + offset);
      }),
      { numRuns: 2000 },
    );
  });

  it('makes the same of a timestamp whatever it has read before', () => {
    // Near each other, before and after, across seconds and across the words.
    const step = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.integer({ min: -2_000_000, max: 2_000_000 }));
    const far = fc.constantFrom(-(2 ** 33), -1_000_000_000, 999_999_999, 1_000_000_000, 2 ** 32);
    const start = fc.constantFrom(0n, 1n << 32n, 1_753_000_000_000_000_000n, (1n << 63n) - 5n);
    fc.assert(
      fc.property(
        fc.constantFrom(0, 3, 6, 9, 10, 0x80, 0x94, 0xa0, 0xa1),
        start,
        fc.array(fc.oneof(step, step, far), { minLength: 2, maxLength: 30 }),
        (resolution, first, steps) => {
          const used = new PcapngClock(resolution, 7);
          let time = first;
          for (const each of steps) {
            time = BigInt.asUintN(64, time + BigInt(each));
            const [high, low] = [Number(time >> 32n), Number(time & 0xffff_ffffn)];
            const fresh = new PcapngClock(resolution, 7);
            used.read(high, low);
            fresh.read(high, low);
            expect([used.seconds, used.nanoseconds]).toEqual([fresh.seconds, fresh.nanoseconds]);
          }
        },
      ),
      { numRuns: 1000 },
    );
  });
});
