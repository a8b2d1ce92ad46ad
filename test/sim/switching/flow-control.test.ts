/**
 * Goal: lossless fabrics lose nothing, pause only when they must, and a pause is a frame on the wire that hosts and
 * switches obey. Method: incasts of stations that send without any restraint; times of pauses by hand.
 */
import { describe, expect, it } from 'vitest';
import { readPfc } from '../../../packets/pfc.ts';
import type { SwitchedNetwork, SwitchOptions } from '../../../src/sim/switching/index.ts';
import { dumbbell, leafSpine, star } from '../../../src/sim/topology/index.ts';
import { BYTE_A_NS, type Rig, rig } from './support.ts';

const FAST = { rateBps: 100e9, delayNs: 1000 };
const LINK = { rateBps: BYTE_A_NS, delayNs: 100 };

/** A deadlock would repeat its pauses until the end of time. */
const BOUNDS = { maxTimeNs: 1e9 };

/** Every host but the first sends `count` frames to the first. */
function incast(senders: number, count: number, switches: SwitchOptions, frame = {}): Rig {
  const made = rig(star({ hosts: senders + 1, link: FAST }), { switches });
  for (let host = 1; host <= senders; host++) made.station(host).send({ to: 0, ...frame }, count);
  return made;
}

function expectEmpty(network: SwitchedNetwork): void {
  expect(network.framesInFlight).toBe(0);
  for (const { buffer } of network.switches) {
    expect(buffer?.usedBytes ?? 0).toBe(0);
    expect(buffer?.sharedBytes ?? 0).toBe(0);
  }
  for (const port of network.egressPorts) {
    expect(port.queueBytes).toBe(0);
    for (const credits of port.credits ?? []) expect(credits.available).toBe(credits.blocks);
  }
}

