/**
 * Goal: whatever a sound capture has, in whatever chunks it comes, each packet is read as it was written, while its
 * chunk and the two after it are in use and not longer. Method: captures whose packets are known from their making;
 * chunks of one byte to more than the file in four buffers that are written over in turn, as those of a file are.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CaptureCopy } from '../../pcap/capture-copy.ts';
import { ownPacket } from '../../pcap/placed-packet.ts';
import { CaptureReader } from '../../pcap/reader.ts';
import type { CapturedPacket } from '../../pcap/types.ts';
import { anyCapture, chunkSizes, expectSame, inChunks } from './any-capture.ts';

it('is read as it was written, in chunks of any size', () => {
  fc.assert(
    fc.property(anyCapture, chunkSizes, ({ bytes, packets }, lengths) => {
      // Without chunks of a byte where there would be too many.
      const chunks = bytes.length > 5_000 ? lengths.map((length) => length + 40) : lengths;
      const reader = new CaptureReader();
      let read = 0;
      inChunks(bytes, chunks, (chunk) => {
        reader.push(chunk);
        for (let placed = reader.nextPlaced(); placed !== undefined; placed = reader.nextPlaced())
          expectSame(ownPacket(placed), packets[read++] as CapturedPacket);
      });
      reader.end();
      expect(read).toBe(packets.length);
    }),
    { numRuns: RUNS },
  );
});

it('tells where it was cut, unless that is between two records, in two chunks of any size', () => {
  const where = fc.record({
    record: fc.nat(),
    beside: fc.oneof(fc.integer({ min: -13, max: 13 }), fc.integer()),
    chunk: fc.nat(),
  });
  fc.assert(
    fc.property(anyCapture, where, ({ bytes, packets, records }, { record, beside, chunk }) => {
      let end = 0;
      const ends = records.map((length) => (end += length));
      const near = (ends[record % ends.length] as number) + beside;
      const cut = bytes.subarray(0, 1 + (Math.abs(near) % bytes.length));
      const first = 1 + (chunk % cut.length);
      const reader = new CaptureReader();
      let read = 0;
      for (const part of [cut.slice(0, first), cut.slice(first)]) {
        reader.push(part);
        for (let packet = reader.next(); packet !== undefined; packet = reader.next())
          expectSame(packet, packets[read++] as CapturedPacket);
      }
      const whole = Math.max(0, ...ends.filter((each) => each <= cut.length));
      const told = `capture file, byte ${whole}: the file ends inside a record, ${cut.length - whole} bytes into it`;
      if (whole === cut.length) reader.end();
      else expect(() => reader.end()).toThrow(told);
      if (whole === bytes.length) expect(read).toBe(packets.length);
    }),
    { numRuns: 5 * RUNS },
  );
});

it('is copied as it was, with a comment on some packets', () => {
  fc.assert(
    fc.property(anyCapture, chunkSizes, ({ bytes, packets }, lengths) => {
      const chunks = bytes.length > 5_000 ? lengths.map((length) => length + 40) : lengths;
      const copy = new CaptureCopy();
      const reader = new CaptureReader(copy);
      const copied = new CaptureReader();
      // A simple packet has no time, and would get that of its interface's beginning.
      const isMarked = ({ number, seconds, nanoseconds }: CapturedPacket) =>
        number % 2 === 0 && (seconds > 0 || nanoseconds > 0);
      inChunks(bytes, chunks, (chunk) => {
        reader.push(chunk);
        for (let packet = reader.next(); packet !== undefined; packet = reader.next())
          copy.keep(packet, isMarked(packet) ? ['marked'] : []);
        copied.push(copy.take());
      });
      for (const packet of packets) {
        const read = copied.next();
        const comments = isMarked(packet) ? [...packet.comments, 'marked'] : packet.comments;
        // Blocks that may not be copied had numbers, too.
        expectSame(read, { ...packet, number: read?.number ?? 0, comments });
      }
      expect(copied.next()).toBeUndefined();
      copied.end();
    }),
    { numRuns: RUNS },
  );
});

const RUNS = Number(process.env['FC_RUNS'] ?? 60);
