// Goal: whatever a file is, the reader gives out what is whole before the first damage, then says where the damage is,
// with nothing but ERR_ROCE_CAPTURE, the same in whatever pieces the file comes, and holds no more than it has to.
// Method: files of every kind, cut, with bits flipped, hostile lengths put in, parts taken out or doubled, in any
// pieces; claims of gigabytes; a byte queue against a plain array. FC_RUNS sets the number of runs of the first.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Op } from '../../packets/opcode.ts';
import { ByteQueue } from '../../pcap/byte-queue.ts';
import { Dissection, dissect, icrcState } from '../../pcap/dissection.ts';
import { PcapWriter } from '../../pcap/pcap-writer.ts';
import { PcapngWriter } from '../../pcap/pcapng-writer.ts';
import { CaptureReader, readCapture } from '../../pcap/reader.ts';
import { LinkType } from '../../pcap/types.ts';
import { rxeFrame } from '../packets/made-frames.ts';
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
  u16,
  u32,
  u64,
} from './made-files.ts';

const RUNS = Number(process.env['FC_RUNS'] ?? 100);
const FRAMES = [rxeFrame(Op.Acknowledge), rxeFrame(Op.SendOnly), rxeFrame(Op.ReadRequest)];

/** Everything that a reader tells of a file. */
function toldOf(bytes: Uint8Array, pieces: readonly number[]) {
  const reader = new CaptureReader();
  const packets = [];
  let error: unknown;
  try {
    for (let at = 0, piece = 0; at < bytes.length; piece++) {
      const length = pieces.length === 0 ? bytes.length : (pieces[piece % pieces.length] ?? 1);
      reader.push(bytes.slice(at, at + length));
      at += length;
      for (let packet = reader.next(); packet !== undefined; packet = reader.next()) packets.push(packet);
    }
    reader.end();
  } catch (thrown) {
    error = thrown;
  }
  const { sections, interfaces, names } = reader;
  return { packets, sections, interfaces, names: [...names], error };
}

function pcapngFile(e: boolean): Uint8Array {
  const names = file(e, u16(1), u16(8), fromHex('0a000001'), new TextEncoder().encode('abc\0'), u16(0), u16(0));
  return join(
    ...[
      section(e, option(e, 4, 'dumpcap')),
      interfaceBlock(e, 1, 0, option(e, 2, 'eth0'), option(e, 9, new Uint8Array([9]))),
    ],
    ...FRAMES.map((frame, index) =>
      packetBlock(e, 0, BigInt(index), frame, option(e, 1, 'c'), option(e, 4, u64(e, 1n))),
    ),
    ...[block(e, 4, names), block(e, 0xbad, new Uint8Array(8)), block(e, 3, file(e, u32(4), u32(1)))],
    block(e, 5, file(e, u32(0), u32(0), u32(9), option(e, 4, u64(e, 3n)))),
    block(e, 2, file(e, u16(0), u16(3), u32(0), u32(3), u32(4), u32(60), u32(7))),
  );
}

function pcapFile(e: boolean, magic: number): Uint8Array {
  const patched = magic === 0xa1b2cd34 ? [u32(1), u16(0x0800), u16(0)] : [];
  return join(
    file(e, u32(magic), u16(2), u16(4), u32(0), u32(0), u32(65_535), u32(1)),
    ...FRAMES.map((frame) => file(e, u32(1), u32(2), u32(frame.length), u32(frame.length), ...patched, frame)),
  );
}

const FILES: readonly (readonly [name: string, bytes: Uint8Array])[] = [
  ...[true, false].map((e) => [`pcapng, little-endian ${e}`, pcapngFile(e)] as const),
  ['pcapng of both orders', join(pcapngFile(false), pcapngFile(true))],
  ...[0xa1b2c3d4, 0xa1b23c4d, 0xa1b2cd34].flatMap((magic) =>
    [true, false].map((e) => [`pcap ${magic.toString(16)}, little-endian ${e}`, pcapFile(e, magic)] as const),
  ),
];

