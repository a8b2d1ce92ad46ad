/**
 * Goal: every pattern is what its name says, in order of start, and the same for the same seed.
 * Method: properties over sizes and seeds; the load and the gaps of random arrivals against their expectation.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Prng } from '../../../src/ground/prng.ts';
import {
  allToAll,
  incast,
  makeTraffic,
  pairs,
  permutation,
  poisson,
  ringAllReduce,
  type TrafficSpec,
} from '../../../src/sim/traffic/index.ts';

const BYTES = 1_000_000;

describe('traffic', () => {
  it('of an incast comes from all but the receiver', () => {
    expect(incast({ senders: 3, receiver: 1, bytes: BYTES }, new Prng(1))).toEqual([
      { src: 0, dst: 1, bytes: BYTES, startNs: 0 },
      { src: 2, dst: 1, bytes: BYTES, startNs: 0 },
      { src: 3, dst: 1, bytes: BYTES, startNs: 0 },
    ]);
    const named = incast({ senders: [5, 7], receiver: 0, bytes: BYTES, flowsPerSender: 2, priority: 5 }, new Prng(1));
    expect(named.map(({ src, dst, priority }) => [src, dst, priority])).toEqual([
      [5, 0, 5],
      [7, 0, 5],
      [5, 0, 5],
      [7, 0, 5],
    ]);
  });

  it('of a permutation gives everybody one flow out and one in, and none to himself', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 100 }), fc.integer(), (hosts, seed) => {
        const flows = permutation({ hosts, bytes: BYTES }, new Prng(seed));
        const everybody = Array.from({ length: hosts }, (_, host) => host);
        expect(flows.map(({ src }) => src)).toEqual(everybody);
        expect(flows.map(({ dst }) => dst).sort((a, b) => a - b)).toEqual(everybody);
        expect(flows.filter(({ src, dst }) => src === dst)).toEqual([]);
      }),
    );
  });

  it('of all to all has every ordered pair once', () => {
    const flows = allToAll({ hosts: 5, bytes: BYTES }, new Prng(1));
    expect(new Set(flows.map(({ src, dst }) => `${src}>${dst}`)).size).toBe(20);
    expect(flows).toHaveLength(20);
    expect(flows.some(({ src, dst }) => src === dst)).toBe(false);
    expect(new Set(flows.slice(0, 5).map(({ dst }) => dst)).size).toBe(5);
  });

  it('joins one after the other, with jitter, without an end', () => {
    const options = {
      pairs: [
        [0, 3],
        [1, 3],
        [2, 3],
      ] as const,
      bytes: 'endless',
      startNs: 10,
      staggerNs: 100,
    };
    expect(pairs(options, new Prng(1)).map(({ bytes, startNs }) => [bytes, startNs])).toEqual([
      [Infinity, 10],
      [Infinity, 110],
      [Infinity, 210],
    ]);
    const late = Array.from(
      { length: 200 },
      (_, seed) => pairs({ ...options, jitterNs: 50 }, new Prng(seed))[0]?.startNs ?? 0,
    );
    expect(Math.min(...late)).toBe(10);
    expect(Math.max(...late)).toBe(60);
  });

  it('at random moments has the load, the gaps and the receivers it was asked for', () => {
    const hosts = 16;
    const flows = poisson({ hosts, load: 0.6, rateBps: 100e9, bytes: 'hadoop', durationNs: 200e6 }, new Prng(7));
    const sent = flows.reduce((sum, { bytes }) => sum + bytes, 0);
    expect((8 * sent) / (hosts * 100e9 * 0.2)).toBeGreaterThan(0.57);
    expect((8 * sent) / (hosts * 100e9 * 0.2)).toBeLessThan(0.63);
    const starts = flows.filter(({ src }) => src === 3).map(({ startNs }) => startNs);
    const gaps = starts.slice(1).map((at, index) => at - (starts[index] ?? 0));
    const mean = gaps.reduce((sum, value) => sum + value, 0) / gaps.length;
    const deviation = Math.sqrt(gaps.reduce((sum, value) => sum + (value - mean) ** 2, 0) / gaps.length);
    // 8 x 120,420.75 bytes at 60 Gb/s; of an exponential distribution the deviation is the mean.
    expect(mean / 16_056.1).toBeGreaterThan(0.97);
    expect(mean / 16_056.1).toBeLessThan(1.03);
    expect(deviation / mean).toBeGreaterThan(0.95);
    expect(deviation / mean).toBeLessThan(1.05);
    expect(flows.some(({ src, dst }) => src === dst)).toBe(false);
    for (let dst = 0; dst < hosts; dst++)
      expect(flows.filter((flow) => flow.dst === dst).length).toBeGreaterThan(10_000);
  });

  it('between two sides stays between them, and one sender does not change when another is added', () => {
    const options = { load: 0.5, rateBps: 10e9, bytes: 'web-search', durationNs: 50e6 };
    const few = poisson({ ...options, hosts: { senders: [0, 1], receivers: [4, 5] } }, new Prng(3));
    const more = poisson({ ...options, hosts: { senders: [0, 1, 2], receivers: [4, 5] } }, new Prng(3));
    expect(new Set(few.map(({ dst }) => dst))).toEqual(new Set([4, 5]));
    expect(more.filter(({ src }) => src < 2)).toEqual(few);
  });

  it('in a ring goes from each host to the next, a chunk at a time, and the chunks make up the whole', () => {
    const flows = ringAllReduce({ hosts: 4, bytes: 4_001, startNs: 5, ring: 'inner' }, new Prng(1));
    expect(flows.map(({ src, dst }) => [src, dst])).toEqual([
      [0, 1],
      [1, 2],
      [2, 3],
      [3, 0],
    ]);
    const traits = { startNs: 5, operation: 'send', relay: 'inner', messageBytes: 1_001, bytes: 6 * 1_001 };
    for (const flow of flows) expect(flow).toMatchObject(traits);
    const [first, , last] = ringAllReduce({ hosts: [7, 3, 5], bytes: 3, priority: 4 }, new Prng(1));
    expect([first?.src, first?.dst, last?.src, last?.dst]).toEqual([7, 3, 5, 7]);
    expect(first).toMatchObject({ bytes: 4, messageBytes: 1, priority: 4, relay: 'ring' });
  });

  it('is the same for the same seed, another for another, in order of start', () => {
    const specs: TrafficSpec[] = [
      { pattern: 'incast', senders: 4, receiver: 4, bytes: 'web-search', jitterNs: 1_000 },
      {
        pattern: 'pairs',
        pairs: [
          [0, 1],
          [1, 0],
        ],
        bytes: 'hadoop',
        jitterNs: 1_000,
      },
      { pattern: 'permutation', hosts: 9, bytes: BYTES, jitterNs: 1_000 },
      { pattern: 'all-to-all', hosts: 4, bytes: 'hadoop', jitterNs: 1_000 },
      { pattern: 'ring-all-reduce', hosts: 5, bytes: 5_000, jitterNs: 1_000 },
      { pattern: 'poisson', hosts: 4, load: 0.3, rateBps: 100e9, bytes: 'web-search', durationNs: 10e6 },
    ];
    for (const spec of specs) {
      const flows = makeTraffic(spec, new Prng(1));
      expect(makeTraffic(JSON.parse(JSON.stringify(spec)), new Prng(1))).toEqual(flows);
      expect(makeTraffic(spec, new Prng(2))).not.toEqual(flows);
      expect(flows.map(({ startNs }) => startNs)).toEqual(flows.map(({ startNs }) => startNs).sort((a, b) => a - b));
      for (const { bytes, startNs } of flows) expect([bytes, startNs].every(Number.isSafeInteger)).toBe(true);
    }
  });

  it('that makes no sense is refused by name', () => {
    const refusal = (spec: object) => () => makeTraffic(JSON.parse(JSON.stringify(spec)), new Prng(1));
    expect(refusal({ pattern: 'gossip' })).toThrow('there is no traffic pattern "gossip"');
    expect(refusal({ pattern: 'incast', senders: 0, receiver: 0, bytes: 1 })).toThrow('senders is 0');
    expect(refusal({ pattern: 'permutation', hosts: 1, bytes: 1 })).toThrow('hosts is 1');
    expect(refusal({ pattern: 'permutation', hosts: 2, bytes: 0 })).toThrow('a flow has 1 byte or more, not 0');
    expect(refusal({ pattern: 'permutation', hosts: 2, bytes: 1, jitterNs: -1 })).toThrow('jitterNs is -1');
    const poissonSpec = { pattern: 'poisson', hosts: 2, load: 0.5, rateBps: 1e9, bytes: 1, durationNs: 1e6 };
    expect(refusal({ ...poissonSpec, load: 0 })).toThrow('load is 0: it is over 0');
    expect(refusal({ ...poissonSpec, rateBps: -1 })).toThrow('rateBps is -1: it is over 0');
    expect(refusal({ ...poissonSpec, startNs: -1 })).toThrow('startNs is -1');
    expect(refusal({ ...poissonSpec, durationNs: 0 })).toThrow('durationNs is 0: it is over 0');
    expect(refusal({ ...poissonSpec, load: 1e9 })).toThrow(/flows, and at most \d+ are possible/);
    expect(refusal({ ...poissonSpec, hosts: 1e9 })).toThrow(/flows, and at most \d+ are possible/);
    expect(refusal({ pattern: 'incast', senders: 1e9, receiver: 0, bytes: 1 })).toThrow(
      '1000000000 flows, and at most',
    );
    expect(refusal({ pattern: 'incast', senders: [1], receiver: 0, bytes: 1, flowsPerSender: 1e8 })).toThrow('flows');
    expect(refusal({ pattern: 'permutation', hosts: 1e9, bytes: 1 })).toThrow('1000000000 flows, and at most');
    expect(refusal({ pattern: 'all-to-all', hosts: 10_000, bytes: 1 })).toThrow('99990000 flows, and at most');
    expect(refusal({ pattern: 'permutation', hosts: 2, bytes: 1, staggerNs: 0.5 })).toThrow('staggerNs is 0.5');
    expect(refusal({ pattern: 'ring-all-reduce', hosts: 1, bytes: 1 })).toThrow('hosts is 1');
    expect(refusal({ pattern: 'ring-all-reduce', hosts: [3], bytes: 1 })).toThrow('hosts is 1');
    expect(refusal({ pattern: 'ring-all-reduce', hosts: 2, bytes: 0 })).toThrow('bytes is 0');
    expect(refusal({ pattern: 'ring-all-reduce', hosts: 1e9, bytes: 1 })).toThrow('1000000000 flows, and at most');
    expect(refusal({ pattern: 'ring-all-reduce', hosts: [1, 2, 1], bytes: 1 })).toThrow('a host is in the ring twice');
    expect(refusal({ pattern: 'permutation', hosts: 2, bytes: 'huge' })).toThrow('no size distribution "huge"');
    expect(refusal({ ...poissonSpec, bytes: 'endless' })).toThrow('bytes: flows that arrive at random have an end');
    expect(refusal({ ...poissonSpec, hosts: { senders: [1], receivers: [1] } })).toThrow('none is left for host 1');
  });
});
