/**
 * Goal: a circle of queues that wait for each other is found, named and reported once. Method: a ring whose routes go
 * one way round.
 */
import { describe, expect, it } from 'vitest';
import type { SwitchOptions } from '../../../src/sim/switching/index.ts';
import { clockwiseRoutes, ring } from '../../../src/sim/topology/index.ts';
import { type Rig, rig } from './support.ts';

const LINK = { rateBps: 100e9, delayNs: 1000 };
const TOPOLOGY = ring({ switches: 4, hostsPerSwitch: 2, link: LINK });

/**
 * Every host sends to a host some switches on: with two every link of the ring carries what two switches put into it.
 */
function ringRun(switches: SwitchOptions, distance = 2): Rig {
  const made = rig(TOPOLOGY, { routes: clockwiseRoutes(TOPOLOGY), switches });
  for (let host = 0; host < 8; host++) made.station(host).send({ to: (host + 2 * distance) % 8, bytes: 1500 }, 2000);
  return made;
}

const PFC: SwitchOptions = { flowControl: 'pfc', staticXoffBytes: 15_000 };

describe('deadlock detection', () => {
  it('finds the circle in a ring, after the time it was told, once', () => {
    const { world, network } = ringRun({ ...PFC, deadlockAfterNs: 1e6 });
    world.runFor(10e6);
    expect(network.deadlocks.length).toBe(1);
    const [deadlock] = network.deadlocks;
    expect([...(deadlock?.ports ?? [])].sort()).toEqual(['switch0:0', 'switch1:0', 'switch2:0', 'switch3:0']);
    expect(deadlock?.atNs).toBeGreaterThan(1e6);
    expect(deadlock?.atNs).toBeLessThan(3e6);
    // Nothing was dropped, nothing moves, and it will stay so.
    const { delivered, dropped } = network.counters;
    expect(dropped).toBe(0);
    world.runFor(10e6);
    expect(network.counters.delivered).toBe(delivered);
    expect(delivered).toBeLessThan(16_000);
  });

  it('looks after 10 ms by default', () => {
    const { world, network } = ringRun(PFC);
    world.runFor(10e6);
    expect(network.deadlocks.length).toBe(0);
    world.runFor(2e6);
    expect(network.deadlocks.length).toBe(1);
    expect(network.deadlocks[0]?.atNs).toBeGreaterThanOrEqual(10e6);
  });

  it('finds it with credits too', () => {
    const { world, network } = ringRun({ flowControl: 'credits', deadlockAfterNs: 1e6 });
    world.runFor(10e6);
    expect(network.deadlocks.length).toBe(1);
    expect(network.deadlocks[0]?.ports.length).toBe(4);
  });

  it('finds none where frames take one link of the ring and wait for no other', () => {
    const { world, network } = ringRun({ ...PFC, deadlockAfterNs: 1e5 }, 1);
    world.runUntilIdle({ maxTimeNs: 1e9 });
    expect(network.counters.pausesSent).toBeGreaterThan(0);
    expect(network.deadlocks).toEqual([]);
    expect(network.counters).toMatchObject({ delivered: 16_000, dropped: 0 });
  });

  it('finds none where frames are dropped instead', () => {
    const { world, network } = ringRun({ flowControl: 'none', bufferBytes: 300_000, deadlockAfterNs: 1e6 });
    world.runUntilIdle({ maxTimeNs: 1e9 });
    expect(network.deadlocks).toEqual([]);
    expect(network.counters.dropped).toBeGreaterThan(0);
  });

  it('does not keep a world from ending at its bounds', () => {
    const { world } = ringRun({ ...PFC, deadlockAfterNs: 1e6 });
    expect(() => world.runUntilIdle({ maxTimeNs: 20e6 })).toThrow(/more virtual time/);
  });
});
