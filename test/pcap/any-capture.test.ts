/**
 * Goal: whatever a sound capture has, in whatever chunks it comes, each packet is read as it was written, while its
 * chunk and the two after it are in use and not longer. Method: captures whose packets are known from their making;
 * chunks of one byte to more than the file in four buffers that are written over in turn, as those of a file are.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Dissection, dissect, dissectPlaced, IcrcState, icrcState } from '../../pcap/dissection.ts';
import { ownPacket } from '../../pcap/placed-packet.ts';
import { CaptureReader } from '../../pcap/reader.ts';
import type { CapturedPacket } from '../../pcap/types.ts';
import { PacketBatch, type Rest } from '../../tools/analyze/packet-batch.ts';
import { anyCapture } from './any-capture.ts';

const sizes = fc.array(
  fc.oneof(
    fc.integer({ min: 1, max: 40 }),
    fc.integer({ min: 41, max: 5_000 }),
    fc.integer({ min: 65_530, max: 65_542 }),
    fc.integer({ min: 65_543, max: 1_000_000 }),
  ),
  { minLength: 1, maxLength: 6 },
);

/** Calls `use` with each chunk, in one of four buffers; the rest of the buffer is garbage. */
function inChunks(bytes: Uint8Array, lengths: readonly number[], use: (chunk: Uint8Array) => void): void {
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
function expectSame(read: CapturedPacket | undefined, { bytes: wanted, ...written }: CapturedPacket): void {
  expect(read).toBeDefined();
  const { bytes, ...rest } = read as CapturedPacket;
  expect(rest).toEqual(written);
  expect([bytes.length, Buffer.compare(bytes, wanted)]).toEqual([wanted.length, 0]);
}

it('is read as it was written, in chunks of any size', () => {
  fc.assert(
    fc.property(anyCapture, sizes, ({ bytes, packets }, lengths) => {
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

it('crosses to another thread as it was written, with its dissection, in pieces of any size', () => {
  const slots = Array.from({ length: 4 }, () => {
    const there = new PacketBatch();
    return { there, here: new PacketBatch(there.memory) };
  });
  const [dissection, again, crossed] = [new Dissection(), new Dissection(), new Dissection()];
  fc.assert(
    fc.property(anyCapture, sizes, ({ bytes, packets }, lengths) => {
      const chunks = bytes.length > 5_000 ? lengths.map((length) => length + 500) : lengths;
      const reader = new CaptureReader();
      let [read, slot] = [0, 0];
      inChunks(bytes, chunks, (chunk) => {
        const { there, here } = slots[slot++ % 4] as (typeof slots)[number];
        there.piece.fill(0xa5, 0, 1000);
        there.piece.set(chunk);
        there.clear();
        const rests = new Map<number, Rest>();
        let count = 0;
        reader.push(there.piece.subarray(0, chunk.length));
        for (let placed = reader.nextPlaced(); placed !== undefined; placed = reader.nextPlaced()) {
          dissectPlaced(placed, dissection);
          there.set(count++, placed, dissection, icrcState(dissection), rests);
        }
        for (let at = 0; at < count; at++) {
          const packet = here.packet(at, rests);
          expectSame({ ...packet, bytes: packet.bytes }, packets[read++] as CapturedPacket);
          const status = dissect(packet, again);
          expect(here.icrc(at)).toBe(icrcState(again));
          if (here.dissection(at, crossed))
            expect([crossed.status, crossed.frame.psn]).toEqual([status, again.frame.psn]);
          else expect(icrcState(again)).toBe(IcrcState.Unknown);
        }
      });
      reader.end();
      expect(read).toBe(packets.length);
    }),
    { numRuns: RUNS },
  );
});

const RUNS = Number(process.env['FC_RUNS'] ?? 60);
