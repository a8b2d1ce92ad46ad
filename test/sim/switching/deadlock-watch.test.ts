/**
 * Goal: only queues that will never move again are called a deadlock. Method: ports put together by hand, with frames
 * in their queues and blocked when the test says so; networks with circles in which everything arrives in the end.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Prng } from '../../../src/ground/prng.ts';
import { PauseState } from '../../../src/sim/buffer/index.ts';
import { DeadlockWatch } from '../../../src/sim/switching/deadlock-watch.ts';
import { EgressPort } from '../../../src/sim/switching/egress-port.ts';
import { FrameStore } from '../../../src/sim/switching/frame-store.ts';
import { settingsOf } from '../../../src/sim/switching/options.ts';
import { PortTable } from '../../../src/sim/switching/port-table.ts';
import { EventKind, Transmitter } from '../../../src/sim/switching/transmitter.ts';
import { clockwiseRoutes, ring } from '../../../src/sim/topology/index.ts';
import { rig } from './support.ts';

const LINK = { rateBps: 100e9, delayNs: 1000 };
const TOPOLOGY = ring({ switches: 3, hostsPerSwitch: 1, link: LINK });
const AFTER_NS = 1000;

/** Three switches; port i leads from switch i to switch (i + 1) % 3, port 3 + i back, port 6 + i to a host. */
class Circle {
  readonly transmitter: Transmitter;
  readonly watch: DeadlockWatch;
  readonly ports: readonly EgressPort[];
  readonly #store = new FrameStore(1500);