describe('PFC', () => {
  for (const senders of [2, 16, 64]) {
    it(`loses nothing in an incast of ${senders}:1 that fills the memory`, () => {
      const frames = Math.ceil(6400 / senders);
      const switches: SwitchOptions = { flowControl: 'pfc', bufferBytes: 1_000_000 + senders * 50_000 };
      const { world, network, station } = incast(senders, frames, switches, { bytes: 1500 });
      world.runUntilIdle(BOUNDS);
      expect(network.counters).toMatchObject({ sent: senders * frames, delivered: senders * frames, dropped: 0 });
      expect(network.counters.pausesSent).toBeGreaterThan(0);
      expect(network.switches[0]?.buffer?.counters.peakHeadroomBytes).toBeGreaterThan(0);
      expectEmpty(network);
      // The bottleneck never idles: all of it is one train of frames.
      const first = station(0).received[0]?.at ?? 0;
      const last = station(0).received.at(-1)?.at ?? 0;
      expect(last - first).toBe((senders * frames - 1) * 120);
    });
  }

  it('pauses nobody below the threshold', () => {
    // Reserve and threshold take 4096 and 20,000 bytes; each of 4 senders has 20 frames of 1000 and keeps some of them
    // on the wire.
    const { world, network } = incast(4, 20, { flowControl: 'pfc', staticXoffBytes: 20_000 });
    world.runUntilIdle(BOUNDS);
    expect(network.counters).toMatchObject({ pausesSent: 0, delivered: 80 });
    expect(network.switches[0]?.buffer?.counters.pauses).toBe(0);
  });

  it('pauses the sender at the threshold and lets it go on below, with frames that take wire time', () => {
    const bottleneck = { rateBps: BYTE_A_NS / 4, delayNs: 100 };
    const made = rig(dumbbell({ pairs: 1, edge: LINK, bottleneck }), {
      switches: { flowControl: 'pfc', staticXoffBytes: 3000 },
    });
    const { world, network, station } = made;
    const seen: unknown[] = [];
    network.tap = {
      frame: (now, port, direction, bytes, start, end) => {
        const pfc = readPfc(new DataView(bytes.buffer), start, end);
        if (pfc !== undefined) seen.push([now, port.name, direction, pfc.enableVector, pfc.quanta[3]]);
      },
    };
    station(0).send({ to: 1, bytes: 1000 }, 20);
    world.runFor(12_500);
    // Frames come at 1100 + 1000 n; one leaves at 1100 and one every 4000. What waits beyond the reserve of 4096
    // exceeds 3000 when 8 wait: when the 11th comes, at 11,100, three have left.
    expect(seen.slice(0, 2)).toEqual([
      [11_100, 'switch0:0', 'out', 1 << 3, 0xff_ff],
      [11_100 + 64 + 100, 'switch0:0', 'in', 1 << 3, 0xff_ff],
    ]);
    // What the NIC had begun at 11,000 ends at 12,000; nothing more leaves.
    const nic = network.hosts[0]?.egress;
    expect(nic?.counters.frames).toBe(12);
    expect(nic?.isBlocked(3)).toBe(true);
    world.runUntilIdle(BOUNDS);
    expect(station(1).received.length).toBe(20);
    expect(network.counters).toMatchObject({ dropped: 0, delivered: 20 });
    expect(seen.some((entry) => Array.isArray(entry) && entry[4] === 0)).toBe(true);
    const counters = network.port('host0:0')?.counters;
    expect(counters?.pausesReceived).toBe(network.port('switch0:0')?.counters.pausesSent);
    expect(counters?.pausedNs).toBeGreaterThan(4000);
    expectEmpty(network);
  });

  it('lets other priorities by while one is paused', () => {
    const bottleneck = { rateBps: BYTE_A_NS / 100, delayNs: 100 };
    const topology = dumbbell({ pairs: 2, edge: LINK, bottleneck });
    const { world, network, station } = rig(topology, { switches: { flowControl: 'pfc', staticXoffBytes: 1000 } });
    station(0).send({ to: 2, bytes: 1000 }, 200);
    world.runFor(20_000);
    expect(network.hosts[0]?.egress.isBlocked(3)).toBe(true);
    // The NIC holds what it may of the paused priority and then takes nothing more.
    expect(network.hosts[0]?.egress.queueFramesOf(3)).toBe(32);
    expect(network.hosts[0]?.ready).toBe(false);
    const {
      world: other,
      network: second,
      station: at,
    } = rig(topology, {
      switches: { flowControl: 'pfc', staticXoffBytes: 1000 },
    });
    at(0).send({ to: 2, bytes: 1000 }, 30);
    at(0).send({ to: 1, bytes: 100, dscp: 48 }, 1, 18_000);
    other.runFor(20_000);
    expect(second.hosts[0]?.egress.isBlocked(3)).toBe(true);
    expect(at(1).received.map(({ bytes }) => bytes)).toEqual([100]);
  });

  it('holds no more frames of other priorities in a NIC than without a pause', () => {
    const bottleneck = { rateBps: BYTE_A_NS / 100, delayNs: 100 };
    const topology = dumbbell({ pairs: 2, edge: LINK, bottleneck });
    const { world, network, station } = rig(topology, { switches: { flowControl: 'pfc', staticXoffBytes: 1000 } });
    station(0).send({ to: 2, bytes: 1000 }, 20);
    station(0).send({ to: 1, bytes: 1000, dscp: 0 }, 50, 18_000);
    world.runFor(18_500);
    const nic = network.hosts[0]?.egress;
    expect(nic?.isBlocked(3)).toBe(true);
    expect(nic?.queueFramesOf(3)).toBeGreaterThan(2);
    expect(nic?.queueFramesOf(0)).toBe(1);
    // No gap: the NIC asks for the next one in time.
    world.runUntilIdle(BOUNDS);
    expect(station(1).received.map(({ at }) => at)).toEqual(
      Array.from({ length: 50 }, (_, n) => 18_000 + 2200 + 1000 * n),
    );
  });

  for (const processingNs of [0, 4000])
    it(`has headroom for what switches take ${processingNs} ns to think about`, () => {
      const link = { rateBps: 100e9, delayNs: 10 };
      const topology = dumbbell({ pairs: 4, edge: link, bottleneck: link });
      const { world, network, station } = rig(topology, {
        switches: { flowControl: 'pfc', staticXoffBytes: 0, processingNs },
      });
      for (const host of [0, 1, 2, 3, 5, 6]) station(host).send({ to: 4, bytes: 1500 }, 500);
      world.runUntilIdle(BOUNDS);
      expect(network.counters).toMatchObject({ delivered: 3000, dropped: 0 });
      const peaks = network.switches.map(({ buffer }) => buffer?.counters.peakHeadroomBytes ?? 0);
      expect(Math.min(...peaks)).toBeGreaterThan(1000);
    });

  it('renews a pause that is meant for longer than a frame can say', () => {
    // 65,535 quanta of 512 bits at 100 Gb/s are 335.5 us; the bottleneck needs 12 us for a frame and there are 64 of
    // them.
    const bottleneck = { rateBps: 1e9, delayNs: 1000 };
    const { world, network, station } = rig(dumbbell({ pairs: 1, edge: FAST, bottleneck }), {
      switches: { flowControl: 'pfc', staticXoffBytes: 30_000 },
    });
    station(0).send({ to: 1, bytes: 1500 }, 200);
    world.runUntilIdle(BOUNDS);
    expect(network.counters).toMatchObject({ delivered: 200, dropped: 0 });
    const asked = network.switches[0]?.buffer?.counters.pauses ?? 0;
    const sent = network.port('switch0:0')?.counters.pausesSent ?? 0;
    expect(asked).toBeGreaterThan(0);
    expect(sent).toBeGreaterThan(asked);
    expectEmpty(network);
  });

  it('drops what is not lossless at the same time', () => {
    const { world, network } = incast(8, 500, { flowControl: 'pfc', bufferBytes: 900_000 }, { dscp: 0, bytes: 1500 });
    world.runUntilIdle(BOUNDS);
    const { sent, delivered, dropped, pausesSent } = network.counters;
    expect(dropped).toBeGreaterThan(0);
    expect(delivered + dropped).toBe(sent);
    expect(pausesSent).toBe(0);
    expectEmpty(network);
  });

  it('spreads over switches: the sender is stopped by its leaf, and nothing is lost anywhere', () => {
    const topology = leafSpine({ leaves: 3, spines: 2, hostsPerLeaf: 4, hostLink: FAST, uplink: FAST });
    const { world, network, station } = rig(topology, {
      switches: { flowControl: 'pfc', bufferBytes: 1_200_000, staticXoffBytes: 20_000 },
    });
    for (let host = 4; host < 12; host++) station(host).send({ to: 0, bytes: 1500, sourcePort: host }, 200);
    world.runUntilIdle(BOUNDS);
    expect(network.counters).toMatchObject({ delivered: 1600, dropped: 0 });
    const paused = network.egressPorts.filter(({ counters }) => counters.pausesReceived > 0).map(({ name }) => name);
    expect(paused.some((name) => name.startsWith('spine'))).toBe(true);
    expect(paused.some((name) => name.startsWith('leaf1') || name.startsWith('leaf2'))).toBe(true);
    expect(paused.some((name) => name.startsWith('host'))).toBe(true);
    expect(network.deadlocks).toEqual([]);
    expectEmpty(network);
  });

  it('counts no deadlock in a tree, however long it is paused', () => {
    const { world, network } = incast(8, 3000, {
      flowControl: 'pfc',
      staticXoffBytes: 10_000,
      deadlockAfterNs: 1_000,
    });
    world.runUntilIdle(BOUNDS);
    expect(network.counters.pausesSent).toBeGreaterThan(10);
    expect(network.deadlocks).toEqual([]);
  });
});

