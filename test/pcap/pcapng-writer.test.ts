// Goal: what PcapngWriter and PcapWriter put out is read back the same, and the block layout is the one of the format.
// Method: golden bytes for the smallest file, properties over any packets, names, directions and comments.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RoceError } from '../../packets/errors.ts';
import { PcapWriter } from '../../pcap/pcap-writer.ts';
import { PcapngWriter } from '../../pcap/pcapng-writer.ts';
import { CaptureReader, readCapture } from '../../pcap/reader.ts';
import { Direction, LinkType } from '../../pcap/types.ts';

function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

const packetArbitrary = fc.record({
  bytes: fc.uint8Array({ maxLength: 200 }),
  seconds: fc.integer({ min: 0, max: 2 ** 33 }),
  nanoseconds: fc.integer({ min: 0, max: 999_999_999 }),
  direction: fc.constantFrom(Direction.Unknown, Direction.Inbound, Direction.Outbound),
  // An empty comment is left out of the file, and a trailing NUL is dropped by readers.
  comments: fc.array(
    fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !text.endsWith('\0')),
    { maxLength: 3 },
  ),
  interfaceIndex: fc.nat({ max: 2 }),
});

describe('PcapngWriter', () => {
  it('writes the blocks of the format byte for byte', () => {
    const writer = new PcapngWriter({ application: 'roce' });
    const wire = writer.addInterface({ name: 'wire', linkType: LinkType.Raw, snapLength: 5 });
    writer.packet(wire, new Uint8Array([9, 1, 2, 3, 4, 5, 6, 9]), 1, 7, 1, 2, {
      direction: Direction.Outbound,
      comments: ['hi'],
    });
    expect(hex(writer.take())).toBe(
      [
        // section header: type, length, magic, version 1.0, unknown length, option 4 'roce', end, length
        '0a0d0d0a',
        '28000000',
        '4d3c2b1a',
        '01000000',
        'ffffffffffffffff',
        '04000400',
        '726f6365',
        '00000000',
        '28000000',
        // interface: type, length, link type 101, snap length 5, option 2 'wire', option 9 resolution 9, end, length
        '01000000',
        '28000000',
        '65000000',
        '05000000',
        '02000400',
        '77697265',
        '09000100',
        '09000000',
        '00000000',
        '28000000',
        // packet: type, length, interface, time high, low (1,000,000,002), kept 5, original 6, bytes, option 1 'hi',
        // option 2 outbound, end, length
        '06000000',
        '3c000000',
        '00000000',
        '00000000',
        '02ca9a3b',
        '05000000',
        '06000000',
        '0102030405000000',
        '01000200',
        '68690000',
        '02000400',
        '02000000',
        '00000000',
        '3c000000',
      ].join(''),
    );
    expect(writer.pendingBytes).toBe(0);
  });

  it('writes no end of options where there are none', () => {
    const writer = new PcapngWriter();
    writer.addInterface({ name: '', linkType: LinkType.Raw });
    writer.take();
    writer.packet(0, new Uint8Array([1]), 0, 1, 0, 3);
    expect(hex(writer.take())).toBe(
      ['06000000', '24000000', '00000000', '00000000', '03000000', '01000000', '01000000', '01000000', '24000000'].join(
        '',
      ),
    );
  });

  it('is read back the same, whatever packets, times, directions and comments', () => {
    fc.assert(
      fc.property(fc.array(packetArbitrary, { maxLength: 20 }), (packets) => {
        const writer = new PcapngWriter();
        for (const name of ['a', 'b', 'c']) {
          writer.addInterface({ name, description: `port ${name}`, linkType: LinkType.Ethernet });
        }
        const chunks: Uint8Array[] = [];
        for (const { interfaceIndex, bytes, seconds, nanoseconds, direction, comments } of packets) {
          writer.packet(interfaceIndex, bytes, 0, bytes.length, seconds, nanoseconds, { direction, comments });
          chunks.push(writer.take());
        }
        chunks.push(writer.take());
        const reader = new CaptureReader();
        const read = [];
        for (const chunk of chunks) {
          reader.push(chunk);
          for (let packet = reader.next(); packet !== undefined; packet = reader.next()) read.push(packet);
        }
        reader.end();
        expect(reader.interfaces.map(({ name, description }) => [name, description])).toEqual([
          ['a', 'port a'],
          ['b', 'port b'],
          ['c', 'port c'],
        ]);
        expect(read).toEqual(
          packets.map((packet, index) => ({
            ...packet,
            // The file is UTF-8: what is not a character (half a surrogate pair) becomes the replacement character.
            comments: packet.comments.map((comment) => comment.toWellFormed()),
            number: index + 1,
            originalLength: packet.bytes.length,
            linkType: LinkType.Ethernet,
          })),
        );
      }),
    );
  });

  it('cuts a comment that is longer than an option can be between two characters', () => {
    const writer = new PcapngWriter();
    writer.addInterface({ name: 'x', linkType: LinkType.Ethernet });
    writer.packet(0, new Uint8Array(4), 0, 4, 0, 0, { comments: ['é'.repeat(40_000)] });
    const [packet] = [...readCapture(writer.take())];
    expect(packet?.comments).toEqual(['é'.repeat(32_767)]);
  });

  it('keeps the original length when the caller holds a part of the packet', () => {
    const writer = new PcapngWriter();
    writer.addInterface({ name: 'x', linkType: LinkType.Ethernet });
    writer.packet(0, new Uint8Array(4), 0, 4, 0, 0, { originalLength: 1500 });
    expect([...readCapture(writer.take())][0]?.originalLength).toBe(1500);
  });

  it('refuses an interface that was not added', () => {
    const writer = new PcapngWriter();
    expect(() => writer.packet(0, new Uint8Array(4), 0, 4, 0, 0)).toThrow(
      new RoceError('ERR_ROCE_ARGUMENT', 'capture interface 0 was not added to this writer'),
    );
  });

  it('never writes into bytes it has handed out', () => {
    const writer = new PcapngWriter();
    writer.addInterface({ name: 'x', linkType: LinkType.Ethernet });
    const first = writer.take();
    const before = hex(first);
    writer.packet(0, new Uint8Array(3000).fill(0xa5), 0, 3000, 0, 0);
    writer.take();
    expect(hex(first)).toBe(before);
  });
});

describe('PcapWriter', () => {
  it('is read back the same with nanoseconds, cut to its snap length', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            bytes: fc.uint8Array({ maxLength: 80 }),
            seconds: fc.nat({ max: 0xffff_ffff }),
            nanoseconds: fc.nat({ max: 999_999_999 }),
          }),
        ),
        (packets) => {
          const writer = new PcapWriter(LinkType.Raw, 64);
          for (const { bytes, seconds, nanoseconds } of packets) {
            writer.packet(bytes, 0, bytes.length, seconds, nanoseconds);
          }
          expect([...readCapture(writer.take())]).toEqual(
            packets.map(({ bytes, seconds, nanoseconds }, index) => ({
              number: index + 1,
              seconds,
              nanoseconds,
              bytes: bytes.subarray(0, 64),
              originalLength: bytes.length,
              linkType: LinkType.Raw,
              interfaceIndex: 0,
              direction: Direction.Unknown,
              comments: [],
            })),
          );
        },
      ),
    );
  });

  it('keeps the original length when the caller holds a part of the packet', () => {
    const writer = new PcapWriter(LinkType.Raw);
    writer.packet(new Uint8Array(4), 0, 4, 0, 0, 1500);
    expect([...readCapture(writer.take())][0]).toMatchObject({ bytes: new Uint8Array(4), originalLength: 1500 });
  });
});
