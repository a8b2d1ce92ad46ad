// Goal: every well-formed pcap and pcapng file is read whatever its byte order and resolution, and every other byte
// sequence ends in ERR_ROCE_CAPTURE naming an offset, in one piece or in chunks.
// Method: files assembled by hand in both byte orders; properties over any bytes, any mutation and any chunking.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RoceError } from '../../packets/errors.ts';
import { PcapWriter } from '../../pcap/pcap-writer.ts';
import { PcapngWriter } from '../../pcap/pcapng-writer.ts';
import { CaptureReader, readCapture } from '../../pcap/reader.ts';
import { Direction, LinkType, nanosecondsSince } from '../../pcap/types.ts';
import { block, file, interfaceBlock, join, option, packetBlock, readAll, section, u16, u32 } from './made-files.ts';

function pcapFile(littleEndian: boolean, magic: number): Uint8Array {
  return file(
    littleEndian,
    ...[u32(magic), u16(2), u16(4), u32(0), u32(0), u32(96), u32(0xf400_0001)],
    ...[u32(1_700_000_000), u32(999_999), u32(3), u32(60), new Uint8Array([1, 2, 3])],
  );
}

function messageOf(bytes: Uint8Array): string {
  const { error } = readAll(bytes);
  expect(error).toBeInstanceOf(RoceError);
  expect(error).toMatchObject({ code: 'ERR_ROCE_CAPTURE' });
  return error instanceof RoceError ? error.message : '';
}

describe('a pcap file', () => {
  for (const littleEndian of [true, false]) {
    for (const [magic, nanoseconds] of [
      [0xa1b2c3d4, 999_999_000],
      [0xa1b23c4d, 999_999],
    ] as const) {
      it(`with magic ${magic.toString(16)}, ${littleEndian ? 'little' : 'big'}-endian, is read`, () => {
        const reader = new CaptureReader();
        reader.push(pcapFile(littleEndian, magic));
        expect(reader.next()).toEqual({
          number: 1,
          seconds: 1_700_000_000,
          nanoseconds,
          bytes: new Uint8Array([1, 2, 3]),
          originalLength: 60,
          linkType: LinkType.Ethernet, // without the bits that tell the length of the FCS
          interfaceIndex: 0,
          direction: Direction.Unknown,
          comments: [],
        });
        expect(reader.next()).toBeUndefined();
        expect(reader.interfaces).toEqual([{ linkType: 1, snapLength: 96, name: '', description: '' }]);
        reader.end();
      });
    }
  }

  it('carries a fraction of more than a second into the seconds', () => {
    const bytes = pcapFile(true, 0xa1b2c3d4);
    new DataView(bytes.buffer).setUint32(28, 2_000_001, true);
    expect([...readCapture(bytes)][0]).toMatchObject({ seconds: 1_700_000_002, nanoseconds: 1000 });
  });

  it('of another version is refused', () => {
    const bytes = pcapFile(true, 0xa1b2c3d4);
    bytes[4] = 3;
    expect(messageOf(bytes)).toBe('capture file, byte 4: pcap version 3 is not known');
  });

  it('with an unbelievable packet length is refused at that length', () => {
    const bytes = pcapFile(true, 0xa1b2c3d4);
    new DataView(bytes.buffer).setUint32(32, 0xffff_ffff, true);
    expect(messageOf(bytes)).toBe('capture file, byte 32: a packet of 4294967295 bytes is not believable');
  });

  it('that is cut short yields the packets before the cut and then says where it ends', () => {
    const bytes = join(pcapFile(true, 0xa1b2c3d4), new Uint8Array(5));
    const { packets, error } = readAll(bytes);
    expect(packets.length).toBe(1);
    expect(error).toEqual(
      new RoceError('ERR_ROCE_CAPTURE', 'capture file, byte 43: the file ends inside a record, 5 bytes into it'),
    );
  });
});

