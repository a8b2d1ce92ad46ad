/**
 * Goal: whatever the network and the traffic, every frame is accounted for, nothing is left behind, and the same seed
 * gives the same frames at the same times. Method: random networks and senders; counts at the end; a hash over
 * everything a tap sees.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32Update } from '../../../packets/crc32.ts';
import type { SwitchedNetwork } from '../../../src/sim/switching/index.ts';
import { dumbbell, fatTree, leafSpine, parkingLot, star, type Topology } from '../../../src/sim/topology/index.ts';
import { type Rig, rig } from './support.ts';

const HOST_LINK = { rateBps: 100e9, delayNs: 500 };
const SLOW = { rateBps: 40e9, delayNs: 1500 };

/** No circles: nothing here may stand still for ever. */
const topologies: readonly Topology[] = [
  star({ hosts: 5, link: HOST_LINK }),
  dumbbell({ pairs: 3, edge: HOST_LINK, bottleneck: SLOW }),
  leafSpine({ leaves: 3, spines: 2, hostsPerLeaf: 2, hostLink: HOST_LINK, uplink: SLOW }),
  parkingLot({ hops: 3, edge: HOST_LINK, bottleneck: SLOW }),
  fatTree({ k: 4, link: HOST_LINK, fabricLink: SLOW }),
];

const burst = fc.record({
  from: fc.nat(),
  to: fc.nat(),
  bytes: fc.integer({ min: 60, max: 1500 }),
  dscp: fc.constantFrom(0, 8, 26, 48),
  count: fc.integer({ min: 1, max: 60 }),
  at: fc.integer({ min: 0, max: 20_000 }),
});

const scenario = fc.record({
  topology: fc.constantFrom(...topologies),
  options: fc.record({
    seed: fc.integer({ min: 0, max: 1e9 }),
    loss: fc.constantFrom(0, 0, 0.05),
    frameOverheadBytes: fc.constantFrom(0, 24),
    nicQueueFrames: fc.integer({ min: 1, max: 3 }),
    switches: fc.record({
      forwarding: fc.constantFrom('store-and-forward', 'cut-through'),
      flowControl: fc.constantFrom('none', 'pfc', 'credits'),
      bufferBytes: fc.constantFrom(400_000, 1_000_000),
      losslessPriorities: fc.constantFrom(0b1000, 0b1001),
      headroomBytes: fc.constant(22_000),
      ecn: fc.constantFrom(undefined, { kminBytes: 5_000, kmaxBytes: 20_000, pmax: 0.2 }),
      processingNs: fc.constantFrom(0, 300),
    }),
  }),
  bursts: fc.array(burst, { minLength: 1, maxLength: 12 }),
});

type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

/** As much of a scenario as is needed to begin. */
interface Load {
  readonly topology: Topology;
  readonly options: object;
  readonly bursts: Scenario['bursts'];
}

function prepared({ topology, options, bursts }: Load): Rig {
  const made = rig(topology, options);
  const { hostCount } = topology;
  for (const [index, { from, to, at, count, ...spec }] of bursts.entries()) {
    const frame = { ...spec, to: to % hostCount, sourcePort: 0xc0_00 + index };
    made.station(from % hostCount).send(frame, count, at);
  }
  return made;
}

function hashOf(network: SwitchedNetwork): () => number {
  const words = new Float64Array(4);
  const wordBytes = new Uint8Array(words.buffer);
  let hash = 0;
  network.tap = {
    frame: (now, port, direction, bytes, start, end, fate, serial) => {
      words.set([now, port.index * 2 + (direction === 'in' ? 1 : 0), fate, serial]);
      hash = crc32Update(crc32Update(hash, wordBytes, 0, wordBytes.length), bytes, start, end);
    },
  };
  return () => hash;
}