describe('credits', () => {
  for (const senders of [2, 16, 64]) {
    it(`lose nothing in an incast of ${senders}:1 and never hold more than they were given`, () => {
      const frames = Math.ceil(6400 / senders);
      const { world, network, station } = incast(senders, frames, { flowControl: 'credits' }, { bytes: 1500 });
      let peak = 0;
      while (world.step()) peak = Math.max(peak, network.port('switch0:0')?.queueBytes ?? 0);
      expect(network.counters).toMatchObject({ sent: senders * frames, delivered: senders * frames, dropped: 0 });
      const bytes = 64 * (network.port('host1:0')?.credits?.[3]?.blocks ?? 0);
      expect(peak).toBeLessThanOrEqual(senders * bytes);
      expect(network.port('host1:0')?.counters.creditStalls).toBeGreaterThan(0);
      const first = station(0).received[0]?.at ?? 0;
      expect((station(0).received.at(-1)?.at ?? 0) - first).toBe((senders * frames - 1) * 120);
      expectEmpty(network);
    });
  }

  it('come back after the delay of the link', () => {
    // Room for two frames: a third leaves when the first has left the switch and the credit has travelled.
    const { world, network, station } = rig(star({ hosts: 2, link: LINK }), {
      switches: { flowControl: 'credits', creditBytes: 2048 },
      mtu: 1000,
    });
    station(0).send({ to: 1, bytes: 1000 }, 3);
    world.runUntilIdle(BOUNDS);
    // At 1100 the first leaves the switch at once; its credit is back at 1200; the wire is free at 2000 anyway.
    expect(station(1).received.map(({ at }) => at)).toEqual([2200, 3200, 4200]);
    expect(network.port('host0:0')?.counters.creditStalls).toBe(0);
    const slow = rig(star({ hosts: 2, link: { ...LINK, delayNs: 5000 } }), {
      switches: { flowControl: 'credits', creditBytes: 2048 },
      mtu: 1000,
    });
    slow.station(0).send({ to: 1, bytes: 1000 }, 3);
    slow.world.runUntilIdle(BOUNDS);
    // The third leaves the host when the first has been through: 1000 + 5000 there, 5000 back.
    expect(slow.station(1).received.map(({ at }) => at)).toEqual([12_000, 13_000, 11_000 + 12_000]);
    expect(slow.network.port('host0:0')?.counters.creditStalls).toBe(1);
    expectEmpty(slow.network);
  });

  it('keep a link busy by default', () => {
    const { world, network, station } = rig(star({ hosts: 2, link: FAST }), { switches: { flowControl: 'credits' } });
    station(0).send({ to: 1, bytes: 1250 }, 1000);
    world.runUntilIdle(BOUNDS);
    const first = station(1).received[0]?.at ?? 0;
    expect((station(1).received.at(-1)?.at ?? 0) - first).toBe(999 * 100);
    expect(network.counters.dropped).toBe(0);
  });

  it('are not lost with the frames that a link loses', () => {
    const { world, network, station } = rig(star({ hosts: 2, link: FAST }), {
      switches: { flowControl: 'credits' },
      loss: 0.2,
    });
    station(0).send({ to: 1 }, 2000);
    world.runUntilIdle(BOUNDS);
    expect(network.counters.delivered + network.counters.lost).toBe(2000);
    expectEmpty(network);
  });
});