describe('a pcapng file', () => {
  for (const littleEndian of [true, false]) {
    it(`in ${littleEndian ? 'little' : 'big'}-endian order is read: resolutions, offsets, old and simple packets`, () => {
      const e = littleEndian;
      const offset = file(e, u16(14), u16(8), ...(e ? [u32(100), u32(0)] : [u32(0), u32(100)]));
      const bytes = join(
        section(e),
        interfaceBlock(e, 1, 0), // microseconds by default
        interfaceBlock(
          e,
          101,
          4,
          file(e, u16(9), u16(1), new Uint8Array([0x80 + 10, 0, 0, 0])),
          offset,
          file(e, u32(0)),
        ),
        block(e, 10, new Uint8Array(8)), // a block to pass over
        block(e, 6, file(e, u32(1), u32(0), u32(1024 * 7 + 512), u32(2), u32(9), new Uint8Array([1, 2, 0, 0]))),
        block(e, 2, file(e, u16(0), u16(3), u32(1), u32(5), u32(1), u32(1), new Uint8Array([7, 0, 0, 0]))),
        block(e, 3, file(e, u32(2), new Uint8Array([8, 9, 0, 0]))),
      );
      const packets = [...readCapture(bytes)];
      expect(packets.map(({ seconds, nanoseconds }) => [seconds, nanoseconds])).toEqual([
        [107, 500_000_000],
        [4294, 967_301_000],
        [0, 0],
      ]);
      expect(packets.map(({ bytes: data }) => [...data])).toEqual([[1, 2], [7], [8, 9]]);
      expect(packets.map(({ linkType }) => linkType)).toEqual([101, 1, 1]);
      expect(packets.map(({ originalLength }) => originalLength)).toEqual([9, 1, 2]);
    });
  }

  it('may hold sections of different byte order, each counting its interfaces from zero', () => {
    const packet = (e: boolean) => block(e, 6, file(e, u32(0), u32(0), u32(0), u32(0), u32(0)));
    const bytes = join(
      ...[section(true), interfaceBlock(true, 1, 0), packet(true)],
      ...[section(false), interfaceBlock(false, 101, 0), packet(false)],
    );
    expect([...readCapture(bytes)].map(({ interfaceIndex, linkType }) => [interfaceIndex, linkType])).toEqual([
      [0, 1],
      [1, 101],
    ]);
  });

  it('keeps times of picosecond clocks to the nanosecond', () => {
    const picoseconds = file(true, u16(9), u16(1), new Uint8Array([12, 0, 0, 0]));
    const high = Math.floor(3_000_000_001_999 / 2 ** 32);
    const low = 3_000_000_001_999 % 2 ** 32;
    const bytes = join(
      section(true),
      interfaceBlock(true, 1, 0, picoseconds),
      block(true, 6, file(true, u32(0), u32(high), u32(low), u32(0), u32(0))),
    );
    expect([...readCapture(bytes)][0]).toMatchObject({ seconds: 3, nanoseconds: 1 });
  });

  it('cuts a simple packet to the snap length of its interface', () => {
    const bytes = join(
      section(true),
      interfaceBlock(true, 1, 3),
      block(true, 3, file(true, u32(100), new Uint8Array([1, 2, 3, 0]))),
    );
    expect([...readCapture(bytes)][0]).toMatchObject({ bytes: new Uint8Array([1, 2, 3]), originalLength: 100 });
  });

  it('says where in the file the bytes of a packet are, whatever holds it', () => {
    const bytes = join(
      ...[section(true), interfaceBlock(true, 1, 0), packetBlock(true, 0, 5n, Uint8Array.of(1, 2, 3, 4, 5))],
      block(true, 3, file(true, u32(2), new Uint8Array([6, 7, 0, 0]))),
      block(true, 2, file(true, u16(0), u16(0), u32(0), u32(5), u32(3), u32(3), new Uint8Array([8, 9, 10, 0]))),
      ...[section(false), interfaceBlock(false, 1, 0), packetBlock(false, 0, 5n, Uint8Array.of(11))],
    );
    const classic = new PcapWriter(LinkType.Ethernet);
    for (const length of [3, 60]) classic.packet(new Uint8Array(length).fill(length), 0, length, 1, 2);
    for (const whole of [bytes, classic.take()]) {
      const reader = new CaptureReader();
      expect(reader.packetOffset).toBe(0);
      let packets = 0;
      for (let at = 0; at < whole.length; at += 11) {
        reader.push(whole.slice(at, at + 11));
        for (let packet = reader.next(); packet !== undefined; packet = reader.next(), packets++)
          expect(whole.subarray(reader.packetOffset).subarray(0, packet.bytes.length)).toEqual(packet.bytes);
      }
      expect(packets).toBe(whole === bytes ? 4 : 2);
    }
  });

  it('takes a simple packet for one of the first interface, whatever the one before it was of', () => {
    const bytes = join(
      ...[section(true), interfaceBlock(true, 101, 0), interfaceBlock(true, 1, 0)],
      ...[packetBlock(true, 1, 5n, Uint8Array.of(1)), block(true, 3, file(true, u32(4), Uint8Array.of(1, 2, 3, 4)))],
    );
    const seen = [...readCapture(bytes)].map(({ interfaceIndex, linkType, nanoseconds }) => ({
      ...{ interfaceIndex, linkType, nanoseconds },
    }));
    expect(seen).toEqual([
      { interfaceIndex: 1, linkType: 1, nanoseconds: 5000 },
      { interfaceIndex: 0, linkType: 101, nanoseconds: 0 },
    ]);
  });

  it('gives a simple packet nothing of the one before it', () => {
    const told = option(true, 1, 'a comment');
    const simple = block(true, 3, file(true, u32(1), new Uint8Array([7, 0, 0, 0])));
    const bytes = join(
      section(true),
      interfaceBlock(true, 1, 0),
      packetBlock(true, 0, 1n, Uint8Array.of(7), told),
      simple,
    );
    const [first, second] = [...readCapture(bytes)];
    expect([first?.comments, second?.comments, second?.seconds]).toEqual([['a comment'], [], 0]);
  });

  const start = join(section(true), interfaceBlock(true, 1, 0)); // 28 + 20 bytes
  const packetOf = (...fields: ([16 | 32, number] | Uint8Array)[]) => block(true, 6, file(true, ...fields));
  it.each([
    [
      'no byte-order magic',
      block(true, 0x0a0d0d0a, new Uint8Array(16)),
      8,
      'the section header has no byte-order magic',
    ],
    [
      'another version',
      block(true, 0x0a0d0d0a, file(true, u32(0x1a2b3c4d), u16(2), u16(0), u32(0), u32(0))),
      12,
      'pcapng version 2 is not known',
    ],
    [
      'a block length that is not a multiple of four',
      join(start, file(true, u32(9), u32(13), u32(0))),
      52,
      'a block length of 13 is not valid',
    ],
    [
      'a block length below the overhead',
      join(start, file(true, u32(9), u32(8), u32(0))),
      52,
      'a block length of 8 is not valid',
    ],
    [
      'an unbelievable block length',
      join(start, file(true, u32(9), u32(0x4000_0000), u32(0))),
      52,
      'a block length of 1073741824 is not valid',
    ],
    [
      'two lengths that differ',
      join(start, file(true, u32(9), u32(12), u32(16))),
      56,
      'a block of 12 bytes ends with the length 16',
    ],
    [
      'a short interface block',
      join(section(true), block(true, 1, new Uint8Array(4))),
      36,
      'a block is shorter than its 8 fixed bytes',
    ],
    ['a short packet block', join(start, packetOf(u32(0))), 56, 'a block is shorter than its 20 fixed bytes'],
    [
      'a packet larger than its block',
      join(start, packetOf(u32(0), u32(0), u32(0), u32(5), u32(5), u32(0))),
      68,
      'a packet of 5 bytes does not fit into its block',
    ],
    [
      'a simple packet larger than its block',
      join(start, block(true, 3, file(true, u32(5)))),
      56,
      'a packet of 5 bytes does not fit into its block',
    ],
    [
      'an interface that was not described',
      join(start, packetOf(u32(1), u32(0), u32(0), u32(0), u32(0))),
      56,
      'a packet names interface 1, which was not described',
    ],
    [
      'an option larger than its block',
      join(start, packetOf(u32(0), u32(0), u32(0), u32(0), u32(0), u16(1), u16(9))),
      76,
      'an option does not fit into its block',
    ],
    ['a cut in a block', start.subarray(0, 40), 28, 'the file ends inside a record, 12 bytes into it'],
  ])('with %s is refused at the place', (_what, bytes, offset, sentence) => {
    expect(messageOf(bytes)).toBe(`capture file, byte ${offset}: ${sentence}`);
  });
});

