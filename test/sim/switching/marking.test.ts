/**
 * Goal: RED marks what it should as often as it should, and lossy queues are cut at the tail. Method: queues of a known
 * length; counts against the closed form of ref:dcqcn#5.6, and frame by frame where every decision is certain.
 */
import { describe, expect, it } from 'vitest';
import { ipv4HeaderChecksum } from '../../../packets/checksum.ts';
import { dumbbell, star } from '../../../src/sim/topology/index.ts';
import { BYTE_A_NS, rig } from './support.ts';

const LINK = { rateBps: BYTE_A_NS, delayNs: 100 };
/** Twice as fast into the switch as out of it. */
const FUNNEL = dumbbell({ pairs: 1, edge: LINK, bottleneck: { rateBps: BYTE_A_NS / 2, delayNs: 100 } });

describe('marking', () => {
  it('is decided when a frame leaves, by the bytes that stay behind it', () => {
    const ecn = { kminBytes: 2000, kmaxBytes: 2000, pmax: 0 };
    // Slower by a little more than 2, so that none comes in the instant in which another leaves.
    const bottleneck = { rateBps: BYTE_A_NS / 2.1, delayNs: 100 };
    const { world, network, station } = rig(dumbbell({ pairs: 1, edge: LINK, bottleneck }), { switches: { ecn } });
    station(0).send({ to: 1, bytes: 1000 }, 8);
    world.runUntilIdle();
    // The n-th leaves at 1100 + 2100 n, when 2 n + 1 have come and n have left: n stay behind, and 7 - n at last.
    expect(station(1).received.map(({ marked }) => marked)).toEqual([0, 1, 2, 3, 3, 2, 1, 0].map((left) => left > 2));
    expect(network.port('switch0:1')?.counters.marked).toBe(2);
    expect(network.counters.marked).toBe(2);
  });

  it('happens with the probability of the ramp: 500 of 100,000 in the middle of one that ends at 1 %', () => {
    // A queue that always holds 100 frames more when one leaves: 100 are sent in advance, then as many come as go.
    const link = { rateBps: 100e9, delayNs: 100 };
    const topology = star({ hosts: 3, link });
    const ecn = { kminBytes: 5_000, kmaxBytes: 195_000, pmax: 0.01 };
    const { world, network, station } = rig(topology, { switches: { ecn } });
    station(1).send({ to: 2, bytes: 1000, ecn: 0 }, 100);
    station(0).send({ to: 2, bytes: 1000 }, 100_000);
    const port = network.port('switch0:2');
    world.runFor(100 * 80 + 100);
    const lengths: number[] = [];
    for (let sample = 0; sample < 100; sample++) {
      world.runFor(80_000 - 80);
      lengths.push(port?.queueBytes ?? 0);
    }
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(99_000);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(101_000);
    world.runUntilIdle();
    expect(station(2).received.length).toBe(100_100);
    expect(Math.abs(network.counters.marked - 500)).toBeLessThanOrEqual(67);
  });

  it('spares what does not say that it can be marked, and priorities that are not to be', () => {
    const ecn = { kminBytes: 0, kmaxBytes: 0, pmax: 0 };
    const { world, network, station } = rig(FUNNEL, { switches: { ecn, ecnPriorities: 1 << 3 } });
    station(0).send({ to: 1, dscp: 26, ecn: 0 }, 5);
    station(0).send({ to: 1, dscp: 26, ecn: 1 }, 5);
    station(0).send({ to: 1, dscp: 26, ecn: 2 }, 5);
    station(0).send({ to: 1, dscp: 0, ecn: 2 }, 5);
    world.runUntilIdle();
    const marks = station(1).received.map(({ tag, marked }) => (marked ? tag : -1));
    // The very last of priority 3 leaves nothing behind.
    expect(marks.filter((tag) => tag >= 0)).toEqual([5, 6, 7, 8, 9, 10, 11, 12, 13]);
    expect(network.counters.marked).toBe(9);
  });

  it('leaves the checksum of the header right', () => {
    const { world, station } = rig(FUNNEL, { switches: { ecn: { kminBytes: 0, kmaxBytes: 0, pmax: 0 } } });
    station(1).keep = true;
    station(0).send({ to: 1 }, 3);
    world.runUntilIdle();
    const [, marked] = station(1).frames;
    if (marked === undefined) throw new Error('three frames arrive');
    const view = new DataView(marked.buffer);
    expect(view.getUint8(15) & 3).toBe(3);
    // The test's frames have a checksum of 0, which is wrong by a known difference: what was 0xffff ^ sum stays wrong
    // by as much.
    const before = new DataView(marked.slice().buffer);
    before.setUint8(15, (26 << 2) | 2);
    expect((view.getUint16(24) - ipv4HeaderChecksum(view, 14) + 0x1_ff_fe) % 0xff_ff).toBe(
      (0 - ipv4HeaderChecksum(before, 14) + 0x1_ff_fe) % 0xff_ff,
    );
  });
});

describe('a lossy queue', () => {
  it('is dropped at its tail when it holds what is left of the memory', () => {
    const { world, network, station } = rig(FUNNEL, { switches: { bufferBytes: 10_000 } });
    station(0).send({ to: 1, bytes: 1000 }, 40);
    world.runUntilIdle();
    const port = network.port('switch0:1');
    const { dropped, delivered, sent } = network.counters;
    // With alpha 1 a queue with a new frame may hold as much as was free before it: 5000 when 6000 are.
    expect(port?.counters.peakQueueBytes).toBe(5000);
    expect(port?.counters.dropped).toBe(dropped);
    expect(sent).toBe(40);
    expect(delivered).toBe(40 - dropped);
    // One comes every 1000 ns and one leaves every 2000: after the queue is full every other is dropped.
    expect(dropped).toBeGreaterThan(10);
    expect(dropped).toBeLessThan(20);
    expect(network.switches[0]?.buffer?.usedBytes).toBe(0);
    const tags = station(1).received.map(({ tag }) => tag);
    expect(tags).toEqual([...tags].sort((a, b) => a - b));
  });

  it('may be given more of the memory', () => {
    const { world, network, station } = rig(FUNNEL, { switches: { bufferBytes: 10_000, lossyAlpha: 8 } });
    station(0).send({ to: 1, bytes: 1000 }, 40);
    world.runUntilIdle();
    expect(network.port('switch0:1')?.counters.peakQueueBytes).toBe(9000);
  });
});
