/**
 * Goal: a simulation is what its options say: exact completion times on an empty network, fair shares on a full one,
 * nothing lost or made up, and the same result for the same seed.
 * Method: hand calculation of single flows; sums over all counters; whole results compared as JSON.
 */

import { describe, expect, it } from 'vitest';
import { defined } from '../../../packets/defined.ts';
import { jainIndex, type SimulationOptions, simulate } from '../../../src/sim/simulation/index.ts';
import { clockwiseRoutes, dumbbell, leafSpine, ring, star } from '../../../src/sim/topology/index.ts';

const LINK = { rateBps: 100e9, delayNs: 1_000 };
const PAIR = star({ hosts: 2, link: LINK });
/** Bytes of a frame in the middle of a message: Ethernet, IPv4, UDP, BTH, 1,024 bytes, ICRC. */
const FRAME = 14 + 20 + 8 + 12 + 1_024 + 4;
/** Nanoseconds of that at 100 Gb/s. */
const FRAME_NS = FRAME * 0.08;
const ACK_NS = 62 * 0.08;

describe('a flow that has the network for itself', () => {
  it('takes as long as its packets take on the wire, one behind the other, and the last acknowledge back', () => {
    const { flows, endNs, dataPackets } = simulate({
      ...{ seed: 1, topology: PAIR },
      flows: [{ src: 0, dst: 1, bytes: 1_024_000, startNs: 700, operation: 'send' }],
    });
    // 1,000 packets on the first link, the last of them on the second, and the acknowledge on both.
    const expected = 1_000 * FRAME_NS + FRAME_NS + 2 * ACK_NS + 4_000;
    expect(Math.abs((flows[0]?.fctNs ?? 0) - expected)).toBeLessThan(4);
    expect(flows[0]).toMatchObject({ src: 0, dst: 1, startNs: 700, deliveredBytes: 1_024_000, status: 'done' });
    expect(flows[0]?.endNs).toBe(endNs);
    expect(dataPackets).toBe(1_000);
  });

  it('of one byte takes a frame of 63 bytes there and one of 62 back', () => {
    const { flows } = simulate({
      ...{ seed: 1, topology: PAIR },
      flows: [{ src: 0, dst: 1, bytes: 1, startNs: 0, operation: 'send' }],
    });
    // Payload is padded to 4 bytes.
    expect(Math.abs((flows[0]?.fctNs ?? 0) - (2 * 62 * 0.08 + 2 * ACK_NS + 4_000))).toBeLessThan(4);
  });

  it('is never faster than ideal, and slower by a few nanoseconds at most, whatever the way and the operation', () => {
    const slow = { rateBps: 25e9, delayNs: 3_000 };
    const topologies = [
      PAIR,
      dumbbell({ pairs: 1, edge: LINK, bottleneck: slow }),
      dumbbell({ pairs: 1, edge: slow, bottleneck: LINK }),
      leafSpine({ leaves: 2, spines: 2, hostsPerLeaf: 1, hostLink: LINK, uplink: { rateBps: 400e9, delayNs: 500 } }),
    ];
    for (const [index, topology] of topologies.entries())
      for (const operation of ['write', 'send', 'read'] as const)
        for (const bytes of [1, 1_000, 1_024, 5_000, 300_001, 2_500_000]) {
          const { flows } = simulate({
            ...{ seed: 1, topology, switches: { processingNs: 350 * index } },
            flows: [{ src: 0, dst: 1, bytes, startNs: 0, operation }],
          });
          const [{ fctNs = 0, idealNs, slowdown = 0 } = { idealNs: 0 }] = flows;
          expect(fctNs - idealNs, `${topology.kind} ${operation} ${bytes}`).toBeGreaterThanOrEqual(-1);
          expect(fctNs - idealNs, `${topology.kind} ${operation} ${bytes}`).toBeLessThan(20);
          expect(slowdown).toBeCloseTo(fctNs / idealNs, 9);
        }
  });

  it('waits in no switch where switches cut through, but for a packet that catches up with the one before it', () => {
    const cutThrough = (bytes: number): readonly [fctNs: number, idealNs: number] => {
      const { flows } = simulate({
        ...{ seed: 1, topology: PAIR, switches: { forwarding: 'cut-through' as const } },
        flows: [{ src: 0, dst: 1, bytes, startNs: 0, operation: 'send' }],
      });
      return [flows[0]?.fctNs ?? 0, flows[0]?.idealNs ?? 0];
    };
    // The second link begins 64 bytes after the first one; acknowledges are shorter than that.
    const [one, idealOne] = cutThrough(1_024);
    expect(Math.abs(one - (FRAME_NS + 64 * 0.08 + 2 * ACK_NS + 4_000))).toBeLessThan(4);
    expect(Math.abs(one - idealOne)).toBeLessThan(4);
    const [many, idealMany] = cutThrough(1_024_000);
    expect(many - idealMany).toBeGreaterThan(-4);
    expect(many - idealMany).toBeLessThanOrEqual(FRAME_NS);
  });

  it('takes the window that it is given', () => {
    const { flows } = simulate({
      ...{ seed: 1, topology: PAIR, host: { maxUnacked: 8 } },
      flows: [{ src: 0, dst: 1, bytes: 1_024_000, startNs: 0, operation: 'send' }],
    });
    // Eight packets a round trip.
    const roundTripNs = 2 * FRAME_NS + 2 * ACK_NS + 4_000;
    expect((flows[0]?.fctNs ?? 0) / (125 * roundTripNs)).toBeGreaterThan(0.98);
    expect((flows[0]?.fctNs ?? 0) / (125 * roundTripNs)).toBeLessThan(1.02);
  });

  it('sends full packets of the size that was asked for', () => {
    for (const mtu of [256, 4_096]) {
      const { dataPackets, network } = simulate({
        ...{ seed: 1, topology: PAIR, mtu, host: { ackEveryPackets: 1_000 } },
        flows: [{ src: 0, dst: 1, bytes: 40_960, startNs: 0, operation: 'send' }],
      });
      expect(dataPackets).toBe(40_960 / mtu);
      // Two links, and one acknowledge at the end.
      expect(network.frames).toBe(2 * (dataPackets + 1));
    }
  });
});