describe('CaptureReader', () => {
  it.each([
    ['an empty file', new Uint8Array(0), 0, 'the file is empty'],
    ['three bytes', new Uint8Array(3), 0, 'the file ends inside a record, 3 bytes into it'],
    ['a text', new TextEncoder().encode('hello'), 0, '0x68656c6c is neither the start of a pcap nor of a pcapng file'],
    ['a gzip file', new Uint8Array([0x1f, 0x8b, 8, 0]), 0, 'the file is compressed with gzip: decompress it first'],
  ])('refuses %s', (_what, bytes, offset, sentence) => {
    expect(messageOf(bytes)).toBe(`capture file, byte ${offset}: ${sentence}`);
  });

  it('throws nothing but ERR_ROCE_CAPTURE for any bytes behind any file start', () => {
    const starts = [
      new Uint8Array(0),
      pcapFile(true, 0xa1b2c3d4).subarray(0, 24),
      pcapFile(false, 0xa1b23c4d).subarray(0, 24),
      join(section(true), interfaceBlock(true, 1, 0)),
      join(section(false), interfaceBlock(false, 1, 64)),
    ];
    fc.assert(
      fc.property(fc.constantFrom(...starts), fc.uint8Array({ maxLength: 120 }), (head, tail) => {
        const { error } = readAll(join(head, tail));
        if (error !== undefined) expect(error).toMatchObject({ name: 'RoceError', code: 'ERR_ROCE_CAPTURE' });
      }),
      { numRuns: 500 },
    );
  });

  it('throws nothing but ERR_ROCE_CAPTURE for any damage to a good file, and reads the same in chunks of any size', () => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 4 });
    fc.assert(
      fc.property(
        fc.constantFrom(samplePcapng(), samplePcap()),
        damage,
        fc.integer({ min: 1, max: 50 }),
        (good, hits, size) => {
          const bytes = good.slice();
          for (const [at, value] of hits) bytes[at % bytes.length] = value;
          const whole = readAll(bytes);
          if (whole.error !== undefined) {
            expect(whole.error).toMatchObject({ name: 'RoceError', code: 'ERR_ROCE_CAPTURE' });
          }
          expect(readAll(bytes, size)).toEqual(whole);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('leaves packets it has handed out unchanged when more is pushed', () => {
    const bytes = samplePcapng();
    const { packets } = readAll(bytes, 16);
    expect(packets).toEqual([...readCapture(bytes)]);
  });

  it('hands out plain arrays even of a Node Buffer, whose slices would share memory', () => {
    const [packet] = [...readCapture(Buffer.from(samplePcap()))];
    expect(Object.getPrototypeOf(packet?.bytes)).toBe(Uint8Array.prototype);
  });

  it('refuses bytes after the end', () => {
    const reader = new CaptureReader();
    reader.push(samplePcap());
    while (reader.next() !== undefined);
    reader.end();
    expect(() => reader.push(new Uint8Array(1))).toThrow(
      new RoceError('ERR_ROCE_STATE', 'bytes were pushed after the end of the capture'),
    );
  });
});

describe('capture values', () => {
  it('differ by an exact number of nanoseconds', () => {
    const early = { seconds: 1_795_230_353, nanoseconds: 999_999_999 };
    const late = { seconds: 1_795_230_355, nanoseconds: 1 };
    expect(nanosecondsSince(early, late)).toBe(1_000_000_002);
    expect(nanosecondsSince(late, early)).toBe(-1_000_000_002);
  });
});

function samplePcapng(): Uint8Array {
  const writer = new PcapngWriter({ application: 'test', comment: 'sample' });
  writer.addInterface({ name: 'left', linkType: LinkType.Ethernet });
  writer.addInterface({ name: 'right', description: 'the other end', linkType: LinkType.Raw });
  for (let i = 0; i < 5; i++) {
    const bytes = new Uint8Array(20 + i).fill(i + 1);
    const options = i % 2 ? { direction: Direction.Inbound, comments: [`packet ${i}`] } : {};
    writer.packet(i % 2, bytes, 0, bytes.length, i, i * 100, options);
  }
  return writer.take();
}

function samplePcap(): Uint8Array {
  const writer = new PcapWriter(LinkType.Ethernet);
  for (let i = 0; i < 5; i++) {
    const bytes = new Uint8Array(20 + i).fill(i + 1);
    writer.packet(bytes, 0, bytes.length, i, i * 100);
  }
  return writer.take();
}