  constructor() {
    this.transmitter = new Transmitter(this.#store, settingsOf({ topology: TOPOLOGY, seed: 1 }), new Prng(1));
    const table = new PortTable(9);
    this.ports = Array.from({ length: 9 }, (_, index) => {
      const spec = { index, node: index % 3, port: Math.floor(index / 3), name: `p${index}`, ...LINK };
      return new EgressPort({ ...spec, clock: this.transmitter, table });
    });
    for (let i = 0; i < 3; i++) {
      // The way back from switch i + 1 is its port 3 + (i + 1) % 3.
      this.port(i).reverse = this.port(3 + ((i + 1) % 3));
      this.port(3 + ((i + 1) % 3)).reverse = this.port(i);
    }
    this.watch = new DeadlockWatch(this.transmitter, this.ports, AFTER_NS);
    this.transmitter.onBlocked = (port) => this.watch.blocked(port);
  }

  port(index: number): EgressPort {
    const port = this.ports[index];
    if (port === undefined) throw new Error(`no port ${index}`);
    return port;
  }

  /** A frame that came over the link of `from` waits at `at`. */
  wait(at: number, from: number, priority = 3): void {
    const slot = this.#store.take(1000, priority, 0);
    this.#store.setIngress(slot, from);
    this.port(at).append(this.#store, slot);
  }

  leave(at: number, priority = 3): void {
    this.#store.drop(this.port(at).shift(this.#store, priority));
  }

  block(now: number, at: number, priority = 3): void {
    this.transmitter.now = now;
    this.transmitter.block(this.port(at), priority);
  }

  /** Lets time pass, with looks whenever they are due. */
  until(now: number): void {
    // Something is always on its way, or watching would end.
    this.transmitter.schedule(1e6, EventKind.WireFree, 0);
    for (let next = this.watch.nextTime(); next <= now; next = this.watch.nextTime()) {
      this.transmitter.now = next;
      this.watch.run();
    }
    this.transmitter.now = now;
  }
}

/** Every queue of the circle holds a frame of the one before. */
function fullCircle(priority = 3): Circle {
  const circle = new Circle();
  for (let i = 0; i < 3; i++) circle.wait(i, (i + 2) % 3, priority);
  return circle;
}

describe('a circle', () => {
  it('is found when the last of its queues has been blocked for long', () => {
    const circle = fullCircle();
    circle.block(0, 0);
    circle.block(300, 1);
    circle.block(900, 2);
    circle.until(1899);
    expect(circle.watch.found).toEqual([]);
    circle.until(10_000);
    expect(circle.watch.found).toEqual([{ atNs: 1900, ports: ['p0', 'p1', 'p2'] }]);
  });

  it('that dissolves before that is not', () => {
    const circle = fullCircle();
    circle.block(0, 0);
    circle.block(900, 1);
    circle.block(900, 2);
    circle.until(1500);
    circle.transmitter.unblock(circle.port(1), 3);
    circle.block(1500, 1);
    circle.until(2000);
    circle.transmitter.unblock(circle.port(2), 3);
    circle.until(10_000);
    expect(circle.watch.found).toEqual([]);
  });

  it('is none while a queue beside it, which moves, holds frames that one of it waits for', () => {
    const circle = fullCircle();
    circle.wait(7, 0);
    for (const at of [0, 1, 2]) circle.block(0, at);
    circle.until(5500);
    expect(circle.watch.found).toEqual([]);
    circle.leave(7);
    circle.until(6000);
    expect(circle.watch.found).toEqual([{ atNs: 6000, ports: ['p0', 'p1', 'p2'] }]);
  });

  it('is none while a queue beside it is blocked and waits for nobody: what it waits for is on its way', () => {
    const circle = fullCircle();
    circle.wait(7, 0);
    for (const at of [0, 1, 2, 7]) circle.block(0, at);
    circle.until(5000);
    expect(circle.watch.found).toEqual([]);
  });

  it('is none without frames that came from the queue that waits', () => {
    const circle = fullCircle();
    circle.leave(1);
    circle.wait(1, 4);
    for (const at of [0, 1, 2]) circle.block(0, at);
    circle.until(5000);
    expect(circle.watch.found).toEqual([]);
  });

  it('is none while the end of a pause is on its way', () => {
    const circle = fullCircle();
    for (const port of circle.ports) port.pauses = new PauseState(LINK.rateBps);
    for (const at of [0, 1, 2]) circle.port(at).reverse.pausing = 1 << 3;
    circle.port(1).reverse.pausing = 0;
    for (const at of [0, 1, 2]) circle.block(0, at);
    circle.until(5000);
    expect(circle.watch.found).toEqual([]);
    circle.port(1).reverse.pausing = 1 << 3;
    circle.until(6000);
    expect(circle.watch.found.length).toBe(1);
  });

  it('of each priority is one of its own, and a priority blocked later is looked at later', () => {
    const circle = fullCircle();
    for (let i = 0; i < 3; i++) circle.wait(i, (i + 2) % 3, 5);
    for (const at of [0, 1, 2]) circle.block(0, at);
    for (const at of [0, 1, 2]) circle.block(700, at, 5);
    circle.until(10_000);
    expect(circle.watch.found.map(({ atNs }) => atNs)).toEqual([1000, 1700]);
  });

  it('of another priority is found beside one that is blocked alone for ever, when nothing else happens', () => {
    const circle = new Circle();
    for (let i = 0; i < 3; i++) circle.wait(i, (i + 2) % 3, 5);
    for (const at of [0, 1, 2]) circle.block(0, at);
    for (const at of [0, 1, 2]) circle.block(700, at, 5);
    for (let next = circle.watch.nextTime(); next < Infinity; next = circle.watch.nextTime()) {
      circle.transmitter.now = next;
      circle.watch.run();
      expect(next).toBeLessThan(5000);
    }
    expect(circle.watch.found.map(({ atNs }) => atNs)).toEqual([1700]);
  });
});

describe('a ring whose frames all arrive', () => {
  it('has no deadlock, however soon it is looked for', () => {
    let blocked = 0;
    const load = fc.record({
      threshold: fc.integer({ min: 5_000, max: 40_000 }),
      counts: fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 8, maxLength: 8 }),
      distance: fc.integer({ min: 1, max: 3 }),
    });
    const topology = ring({ switches: 4, hostsPerSwitch: 2, link: LINK });
    fc.assert(
      fc.property(load, ({ threshold, counts, distance }) => {
        const { world, network, station } = rig(topology, {
          routes: clockwiseRoutes(topology),
          // What was sent before a pause has come by then.
          switches: { flowControl: 'pfc', staticXoffBytes: threshold, deadlockAfterNs: 2_000 },
        });
        for (const [host, count] of counts.entries())
          station(host).send({ to: (host + 2 * distance) % 8, bytes: 1500 }, count);
        world.runFor(3e6);
        const sent = counts.reduce((sum, count) => sum + count, 0);
        if (network.counters.delivered === sent) expect(network.deadlocks).toEqual([]);
        else expect(network.deadlocks.length).toBeGreaterThan(0);
        blocked += network.counters.pausesSent;
      }),
      { numRuns: 60 },
    );
    expect(blocked).toBeGreaterThan(100);
  });
});
