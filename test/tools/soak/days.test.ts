/**
 * Goal: a device that makes and loses connections for weeks is at the end what it was at the beginning. Method: half a
 * virtual day of the soak (`npm run soak -- days` does 30), with number spaces so small that everything wraps; the soak
 * compares tables after each round, and this file the figures. Memory is counted in objects: bytes vary by what is
 * compiled.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { type DaysFigures, soakDays } from '../../../tools/soak/days.ts';
import { EdgeRandom } from '../../../tools/soak/edge-random.ts';
import { growth, isFlat } from '../../../tools/soak/memory.ts';
import { queuePairsAlive, soakQueuePairs } from '../../../tools/soak/queue-pairs.ts';

describe('half a virtual day of mixed traffic', () => {
  let figures: DaysFigures;
  beforeAll(async () => {
    figures = await soakDays({ days: 0.5, roundMinutes: 10, bulkBytes: 8192, seed: 1, points: 12 });
  });

  it('passes, with tables that are the same after each round and empty at the end', () => {
    expect(figures.faults).toEqual([]);
    expect(figures.days).toBeGreaterThanOrEqual(0.5);
    expect([figures.rounds, figures.messages]).toEqual([72, 72 * 19]);
  });

  it('wraps keys, queue pair numbers, communication ids, PSNs and TCP sequence numbers', () => {
    const { keys, queuePairs, communicationIds, psnWraps, tcpWraps } = figures;
    expect(keys.variantWraps).toBeGreaterThan(5);
    expect(keys.indexReuses).toBeGreaterThan(keys.made / 2);
    expect(queuePairs.reused).toBeGreaterThan(queuePairs.made / 4);
    expect(communicationIds.different).toBeLessThan(communicationIds.sent * 0.75);
    expect(psnWraps).toBeGreaterThan(50);
    expect(tcpWraps).toBeGreaterThan(20);
  });

  it('holds as many objects and descriptors in its last third as in the middle', () => {
    expect(figures.memory).toHaveLength(12);
    // A leak of one object for each connection is 300 to 4000.
    expect(figures.growth.objects).toBeLessThanOrEqual(64);
    expect(new Set(figures.memory.map(({ descriptors }) => descriptors)).size).toBe(1);
  });
});

describe('many queue pairs at the same time', () => {
  it('all carry messages both ways, across the wrap of their PSNs, and leave nothing', async () => {
    const figures = await soakQueuePairs({ count: 300, rounds: 12, seed: 1 });
    expect(figures.faults).toEqual([]);
    expect([figures.queuePairs, figures.messages]).toEqual([600, 7200]);
    expect(figures.packets).toBeGreaterThanOrEqual(14_000);
    expect([figures.descriptorsLeft, figures.objectsLeft < figures.queuePairs / 4]).toEqual([0, true]);
  });

  it('take no more of the wire than what is under way at a time', async () => {
    const all = { count: 2000, rounds: 1, seed: 1 };
    const few = await queuePairsAlive({ ...all, atOnce: 16 });
    const many = await queuePairsAlive(all);
    expect([few.faults, many.faults]).toEqual([[], []]);
    // Every queue pair sends, and gets an answer.
    for (const { packets } of [few, many]) expect(packets).toBeGreaterThanOrEqual(8000);
    // A frame on the wire has a page.
    expect(many.bytesUsed - few.bytesUsed).toBeGreaterThan(2048);
  });
});

describe('the tools of a soak', () => {
  it('draw numbers near both ends of 32 bits, a thousand of them', () => {
    let seed = 1;
    const source = { u32: () => (seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0) };
    const edge = new EdgeRandom(source);
    const drawn = new Set(Array.from({ length: 100_000 }, () => edge.u32()));
    expect(drawn.size).toBeLessThanOrEqual(1024);
    expect([...drawn].every((number) => number <= 0x7f03 || number >= 0xff_ff_80_fc)).toBe(true);
    expect([drawn.has(0), drawn.has(0xff_ff_ff_ff)]).toEqual([true, true]);
  });

  it('take what grows from the middle to the end for a leak, and what grew before for warming up', () => {
    const points = (...objects: number[]) =>
      objects.map((count, i) => ({ at: i / 9, bytes: count * 1000, objects: count, descriptors: 9 }));
    expect(isFlat(growth(points(1, 500, 900, 1000, 1010, 1000, 1000, 1030, 1010)))).toBe(true);
    expect(growth(points(0, 100, 200, 300, 400, 500, 600, 700, 800))).toEqual({ bytes: 300_000, objects: 300 });
    expect(isFlat({ bytes: 0, objects: 100 })).toBe(false);
    expect(isFlat({ bytes: 1e6, objects: 0 })).toBe(false);
  });
});