/** Where each packet's record ends, by lengths alone. */
function packetEnds(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const isPcapng = view.getUint32(0) === 0x0a0d0d0a;
  const ends: number[] = [];
  let e = view.getUint8(0) !== 0xa1;
  for (let at = isPcapng ? 0 : 24; at < bytes.length; ) {
    if (!isPcapng) {
      const header = [view.getUint32(0), view.getUint32(0, true)].includes(0xa1b2cd34) ? 24 : 16;
      at += header + view.getUint32(at + 8, e);
      ends.push(at);
      continue;
    }
    if (view.getUint32(at) === 0x0a0d0d0a) e = view.getUint8(at + 8) === 0x4d;
    const type = view.getUint32(at, e);
    at += view.getUint32(at + 4, e);
    if (type === 2 || type === 3 || type === 6) ends.push(at);
  }
  return ends;
}

type Damage = (bytes: Uint8Array) => Uint8Array;
const place = fc.nat({ max: 100_000 });
const hostileLength = fc.oneof(
  fc.constantFrom(0, 1, 3, 4, 8, 11, 12, 16, 20, 0xffff, 0x10000, 0xff_fffc, 0x100_0000, 0x100_0004),
  fc.constantFrom(0x7fff_ffff, 0x8000_0000, 0xffff_fffc, 0xffff_ffff),
);
const damages: fc.Arbitrary<Damage> = fc.oneof(
  place.map(
    (at): Damage =>
      (bytes) =>
        bytes.slice(0, at % (bytes.length + 1)),
  ),
  fc.tuple(place, fc.nat({ max: 7 })).map(
    ([at, bit]): Damage =>
      (bytes) => {
        const flipped = bytes.slice();
        if (bytes.length > 0) flipped[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ (1 << bit);
        return flipped;
      },
  ),
  fc.tuple(place, hostileLength, fc.boolean()).map(
    ([at, length, e]): Damage =>
      (bytes) => {
        const spliced = bytes.slice();
        const words = Math.floor(bytes.length / 4);
        if (words > 0) new DataView(spliced.buffer).setUint32((at % words) * 4, length, e);
        return spliced;
      },
  ),
  fc.tuple(place, fc.nat({ max: 40 })).map(
    ([at, length]): Damage =>
      (bytes) => {
        const from = at % (bytes.length + 1);
        return join(bytes.subarray(0, from), bytes.subarray(from + length));
      },
  ),
  fc.tuple(place, place, fc.nat({ max: 200 })).map(
    ([from, to, length]): Damage =>
      (bytes) => {
        const start = from % (bytes.length + 1);
        const at = to % (bytes.length + 1);
        return join(bytes.subarray(0, at), bytes.subarray(start, start + length), bytes.subarray(at));
      },
  ),
);
const pieces = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 10 });