describe('flows that share', () => {
  it('a bottleneck get half of it each, and together all of it', () => {
    const { flows, network } = simulate({
      ...{ seed: 1, topology: star({ hosts: 3, link: LINK }), switches: { flowControl: 'pfc' as const } },
      flows: [0, 1].map((src) => ({ src, dst: 2, bytes: Infinity, startNs: 0 })),
      ...{ stopNs: 1e6, window: { fromNs: 200_000, toNs: 800_000 } },
    });
    const rates = flows.map(({ windowBps }) => windowBps);
    expect(jainIndex(rates)).toBeGreaterThan(0.999);
    const total = rates.reduce((sum, rate) => sum + rate, 0);
    expect(total / ((100e9 * 1_024) / FRAME)).toBeGreaterThan(0.97);
    expect(total / ((100e9 * 1_024) / FRAME)).toBeLessThan(1.03);
    expect(flows.map(({ status }) => status)).toEqual(['running', 'running']);
    expect(network.dropped).toBe(0);
    expect(network.pausesSent).toBeGreaterThan(0);
  });

  it('a lossy bottleneck all end, every byte of them', () => {
    const bytes = 2_000_000;
    const { flows, hosts, network, dataPackets } = simulate({
      ...{ seed: 3, topology: star({ hosts: 5, link: LINK }), switches: { bufferBytes: 200_000 } },
      flows: [0, 1, 2, 3].map((src) => ({ src, dst: 4, bytes, startNs: 0 })),
    });
    expect(flows.map(({ status, deliveredBytes }) => [status, deliveredBytes])).toEqual(
      flows.map(() => ['done', bytes]),
    );
    expect(network.dropped).toBeGreaterThan(100);
    expect(hosts.retransmittedPkts).toBeGreaterThan(100);
    // One message of 2^20 bytes and the rest: 1,024 and 930 packets each.
    expect(dataPackets).toBe(4 * (1_024 + Math.ceil((bytes - 2 ** 20) / 1_024)));
  });

  it('keep every frame: what was sent was received, dropped, lost or is under way nowhere', () => {
    const { hosts, network } = simulate({
      ...{ seed: 5, topology: star({ hosts: 4, link: LINK }), switches: { bufferBytes: 150_000 }, loss: 0.001 },
      flows: [0, 1, 2].map((src) => ({ src, dst: 3, bytes: 1_000_000, startNs: 0 })),
      // Long after everything is over.
      stopNs: 1e9,
    });
    expect(network.lost).toBeGreaterThan(10);
    expect(hosts.sentPkts - network.lost - network.dropped).toBeGreaterThanOrEqual(hosts.rcvdPkts);
    // Late frames to queue pairs that are gone are not counted as received.
    expect(hosts.sentPkts - network.lost - network.dropped - hosts.rcvdPkts).toBeLessThan(200);
  });
});

