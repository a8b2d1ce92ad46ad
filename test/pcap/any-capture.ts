/**
 * Captures of every shape, with what a reader has to make of them: what was written is known, so that nothing has to be
 * read to know it.
 */
import fc from 'fast-check';
import { expect } from 'vitest';
import { Op } from '../../packets/opcode.ts';
import { type CapturedPacket, Direction } from '../../pcap/types.ts';
import { rxeFrame } from '../packets/made-frames.ts';
import { block, file, interfaceBlock, join, option, section, timestamp, u16, u32, u64 } from './made-files.ts';

/** A capture file and its packets. */
export interface KnownCapture {
  readonly bytes: Uint8Array;
  readonly packets: readonly CapturedPacket[];
  /** Lengths of the records, file header included. */
  readonly records: readonly number[];
}

type Body = (e: boolean, number: number, interfaces: readonly Port[], first: number) => Written;
/** A record, and its packet; nothing else of it is told. `numbered`: it has a number of its own. */
interface Written {
  readonly bytes: Uint8Array;
  readonly packet?: CapturedPacket;
  readonly numbered?: boolean;
}
interface Port {
  readonly linkType: number;
  readonly snapLength: number;
  /** Undefined: microseconds. */
  readonly resolution: number | undefined;
  readonly offset: bigint | undefined;
}

const anyBytes = fc
  .tuple(fc.oneof(fc.nat(70), fc.constantFrom(0, 1, 3, 4, 1500, 70_000)), fc.nat(255))
  .map(([length, first]) => Uint8Array.from({ length }, (_, i) => (first + 7 * i + (i >>> 8)) & 0xff));
const FRAMES = [Op.WriteFirst, Op.Acknowledge, Op.SendOnly, Op.ReadRequest].map(rxeFrame);
const payload = fc.oneof(anyBytes, fc.constantFrom(...FRAMES));
const word = fc.oneof(fc.nat(0xffff_ffff), fc.constantFrom(0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff));
/** Undefined: as long as captured. */
const original = fc.option(word, { nil: undefined });
const port: fc.Arbitrary<Port> = fc.record({
  linkType: fc.constantFrom(0, 1, 1, 1, 101, 113, 276, 0xffff),
  snapLength: fc.constantFrom(0, 2, 64, 262_144),
  resolution: fc.constantFrom(undefined, 0, 3, 6, 9, 12, 0x80, 0x8a, 0xa0),
  offset: fc.constantFrom(undefined, 0n, 3_600n, -5n, 1n << 33n),
});
const direction = fc.constantFrom(...Object.values(Direction));
const padding = (length: number): Uint8Array => new Uint8Array(-length & 3);

function timeOf({ resolution = 6, offset = 0n }: Port, time: bigint): { seconds: number; nanoseconds: number } {
  const units = (resolution & 0x80 ? 2n : 10n) ** BigInt(resolution & 0x7f);
  return {
    seconds: Number(time / units) + Number(offset),
    nanoseconds: Number(((time % units) * 1_000_000_000n) / units),
  };
}

/** Enhanced and obsolete packet blocks, with options. */
const timedPacket: fc.Arbitrary<Body> = fc
  .record({
    ...{ bytes: payload, at: fc.nat(), high: fc.nat(2_000_000), low: word, original, enhanced: fc.boolean() },
    ...{ direction, comments: fc.array(fc.constantFrom('', 'a', 'größer', 'x'.repeat(65_000)), { maxLength: 2 }) },
    dropCount: fc.option(fc.nat(0xfffe), { nil: undefined }),
    packetId: fc.option(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { nil: undefined }),
    ends: fc.boolean(),
  })
  .map((made): Body => {
    const { bytes, at, high, low, enhanced, comments, dropCount, packetId, ends } = made;
    const originalLength = made.original ?? bytes.length;
    return (e, number, interfaces, first) => {
      const index = at % interfaces.length;
      const of = interfaces[index] as Port;
      const time = (BigInt(high) << 32n) | BigInt(low);
      const head = enhanced ? [u32(index)] : [u16(index), u16(0xffff)];
      const options = [
        ...(made.direction === Direction.Unknown ? [] : [option(e, 2, file(e, u32(made.direction)))]),
        ...(dropCount === undefined ? [] : [option(e, 4, u64(e, BigInt(dropCount)))]),
        ...(packetId === undefined ? [] : [option(e, 5, u64(e, packetId))]),
        ...comments.map((comment) => option(e, 1, comment)),
        option(e, 2_988, new Uint8Array(number % 9)),
        ...(ends ? [new Uint8Array(4), option(e, 1, 'behind the end')] : []),
      ];
      const fixed = file(
        e,
        ...head,
        timestamp(e, time),
        u32(bytes.length),
        u32(originalLength),
        bytes,
        padding(bytes.length),
      );
      return {
        bytes: block(e, enhanced ? 6 : 2, join(fixed, ...options)),
        packet: {
          ...{ number, ...timeOf(of, time), bytes, originalLength, linkType: of.linkType },
          ...{ interfaceIndex: first + index, direction: made.direction, comments },
          ...(dropCount === undefined ? {} : { dropCount }),
          ...(packetId === undefined ? {} : { packetId }),
        },
      };
    };
  });

/** A simple packet block: of the first interface of its section, without a time. */
const simplePacket: fc.Arbitrary<Body> = fc.tuple(payload, fc.nat(100)).map(
  ([whole, more]): Body =>
    (e, number, interfaces, first) => {
      const { snapLength, linkType } = interfaces[0] as Port;
      const original = snapLength > 0 && whole.length >= snapLength ? whole.length + more : whole.length;
      const bytes = snapLength > 0 ? whole.slice(0, snapLength) : whole;
      return {
        bytes: block(e, 3, file(e, u32(original), bytes, padding(bytes.length))),
        packet: {
          ...{ number, seconds: 0, nanoseconds: 0, bytes, originalLength: original, linkType },
          ...{ interfaceIndex: first, direction: Direction.Unknown, comments: [] },
        },
      };
    },
);