describe('a switched network', () => {
  it('accounts for every frame and is empty at the end', () => {
    fc.assert(
      fc.property(scenario, (drawn) => {
        const { world, network, stations } = prepared(drawn);
        world.runUntilIdle({ maxTimeNs: 1e9 });
        const { sent, delivered, dropped, lost, refused, unheard, noRoute } = network.counters;
        const expected = drawn.bursts.reduce((sum, { count }) => sum + count, 0);
        expect(sent).toBe(expected);
        expect(delivered + dropped + lost + refused).toBe(sent);
        expect([unheard, noRoute]).toEqual([0, 0]);
        expect(stations.reduce((sum, { received }) => sum + received.length, 0)).toBe(delivered);
        expect(network.framesInFlight).toBe(0);
        expect(network.nextEventTime()).toBe(Infinity);
        for (const { buffer } of network.switches)
          expect([buffer?.usedBytes ?? 0, buffer?.sharedBytes ?? 0]).toEqual([0, 0]);
        for (const port of network.egressPorts) {
          expect([port.queueBytes, port.queuedFrames, port.waiting, port.blocked]).toEqual([0, 0, 0, 0]);
          for (const credits of port.credits ?? []) expect(credits.available).toBe(credits.blocks);
        }
        if (drawn.options.switches.flowControl === 'credits') expect(dropped).toBe(0);
      }),
      { numRuns: 150 },
    );
  });

  it('keeps the order of each flow', () => {
    fc.assert(
      fc.property(scenario, (drawn) => {
        const { world, stations } = prepared(drawn);
        world.runUntilIdle({ maxTimeNs: 1e9 });
        const last = new Map<string, number>();
        for (const { number, received } of stations)
          for (const { from, tag, bytes } of received) {
            // Lengths tell bursts apart well enough: two bursts of one length are one after the other at their sender,
            // or of two priorities.
            const flow = `${from} ${number} ${bytes}`;
            if (drawn.bursts.filter((other) => other.bytes === bytes).length > 1) continue;
            expect(tag).toBeGreaterThan(last.get(flow) ?? -1);
            last.set(flow, tag);
          }
      }),
      { numRuns: 60 },
    );
  });

  it('does the same again for the same seed, and something else for another', () => {
    const run = (drawn: Scenario): number => {
      const { world, network } = prepared(drawn);
      const hash = hashOf(network);
      world.runUntilIdle({ maxTimeNs: 1e9 });
      return hash();
    };
    fc.assert(
      fc.property(scenario, (drawn) => {
        expect(run(drawn)).toBe(run(drawn));
      }),
      { numRuns: 40 },
    );
    const base: Scenario = {
      topology: topologies[2] as Topology,
      options: {
        ...{ seed: 1, loss: 0.05, frameOverheadBytes: 0, nicQueueFrames: 1 },
        switches: {
          ...{ forwarding: 'store-and-forward', flowControl: 'pfc', bufferBytes: 400_000, losslessPriorities: 8 },
          ...{ headroomBytes: 22_000, ecn: undefined, processingNs: 0 },
        },
      },
      bursts: [{ from: 0, to: 5, bytes: 1000, dscp: 26, count: 50, at: 0 }],
    };
    expect(run(base)).not.toBe(run({ ...base, options: { ...base.options, seed: 2 } }));
  });

  it('loses no lossless frame with the headroom it gives itself, wherever its threshold is', () => {
    const lossless = fc.record({
      // Short links too: there headroom is for frames and not for what is under way.
      topology: fc.constantFrom(...topologies, star({ hosts: 5, link: { rateBps: 100e9, delayNs: 10 } })),
      options: fc.record({
        seed: fc.nat(1e9),
        loss: fc.constant(0),
        frameOverheadBytes: fc.constantFrom(0, 24),
        nicQueueFrames: fc.integer({ min: 1, max: 3 }),
        switches: fc.record({
          forwarding: fc.constantFrom('store-and-forward', 'cut-through'),
          flowControl: fc.constant('pfc'),
          losslessPriorities: fc.constant(0b0100_1011),
          staticXoffBytes: fc.constantFrom(0, 100, 5_000, 50_000),
          processingNs: fc.constantFrom(0, 300, 2_500),
        }),
      }),
      bursts: fc.array(
        fc.record({
          ...{ from: fc.nat(), to: fc.nat(3), bytes: fc.constantFrom(60, 64, 700, 1500, 1514) },
          ...{ dscp: fc.constantFrom(0, 8, 26, 48), count: fc.integer({ min: 20, max: 150 }), at: fc.nat(20_000) },
        }),
        { minLength: 4, maxLength: 16 },
      ),
    });
    let headroom = 0;
    fc.assert(
      fc.property(lossless, (drawn) => {
        const { world, network } = prepared(drawn);
        world.runUntilIdle({ maxTimeNs: 1e9 });
        expect(network.counters.dropped).toBe(0);
        expect(network.counters.delivered).toBe(network.counters.sent);
        for (const { buffer } of network.switches) headroom += buffer?.counters.peakHeadroomBytes ?? 0;
      }),
      { numRuns: 40 },
    );
    expect(headroom).toBeGreaterThan(100_000);
  });
});