describe('a simulation', () => {
  const options: SimulationOptions = {
    seed: 11,
    topology: leafSpine({ leaves: 2, spines: 2, hostsPerLeaf: 4, hostLink: LINK, uplink: LINK }),
    switches: { flowControl: 'pfc', ecn: { kminBytes: 20_000, kmaxBytes: 80_000, pmax: 0.2 } },
    congestion: { reaction: { kind: 'dcqcn', profile: 'paper' } },
    flows: Array.from({ length: 12 }, (_, i) => ({
      ...{ src: i % 8, dst: (i * 3 + 5) % 8, bytes: 100_000 * (1 + (i % 3)), startNs: 1_000 * i },
      ...(i % 4 === 3 ? { operation: 'read' as const } : {}),
    })).filter(({ src, dst }) => src !== dst),
    loss: 0.000_1,
    probe: { intervalNs: 2_000, queues: ['leaf0:0', 'leaf1:3'], flows: true },
  };

  it('gives the same result for the same seed, and another for another', () => {
    const result = JSON.stringify(simulate(options));
    expect(JSON.stringify(simulate(options))).toBe(result);
    expect(JSON.stringify(simulate({ ...options, seed: 12 }))).not.toBe(result);
  });

  it('is not changed by being looked at, whatever keeps its frames from being lost', () => {
    for (const flowControl of ['pfc', 'credits', 'none'] as const) {
      const { probe: _, ...unseen } = { ...options, switches: { ...options.switches, flowControl } };
      const plain = simulate(unseen);
      const probe = { intervalNs: 333, queues: ['leaf0:0', 'host0:0'], flows: true, queueSampleNs: 101 };
      const { series, queueStats, steps, ...probed } = simulate({ ...unseen, probe, onProgress: () => {} });
      expect([series.length, queueStats.length]).toEqual([2 + 3 * plain.flows.length + 2, 2]);
      expect(steps).toBeGreaterThanOrEqual(plain.steps);
      const { series: _series, queueStats: _stats, steps: _steps, ...expected } = plain;
      expect(probed).toEqual(expected);
    }
  });

  it('begins flows of one instant in their order', () => {
    const receivers: number[] = [];
    simulate({
      ...{ seed: 1, topology: star({ hosts: 4, link: LINK }) },
      flows: [3, 1, 2].map((dst) => ({ src: 0, dst, bytes: 1_000, startNs: 500 })),
      tap: {
        frame: (_now, port, direction, bytes, start) => {
          if (direction === 'out' && port.name === 'host0:0') receivers.push((bytes[start + 33] ?? 0) - 1);
        },
      },
    });
    expect(receivers).toEqual([3, 1, 2]);
  });

  it('says how much each flow got per second of its own life, and the highest queue of all', () => {
    const { flows, network, ports } = simulate({
      ...{ seed: 1, topology: star({ hosts: 4, link: LINK }), stopNs: 400_000, host: { messageBytes: 4_096 } },
      flows: [
        { src: 0, dst: 3, bytes: 100_000, startNs: 50_000 },
        { src: 1, dst: 3, bytes: 200_000, startNs: 60_000 },
        { src: 2, dst: 1, bytes: Infinity, startNs: 100_000, stopNs: 300_000 },
        { src: 2, dst: 1, bytes: Infinity, startNs: 200_000 },
        { src: 2, dst: 1, bytes: 1, startNs: 500_000 },
      ],
    });
    const over = (index: number, ns: number): number => (8e9 * (flows[index]?.deliveredBytes ?? 0)) / ns;
    expect(flows.map(({ goodputBps }) => goodputBps)).toEqual([
      over(0, flows[0]?.fctNs ?? 0),
      over(1, flows[1]?.fctNs ?? 0),
      over(2, 200_000),
      over(3, 200_000),
      0,
    ]);
    expect(flows[2]?.deliveredBytes).toBeGreaterThan(1e6);
    const peaks = ports.map(({ peakQueueBytes }) => peakQueueBytes);
    expect(network.peakQueueBytes).toBe(Math.max(...peaks));
    expect(peaks.filter((peak) => peak > 0).length).toBeGreaterThan(1);
  });

  it('says that its packets may be marked when somebody would do something about it', () => {
    const marked = (congestion?: SimulationOptions['congestion']): number =>
      simulate({
        ...{ seed: 1, topology: star({ hosts: 3, link: LINK }) },
        switches: { ecn: { kminBytes: 0, kmaxBytes: 0, pmax: 1 } },
        flows: [0, 1].map((src) => ({ src, dst: 2, bytes: 100_000, startNs: 0 })),
        ...defined({ congestion }),
      }).network.marked;
    expect(marked()).toBe(0);
    expect(marked({})).toBeGreaterThan(50);
  });

  it('begins and ends flows at their times', () => {
    const { flows, endNs } = simulate({
      ...{ seed: 1, topology: PAIR, stopNs: 300_000 },
      flows: [
        { src: 0, dst: 1, bytes: Infinity, startNs: 0, stopNs: 200_000 },
        { src: 0, dst: 1, bytes: 1_000, startNs: 250_000 },
        { src: 1, dst: 0, bytes: 10_000_000, startNs: 299_000 },
        { src: 1, dst: 0, bytes: 1, startNs: 400_000 },
      ],
    });
    expect(flows.map(({ status }) => status)).toEqual(['stopped', 'done', 'running', 'waiting']);
    expect(flows[0]?.deliveredBytes).toBeGreaterThan(1_500_000);
    expect(flows[0]?.idealNs).toBe(Infinity);
    expect(flows[1]?.endNs).toBeGreaterThan(254_000);
    expect(endNs).toBe(300_000);
  });

  it('says why a flow failed', () => {
    const { flows, endNs } = simulate({
      ...{ seed: 1, topology: PAIR, loss: 1, host: { ackTimeout: 1, retryCount: 2 } },
      flows: [{ src: 0, dst: 1, bytes: 1_000, startNs: 0 }],
    });
    expect(flows[0]).toMatchObject({ status: 'transport retry counter exceeded', deliveredBytes: 0 });
    // The first attempt and two more, 8.192 us each.
    expect(endNs).toBeGreaterThanOrEqual(3 * 8_192);
    expect(endNs).toBeLessThan(3 * 8_192 + 1_000);
  });

  it('keeps priorities apart: what is paused is not what another class waits for', () => {
    const flow = { bytes: 3_000_000, startNs: 0 };
    const { flows } = simulate({
      ...{ seed: 1, topology: star({ hosts: 4, link: LINK }), switches: { flowControl: 'pfc' as const } },
      flows: [
        { ...flow, src: 0, dst: 2, priority: 3 },
        { ...flow, src: 1, dst: 2, priority: 5 },
      ],
    });
    // Strict priority: 5 has the link for itself, then 3.
    expect(flows[1]?.slowdown).toBeLessThan(1.05);
    expect(flows[0]?.slowdown).toBeGreaterThan(1.9);
  });

  it('shows every frame to a tap, and what every port did', () => {
    const seen = new Map<string, number>();
    const { ports, network, events } = simulate({
      ...{ seed: 1, topology: PAIR },
      flows: [{ src: 0, dst: 1, bytes: 10_240, startNs: 0, operation: 'send' }],
      tap: {
        frame: (_now, port, direction) => {
          if (direction === 'out') seen.set(port.name, (seen.get(port.name) ?? 0) + 1);
        },
      },
    });
    expect(ports.map(({ name, frames }) => [name, frames])).toEqual([
      ['host0:0', 10],
      ['host1:0', 10],
      ['switch0:0', 10],
      ['switch0:1', 10],
    ]);
    expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(ports.map(({ name, frames }) => [name, frames])));
    expect(events).toBeGreaterThanOrEqual(network.frames);
  });

  it('goes one way round a ring when it is told to', () => {
    const topology = ring({ switches: 4, hostsPerSwitch: 1, link: LINK });
    const flows = [{ src: 0, dst: 3, bytes: 1_000, startNs: 0 }];
    const round = simulate({ seed: 1, topology, clockwise: true, flows });
    const short = simulate({ seed: 1, topology, flows });
    expect(clockwiseRoutes(topology).ports(4, 3)).toEqual(Uint16Array.of(0));
    // The acknowledge, clockwise too, has one link between switches to go; a message the short way has one both times.
    expect((round.flows[0]?.fctNs ?? 0) - (short.flows[0]?.fctNs ?? 0)).toBeGreaterThan(2_000);
    expect((round.flows[0]?.fctNs ?? 0) - (round.flows[0]?.idealNs ?? 0)).toBeLessThan(5);
  });

  it('tells how far it is, and ends at one', () => {
    const fractions: number[] = [];
    simulate({
      ...{ seed: 1, topology: PAIR },
      flows: Array.from({ length: 20 }, (_, i) => ({ src: 0, dst: 1, bytes: 1_000_000, startNs: i * 100_000 })),
      onProgress: (fraction) => fractions.push(fraction),
    });
    expect(fractions.at(-1)).toBe(1);
    expect(fractions.length).toBeGreaterThan(10);
    expect(fractions).toEqual([...fractions].sort((a, b) => a - b));
  });
});