describe('CaptureReader', () => {
  it.each(FILES)(
    'reads the same in any pieces and throws nothing but ERR_ROCE_CAPTURE, whatever happened to a file: %s',
    (_name, good) => {
      const dissection = new Dissection();
      fc.assert(
        fc.property(fc.array(damages, { minLength: 1, maxLength: 3 }), pieces, (done, sizes) => {
          const bytes = done.reduce((damaged, damage) => damage(damaged), good);
          const whole = toldOf(bytes, []);
          if (whole.error !== undefined) {
            expect(whole.error).toMatchObject({ name: 'RoceError', code: 'ERR_ROCE_CAPTURE' });
            const offset = Number(/^capture file, byte (\d+): /.exec(String((whole.error as Error).message))?.[1]);
            expect(offset).toBeLessThanOrEqual(bytes.length);
          }
          expect(toldOf(bytes, sizes)).toEqual(whole);
          for (const packet of whole.packets) {
            dissect(packet, dissection);
            icrcState(dissection);
          }
        }),
        { numRuns: RUNS },
      );
    },
  );

  it.each([true, false])('reads the same in large pieces (pcapng: %s)', (pcapng) => {
    const lengths = Array.from({ length: 400 }, (_, index) => (index * 7919) % 1500);
    const big = pcapng
      ? join(
          section(true),
          interfaceBlock(true, 1, 0),
          ...lengths.map((n, i) => packetBlock(true, 0, BigInt(i), new Uint8Array(n).fill(i))),
        )
      : join(
          file(true, u32(0xa1b2c3d4), u16(2), u16(4), u32(0), u32(0), u32(65_535), u32(1)),
          ...lengths.map((n, i) => file(true, u32(i), u32(0), u32(n), u32(n), new Uint8Array(n).fill(i))),
        );
    // As text: element by element the comparison takes its time.
    const readIn = (sizes: readonly number[]) => {
      const { packets, error } = toldOf(big, sizes);
      return [error, ...packets.map(({ bytes, number }) => `${number} ${Buffer.from(bytes).toString('base64')}`)].join(
        '\n',
      );
    };
    const whole = readIn([]);
    expect(whole.split('\n').length).toBe(401);
    const large = fc.array(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 65_530, max: 90_000 })), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(large, (sizes) => {
        expect(readIn(sizes) === whole).toBe(true);
      }),
      { numRuns: 15 },
    );
  });

  it.each(FILES)('gives out what is whole before the place where a file was cut: %s', (_name, good) => {
    const ends = packetEnds(good);
    const packets = [...readCapture(good)];
    expect(ends.length).toBe(packets.length);
    for (let kept = 0; kept < good.length; kept++) {
      const cut = readAll(good.subarray(0, kept));
      const wholes = ends.filter((end) => end <= kept).length;
      expect(cut.packets.length).toBe(wholes);
      if (wholes > 0) expect(cut.packets.at(-1)).toEqual(packets[wholes - 1]);
    }
  });

  it('tells of a cut just behind a record that came in two pieces, the second a large one', () => {
    const record = file(true, u32(0), u32(0), u32(70_000), u32(70_000), new Uint8Array(70_000));
    const bytes = join(pcapFile(true, 0xa1b2c3d4).subarray(0, 24), record, new Uint8Array(5));
    const { packets, error } = toldOf(bytes, [100, 70_000]);
    expect(packets.length).toBe(1);
    const message = `capture file, byte ${24 + record.length}: the file ends inside a record, 5 bytes into it`;
    expect(error).toMatchObject({ message });
  });

  it.each([
    ['a pcapng block', join(section(true), file(true, u32(6), u32(0x8000_0000), u32(0))), 32],
    ['a pcapng block just too large', join(section(false), file(false, u32(6), u32(0x100_0004), u32(0))), 32],
    ['a section', file(true, u32(0x0a0d0d0a), u32(0x7fff_fffc), u32(0x1a2b3c4d)), 4],
    [
      'a pcap record',
      join(pcapFile(true, 0xa1b2c3d4).subarray(0, 24), file(true, u32(0), u32(0), u32(0x8000_0000), u32(0))),
      32,
    ],
    [
      'a pcap record just too large',
      join(pcapFile(true, 0xa1b2c3d4).subarray(0, 24), file(true, u32(0), u32(0), u32(0x100_0001), u32(0))),
      32,
    ],
  ])(
    'refuses %s that claims more than 16 MiB as soon as it has claimed it, and again when asked again',
    (_what, bytes, offset) => {
      const reader = new CaptureReader();
      reader.push(bytes);
      for (let times = 0; times < 2; times++) {
        expect(() => reader.next()).toThrow(
          expect.objectContaining({ code: 'ERR_ROCE_CAPTURE', message: expect.stringContaining(`byte ${offset}: `) }),
        );
      }
    },
  );

  it('takes records of 16 MiB', () => {
    const bytes = new Uint8Array(16 * 1024 * 1024);
    const writer = new PcapWriter(LinkType.Ethernet, bytes.length);
    writer.packet(bytes, 0, bytes.length, 0, 0);
    expect([...readCapture(writer.take())][0]?.bytes.length).toBe(bytes.length);
    const blocks = new PcapngWriter();
    blocks.addInterface({ name: '', linkType: LinkType.Ethernet });
    blocks.packet(0, bytes, 0, bytes.length - 32, 0, 0);
    expect([...readCapture(blocks.take())][0]?.bytes.length).toBe(bytes.length - 32);
  });

  it.each([
    ['1f8b0800', 'the file is compressed with gzip: decompress it first'],
    ['28b52ffd', 'the file is compressed with zstd: decompress it first'],
    ['04224d18', 'the file is compressed with lz4: decompress it first'],
    ['fd377a58', 'the file is compressed with xz: decompress it first'],
    ['425a6839', 'the file is compressed with bzip2: decompress it first'],
    ['504b0304', 'the file is a zip archive: decompress it first'],
    ['736e6f6f', 'the file is a capture of snoop: convert it with "editcap -F pcapng"'],
    ['5452534e', 'the file is a capture of the Sniffer: convert it with "editcap -F pcapng"'],
    ['474d4255', 'the file is a capture of Network Monitor: convert it with "editcap -F pcapng"'],
    ['52545353', 'the file is a capture of Network Monitor: convert it with "editcap -F pcapng"'],
    ['69707472', 'the file is a trace of iptrace: convert it with "editcap -F pcapng"'],
    ['6274736e', 'the file is a capture of Bluetooth (btsnoop)'],
    ['00000000', '0x00000000 is neither the start of a pcap nor of a pcapng file'],
    ['ffffffff', '0xffffffff is neither the start of a pcap nor of a pcapng file'],
  ])('knows a file that begins with %s', (start, sentence) => {
    expect(readAll(fromHex(start)).error).toMatchObject({ message: `capture file, byte 0: ${sentence}` });
  });
});