/** What is passed over; some of it is counted. */
const otherBlock: fc.Arbitrary<Body> = fc
  .tuple(fc.constantFrom(5, 9, 10, 0xbad, 0x4000_0bad, 0x7fff_fff0), fc.constantFrom(0, 4, 12, 400, 66_000, 140_000))
  .map(([type, length]): Body => {
    const numbered = [9, 0xbad, 0x4000_0bad].includes(type);
    // Statistics of the first interface.
    return (e) => ({ bytes: block(e, type, new Uint8Array(type === 5 ? Math.max(12, length) : length)), numbered });
  });

const bodies = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: timedPacket },
    { weight: 2, arbitrary: simplePacket },
    { weight: 2, arbitrary: otherBlock },
  ),
  { maxLength: 12 },
);

/** Sections of both byte orders, each with interfaces of its own. */
const pcapng: fc.Arbitrary<KnownCapture> = fc
  .array(fc.record({ e: fc.boolean(), ports: fc.array(port, { minLength: 1, maxLength: 3 }), bodies }), {
    minLength: 1,
    maxLength: 3,
  })
  .map((sections) => {
    const parts: Uint8Array[] = [];
    const packets: CapturedPacket[] = [];
    let [numbered, first] = [0, 0];
    for (const { e, ports, bodies: written } of sections) {
      parts.push(section(e, option(e, 4, 'made up')));
      for (const { linkType, snapLength, resolution, offset } of ports) {
        const options = [
          ...(resolution === undefined ? [] : [option(e, 9, Uint8Array.of(resolution))]),
          ...(offset === undefined ? [] : [option(e, 14, u64(e, BigInt.asUintN(64, offset)))]),
        ];
        parts.push(interfaceBlock(e, linkType, snapLength, ...options));
      }
      for (const body of written) {
        const { bytes, packet, numbered: counts = false } = body(e, numbered + 1, ports, first);
        parts.push(bytes);
        if (packet !== undefined) packets.push(packet);
        if (packet !== undefined || counts) numbered++;
      }
      first += ports.length;
    }
    return { bytes: join(...parts), packets, records: parts.map(({ length }) => length) };
  });

const records = fc.array(fc.record({ bytes: payload, seconds: word, fraction: word, original }), {
  maxLength: 20,
});

/** Classic pcap, in either order and resolution, and the format with longer records. */
const pcap: fc.Arbitrary<KnownCapture> = fc
  .record({
    ...{ e: fc.boolean(), magic: fc.constantFrom(0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34), records },
    linkType: fc.constantFrom(1, 101, 276),
  })
  .map(({ e, magic, records: all, linkType }) => {
    const unit = magic === 0xa1b2_3c4d ? 1 : 1000;
    const more = magic === 0xa1b2_cd34 ? [u32(7), u16(0x0800), u16(0)] : [];
    const head = file(e, u32(magic), u16(2), u16(4), u32(0), u32(0), u32(262_144), u32(linkType));
    const packets = all.map(
      ({ bytes, seconds, fraction, original: originalLength = bytes.length }, index): CapturedPacket => {
        const nanoseconds = fraction * unit;
        return {
          ...{ number: index + 1, seconds: seconds + Math.floor(nanoseconds / 1e9), nanoseconds: nanoseconds % 1e9 },
          ...{ bytes, originalLength, linkType, interfaceIndex: 0, direction: Direction.Unknown, comments: [] },
        };
      },
    );
    const parts = all.map(({ bytes, seconds, fraction, original: originalLength = bytes.length }) =>
      file(e, u32(seconds), u32(fraction), u32(bytes.length), u32(originalLength), ...more, bytes),
    );
    return { bytes: join(head, ...parts), packets, records: [head, ...parts].map(({ length }) => length) };
  });

/** A sound capture of either format. */
export const anyCapture: fc.Arbitrary<KnownCapture> = fc.oneof(pcapng, pcap);

/** Lengths of chunks, to be taken in turns. */
export const chunkSizes = fc.array(
  fc.oneof(
    fc.integer({ min: 1, max: 40 }),
    fc.integer({ min: 41, max: 5_000 }),
    fc.integer({ min: 65_530, max: 65_542 }),
    fc.integer({ min: 65_543, max: 1_000_000 }),
  ),
  { minLength: 1, maxLength: 6 },
);

/** Calls `use` with each chunk, in one of four buffers; the rest of the buffer is garbage. */
export function inChunks(bytes: Uint8Array, lengths: readonly number[], use: (chunk: Uint8Array) => void): void {
  const buffers = Array.from({ length: 4 }, () => new Uint8Array(Math.max(...lengths)));
  for (let at = 0, count = 0; at < bytes.length; count++) {
    const length = Math.min(lengths[count % lengths.length] ?? 1, bytes.length - at);
    const buffer = buffers[count % 4] as Uint8Array;
    buffer.fill(0xa5);
    buffer.set(bytes.subarray(at, at + length));
    use(buffer.subarray(0, length));
    at += length;
  }
}

/** A difference that can be read, and soon: packets may be long. */
export function expectSame(read: CapturedPacket | undefined, { bytes: wanted, ...written }: CapturedPacket): void {
  expect(read).toBeDefined();
  const { bytes, ...rest } = read as CapturedPacket;
  expect(rest).toEqual(written);
  expect([bytes.length, Buffer.compare(bytes, wanted)]).toEqual([wanted.length, 0]);
}