describe('options that make no sense', () => {
  const good: SimulationOptions = { seed: 1, topology: PAIR, flows: [{ src: 0, dst: 1, bytes: 1, startNs: 0 }] };
  const flow = { src: 0, dst: 1, bytes: 1, startNs: 0 };
  const refused: readonly (readonly [string, Partial<SimulationOptions>])[] = [
    ['seed is 0.5', { seed: 0.5 }],
    ['mtu is 1500: it is one of 256, 512, 1024, 2048, 4096', { mtu: 1_500 }],
    ['stopNs is 0', { stopNs: 0 }],
    ['flows[0].src is 2: it is a whole number from 0 to 1', { flows: [{ ...flow, src: 2 }] }],
    ['flows[0]: host 1 sends to itself', { flows: [{ ...flow, src: 1 }] }],
    ['flows[1].bytes is 0', { flows: [flow, { ...flow, bytes: 0 }] }],
    ['flows[0].startNs is -1', { flows: [{ ...flow, startNs: -1 }] }],
    ['flows[0].priority is 8', { flows: [{ ...flow, priority: 8 }] }],
    ['flows[0] has no end: stopNs is needed', { flows: [{ ...flow, bytes: Infinity }] }],
    ['flows[0].stopNs is 9: it is a whole number from 10', { flows: [{ ...flow, startNs: 9, stopNs: 9 }] }],
    ['flows[0].dst is -1', { flows: [{ ...flow, dst: -1 }] }],
    ['flows[0].bytes is 1.5', { flows: [{ ...flow, bytes: 1.5 }] }],
    ['host.ackEveryPackets is 0', { host: { ackEveryPackets: 0 } }],
    ['host.aheadBytes is 0', { host: { aheadBytes: 0 } }],
    ['nicQueueFrames is 1001', { host: { nicQueueFrames: 1_001 } }],
    ['window.fromNs is 10: it is a whole number from 0 to 9', { stopNs: 10, window: { fromNs: 10 } }],
    ['probe.fromNs is -1', { probe: { intervalNs: 1, fromNs: -1 } }],
    ['probe.queueSampleNs is 0', { probe: { intervalNs: 1, queueSampleNs: 0 } }],
    ['switchCount is 1.5', { topology: { ...PAIR, switchCount: 1.5 } }],
    ['switchCount is 1000000000', { topology: { ...PAIR, switchCount: 1e9 } }],
    ['edges[0]: there is no node 9', { topology: { ...PAIR, edges: PAIR.edges.map((edge) => ({ ...edge, b: 9 })) } }],
    ['flows[0].operation is push', { flows: [{ ...flow, operation: JSON.parse('"push"') }] }],
    ['host.ackTimeout is 0', { host: { ackTimeout: 0 } }],
    ['host.retryCount is 8', { host: { retryCount: 8 } }],
    ['host.maxUnacked is 0', { host: { maxUnacked: 0 } }],
    ['host.messageBytes is 67108865', { host: { messageBytes: 2 ** 26 + 1 } }],
    ['window.toNs is 5: it is a whole number from 11', { window: { fromNs: 10, toNs: 5 } }],
    ['probe.intervalNs is 0', { probe: { intervalNs: 0 } }],
    ['probe.maxPoints is 1', { probe: { intervalNs: 1, maxPoints: 1 } }],
    ['probe.flows[0] is 1: it is a whole number from 0 to 0', { probe: { intervalNs: 1, flows: [1] } }],
    ['the network has no port "switch0:9"', { probe: { intervalNs: 1, queues: ['switch0:9'] } }],
    ['a star has no way round', { clockwise: true }],
    ['loss is 2', { loss: 2 }],
    ["there is no congestion control of kind 'x'", { congestion: { reaction: JSON.parse('{"kind":"x"}') } }],
  ];
  for (const [why, change] of refused) {
    it(`are refused: ${why}`, () => {
      expect(() => simulate({ ...good, ...change })).toThrow(
        expect.objectContaining({ code: 'ERR_ROCE_ARGUMENT', message: expect.stringContaining(why) }),
      );
    });
  }
});
