/**
 * Goal: packets come out of the memory that two threads share as they were put in. Method: packets of any kind at any
 * place; captures whose packets are known, in pieces of any size, in four batches in turn.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Direction, Dissection, dissect, dissectPlaced, IcrcState, icrcState } from '../../../pcap/index.ts';
import { ownPacket, PlacedPacket } from '../../../pcap/placed-packet.ts';
import { CaptureReader } from '../../../pcap/reader.ts';
import type { CapturedPacket } from '../../../pcap/types.ts';
import { PacketBatch, type Rest } from '../../../tools/analyze/packet-batch.ts';
import { anyCapture, chunkSizes, expectSame, inChunks } from '../../pcap/any-capture.ts';

describe('PacketBatch', () => {
  it('gives back every packet that it was given, wherever its bytes are', () => {
    const batch = new PacketBatch();
    const there = new PacketBatch(batch.memory);
    const dissection = new Dissection();
    const packets = fc.array(
      fc.record({
        at: fc.nat(900_000),
        length: fc.oneof(fc.nat(4096), fc.constantFrom(0, 1, 60_000, 140_000)),
        inPiece: fc.boolean(),
        seconds: fc.maxSafeInteger(),
        nanoseconds: fc.nat(999_999_999),
        number: fc.nat(Number.MAX_SAFE_INTEGER),
        originalLength: fc.nat(0xffff_ffff),
        linkType: fc.nat(0xffff_ffff),
        interfaceIndex: fc.nat(65_535),
        direction: fc.constantFrom(...Object.values(Direction)),
        comments: fc.oneof({ weight: 5, arbitrary: fc.constant([]) }, fc.array(fc.string(), { minLength: 1 })),
        dropCount: fc.option(fc.nat(), { nil: undefined }),
        packetId: fc.option(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { nil: undefined }),
        icrc: fc.constantFrom(...Object.values(IcrcState)),
      }),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(packets, (all) => {
        const rests = new Map<number, Rest>();
        batch.clear();
        batch.piece.forEach((_, i) => {
          if (i % 4099 === 0) batch.piece[i] = i & 0xff;
        });
        const given = all.map(({ at, length, inPiece, icrc, ...rest }, i) => {
          const elsewhere = Uint8Array.from({ length }, (_, j) => (j + i) & 0xff);
          const place = inPiece ? { memory: batch.piece, at } : { memory: elsewhere, at: 0 };
          const packet = Object.assign(new PlacedPacket(), { ...rest, ...place, captured: length });
          dissectPlaced(packet, dissection);
          batch.set(i, packet, dissection, icrc, rests);
          return { packet, icrc };
        });
        for (const [i, { packet, icrc }] of given.entries()) {
          const { bytes, ...rest } = there.packet(i, rests);
          const { bytes: wanted, ...others } = ownPacket(packet);
          expect(rest).toEqual(others);
          expect(Buffer.compare(bytes, wanted)).toBe(0);
          expect(there.icrc(i)).toBe(icrc);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('gives back packets of what is left of a piece behind a record that began before it', () => {
    const batch = new PacketBatch();
    const dissection = new Dissection();
    batch.piece.set([1, 2, 3, 4, 5, 6, 7, 8]);
    for (const [i, from] of [0, 3, 5].entries()) {
      const packet = Object.assign(new PlacedPacket(), { memory: batch.piece.subarray(from), at: 1, captured: 2 });
      dissectPlaced(packet, dissection);
      batch.set(i, packet, dissection, IcrcState.Unknown, new Map());
      expect([...batch.packet(i, new Map()).bytes]).toEqual([from + 2, from + 3]);
    }
  });

  it('gives back packets that lie elsewhere, more of them than it has memory for', () => {
    const batch = new PacketBatch();
    const rests = new Map<number, Rest>();
    const dissection = new Dissection();
    for (let i = 0; i < 5; i++) {
      const packet = Object.assign(new PlacedPacket(), { memory: new Uint8Array(60_000).fill(i), captured: 60_000 });
      dissectPlaced(packet, dissection);
      batch.set(i, packet, dissection, IcrcState.Unknown, rests);
    }
    // Two of them are in the memory.
    expect([...rests.keys()]).toEqual([2, 3, 4]);
    for (let i = 0; i < 5; i++) {
      const { bytes } = batch.packet(i, rests);
      expect([bytes.length, new Set(bytes)]).toEqual([60_000, new Set([i])]);
    }
    batch.clear();
    const packet = Object.assign(new PlacedPacket(), { memory: new Uint8Array(60_000), captured: 60_000 });
    const none = new Map<number, Rest>();
    batch.set(0, packet, dissection, IcrcState.Unknown, none);
    expect(none.size).toBe(0);
  });

  it('gives back every packet of a capture, with its dissection, in pieces of any size', () => {
    const slots = Array.from({ length: 4 }, () => {
      const there = new PacketBatch();
      return { there, here: new PacketBatch(there.memory) };
    });
    let packed = 0;
    const [dissection, again, crossed] = [new Dissection(), new Dissection(), new Dissection()];
    fc.assert(
      fc.property(anyCapture, chunkSizes, ({ bytes, packets }, lengths) => {
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
            if (!here.dissection(at, crossed)) continue;
            packed++;
            expect([crossed.status, crossed.direction]).toEqual([status, again.direction]);
            expect(crossed.capturedEnd - crossed.packetOffset).toBe(again.capturedEnd - again.packetOffset);
            expect([crossed.frame.psn, crossed.icrcValue]).toEqual([again.frame.psn, again.icrcValue]);
          }
        });
        reader.end();
        expect(read).toBe(packets.length);
      }),
      { numRuns: 60 },
    );
    expect(packed).toBeGreaterThan(20);
  });
});
