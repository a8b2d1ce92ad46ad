/**
 * Goal: a ring in shared memory is a queue of frames, whatever their lengths and whoever is faster, and stays within its
 * memory whatever the other process writes. Method: both ends over one buffer, against a list; then words by chance.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  MAX_RING_FRAME_BYTES,
  RING_BYTES,
  RING_DATA_BYTES,
  RingConsumer,
  RingProducer,
} from '../../../src/node/links/shm-ring.ts';
import { batchOf } from '../../sim/support.ts';

const GUARD = 4096;

/** A ring between guard bytes, which has carried so many bytes, and a place to take frames to. */
function rig(carried = 0) {
  const buffer = new ArrayBuffer(RING_BYTES + 2 * GUARD);
  const words = new Int32Array(buffer, GUARD, RING_BYTES / 4);
  words[0] = carried;
  words[16] = carried;
  const bytes = new Uint8Array(MAX_RING_FRAME_BYTES + GUARD);
  const slab = { bytes, view: new DataView(bytes.buffer) };
  const consumer = new RingConsumer(buffer, GUARD);
  const take = (room = MAX_RING_FRAME_BYTES): Uint8Array | number => {
    const length = consumer.take(slab, 0, room);
    return length > 0 && length <= room ? bytes.slice(0, length) : length;
  };
  const guards = (): number =>
    [new Uint8Array(buffer, 0, GUARD), new Uint8Array(buffer, GUARD + RING_BYTES), bytes.subarray(MAX_RING_FRAME_BYTES)]
      .flatMap((bytes) => [...bytes])
      .filter((byte) => byte !== 0).length;
  return { producer: new RingProducer(buffer, GUARD), consumer, take, words, guards };
}

const frameOf = (length: number, seed: number): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => (seed * 31 + i * 7) & 0xff);

describe('a ring in shared memory', () => {
  it('hands over every frame once, in order and unchanged, through many turns', () => {
    const lengths = fc.integer({ min: 1, max: 9000 });
    const steps = fc.array(fc.oneof(fc.record({ put: lengths }), fc.record({ take: fc.integer({ min: 1, max: 5 }) })), {
      maxLength: 60,
    });
    // Near the end of the ring, and near the end of what a cursor counts.
    const lines = fc.integer({ min: 0, max: 300 });
    const starts = fc.constantFrom(0, RING_DATA_BYTES, 2 ** 31, 2 ** 32).chain((end) => lines.map((n) => end - 64 * n));
    fc.assert(
      fc.property(starts, steps, (start, all) => {
        const { producer, consumer, take, guards } = rig(start);
        const expected: Uint8Array[] = [];
        const takeOne = (): void => {
          const frame = expected.shift();
          const taken = take();
          if (frame === undefined) expect(taken).toBe(0);
          else expect(typeof taken === 'number' ? taken : Buffer.compare(taken, frame)).toBe(0);
        };
        let seed = 0;
        for (const step of all) {
          if ('put' in step) {
            const frame = frameOf(step.put, seed++);
            expect(producer.put(batchOf(frame), 0)).toBe(true);
            producer.publish();
            expected.push(frame);
          } else {
            for (let i = 0; i < step.take; i++) takeOne();
            consumer.release();
          }
        }
        while (expected.length > 0) takeOne();
        expect([take(), guards()]).toEqual([0, 0]);
      }),
      { numRuns: 30 },
    );
  });

  it('is full when it is full, and has room again for what was given back', () => {
    const { producer, consumer, take } = rig();
    const batch = batchOf(frameOf(4096, 1));
    let count = 0;
    while (producer.put(batch, 0)) count++;
    producer.publish();
    expect(count).toBe(Math.floor(RING_DATA_BYTES / (4096 + 64)));
    take();
    expect(producer.put(batch, 0)).toBe(false);
    consumer.release();
    // What is left at the end of the ring is too short for a frame, so the room of one is not enough.
    take();
    consumer.release();
    expect(producer.put(batch, 0)).toBe(true);
  });

  it('counts what it leaves empty at its end as taken', () => {
    const { producer, consumer, take } = rig();
    // 4,096 bytes are left at the end then, too few for the frame and its length.
    expect(producer.put(batchOf(frameOf(1000, 1)), 0)).toBe(true);
    const batch = batchOf(frameOf(4096, 1));
    for (let i = 0; i < 1007; i++) expect(producer.put(batch, 0)).toBe(true);
    producer.publish();
    take();
    consumer.release();
    expect(producer.put(batch, 0)).toBe(false);
  });

  it('takes no frame that was not published behind an empty end', () => {
    const { take, words } = rig(RING_DATA_BYTES - 4096);
    words[(RING_BYTES - 4096) / 4] = -1;
    words[1024] = 1000;
    words[0] = RING_DATA_BYTES + 64;
    expect(take()).toBe(-1);
  });

  it('shows nothing before it is published', () => {
    const { producer, take } = rig();
    producer.put(batchOf(frameOf(100, 1)), 0);
    expect(take()).toBe(0);
    producer.publish();
    expect(take()).toEqual(frameOf(100, 1));
  });

  it('passes over a frame that is longer than the room there is', () => {
    const { producer, take } = rig();
    producer.put(batchOf(frameOf(2000, 1), frameOf(50, 2)), 0);
    producer.put(batchOf(frameOf(2000, 1), frameOf(50, 2)), 1);
    producer.publish();
    expect([take(1000), take(1000)]).toEqual([2000, frameOf(50, 2)]);
  });

  it('wakes who sleeps, once, and tells who goes to sleep too late', () => {
    const { producer, consumer, take } = rig();
    const batch = batchOf(frameOf(100, 1));
    expect(consumer.sleep()).toBe(false);
    producer.put(batch, 0);
    expect([producer.publish(), producer.publish()]).toEqual([true, false]);
    expect(consumer.sleep()).toBe(true);
    take();
    consumer.wake();
    producer.put(batch, 0);
    expect(producer.publish()).toBe(false);
    producer.wantRoom();
    expect([consumer.release(), consumer.release()]).toEqual([true, false]);
  });

  it('never reads or writes beyond its memory, whatever the other process has written there', () => {
    const word = fc.oneof(
      fc.integer(),
      fc.integer({ min: -200, max: 10_000 }),
      fc.constantFrom(-1, 0, RING_DATA_BYTES),
    );
    const cursors = fc.constantFrom(0, 16, 32, 48);
    const pokes = fc.array(
      fc.tuple(fc.oneof(cursors, fc.integer({ min: 1024, max: RING_BYTES / 4 - 1 }), fc.constant(1024)), word),
      { minLength: 1, maxLength: 40 },
    );
    fc.assert(
      fc.property(fc.integer(), pokes, (start, all) => {
        const { producer, consumer, take, words, guards } = rig(start);
        const batch = batchOf(frameOf(3000, 1));
        for (const [at, value] of all) {
          words[at] = value;
          for (let i = 0; i < 3; i++) {
            const taken = take();
            if (typeof taken === 'number') expect(taken).toBeLessThanOrEqual(0);
            producer.put(batch, 0);
            producer.publish();
            consumer.release();
          }
        }
        expect(guards()).toBe(0);
      }),
      { numRuns: 100 },
    );
  });
});