describe('ByteQueue', () => {
  /** The byte at a position of an endless stream. */
  const byteAt = (position: number) => (position * 31 + (position >>> 8)) & 0xff;
  const size = fc.oneof(fc.nat({ max: 3000 }), fc.integer({ min: 60_000, max: 140_000 }));

  it('holds what was pushed and not consumed in the order of pushing, and nothing that it handed out ever changes', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(size, fc.array(size, { maxLength: 3 })), { maxLength: 12 }), (steps) => {
        const queue = new ByteQueue();
        const handedOut: { readonly bytes: Uint8Array; readonly position: number }[] = [];
        let pushed = 0;
        let consumed = 0;
        let most = 0;
        for (const [length, wanted] of steps) {
          queue.push(Uint8Array.from({ length }, (_, index) => byteAt(pushed + index)));
          pushed += length;
          most = Math.max(most, pushed - consumed);
          for (const count of wanted) {
            const there = pushed - consumed;
            expect([queue.length, queue.offset, queue.has(there + 1)]).toEqual([there, consumed, false]);
            expect(queue.has(count)).toBe(count <= there);
            if (count > there) continue;
            handedOut.push({ bytes: queue.bytes.subarray(queue.start, queue.start + count), position: consumed });
            if (count > 0) expect(queue.view.getUint8(queue.start)).toBe(byteAt(consumed));
            queue.consume(count);
            consumed += count;
          }
          // Grown to twice what was there when it had to grow.
          expect(queue.bytes.length).toBeLessThanOrEqual(Math.max(65_536, 2 * most));
        }
        for (const { bytes, position } of handedOut) {
          let wrong = 0;
          for (let index = 0; index < bytes.length; index++) if (bytes[index] !== byteAt(position + index)) wrong++;
          expect(wrong).toBe(0);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('takes a large piece as it is, and copies what lies across its beginning only', () => {
    const queue = new ByteQueue();
    const [first, second] = [new Uint8Array(100_000), new Uint8Array(100_000)];
    queue.push(first);
    queue.consume(99_990);
    queue.push(second);
    expect(queue.has(30)).toBe(true);
    expect(queue.bytes.length).toBe(30);
    queue.consume(30);
    expect(queue.has(1)).toBe(true);
    expect([queue.bytes.buffer === second.buffer, queue.bytes.byteOffset + queue.start]).toEqual([true, 20]);
  });
});
