/**
 * Goal: a switch that cuts through is early by what it does not wait for, and only where it may be. Method: every time
 * by hand.
 */
import { describe, expect, it } from 'vitest';
import { custom, parkingLot, star } from '../../../src/sim/topology/index.ts';
import { BYTE_A_NS, rig } from './support.ts';

const LINK = { rateBps: BYTE_A_NS, delayNs: 100 };
const CUT = { switches: { forwarding: 'cut-through' } } as const;
const HEAD = 64;

function latency(hops: number, options: object, bytes = 1000): number {
  const { world, station } = rig(parkingLot({ hops, edge: LINK, bottleneck: LINK }), options);
  station(0).send({ to: 1, bytes });
  world.runUntilIdle();
  return station(1).received[0]?.at ?? -1;
}

describe('cutting through', () => {
  it('saves all but the head of a frame at every switch', () => {
    for (const hops of [1, 2, 5]) {
      const links = hops + 2;
      expect(latency(hops, {})).toBe(links * (1000 + 100));
      expect(latency(hops, CUT)).toBe(links * 100 + (links - 1) * HEAD + 1000);
    }
  });

  it('saves nothing for a frame that is no longer than a head', () => {
    expect(latency(3, CUT, 60)).toBe(latency(3, {}, 60));
  });

  it('waits for all of a frame where the next link is faster', () => {
    const path = (first: number, second: number): number => {
      const { world, station } = rig(
        custom({
          hosts: ['a', 'b'],
          switches: ['s'],
          links: [
            { a: 'a', b: 's', rateBps: BYTE_A_NS / first, delayNs: 100 },
            { a: 's', b: 'b', rateBps: BYTE_A_NS / second, delayNs: 100 },
          ],
        }),
        CUT,
      );
      station(0).send({ to: 1, bytes: 1000 });
      world.runUntilIdle();
      return station(1).received[0]?.at ?? -1;
    };
    expect(path(2, 1)).toBe(2000 + 100 + 1000 + 100);
    expect(path(1, 2)).toBe(HEAD + 100 + 2000 + 100);
  });

  it('waits for all of a frame where the next port is busy, and keeps the order', () => {
    const { world, station } = rig(star({ hosts: 3, link: LINK }), CUT);
    station(0).send({ to: 2, bytes: 1000 }, 2);
    station(1).send({ to: 2, bytes: 1000 }, 1, 100);
    world.runUntilIdle();
    expect(station(2).received.map(({ at, from, tag }) => [at, from, tag])).toEqual([
      // Through at 164.
      [164 + 1000 + 100, 0, 0],
      // Its head is there at 1164, when the port is free: through.
      [1164 + 1000 + 100, 0, 1],
      // Its head was there at 264, when the port was busy; all of it at 1200, when it was busy again.
      [2164 + 1000 + 100, 1, 0],
    ]);
  });

  it('goes on after a frame that it had to store', () => {
    const { world, station } = rig(star({ hosts: 3, link: LINK }), CUT);
    station(0).send({ to: 2, bytes: 1000 });
    station(1).send({ to: 2, bytes: 1000 }, 1, 100);
    station(1).send({ to: 2, bytes: 1000 }, 1, 10_000);
    world.runUntilIdle();
    expect(station(2).received.at(-1)?.at).toBe(10_000 + 100 + HEAD + 1000 + 100);
  });

  it('takes a frame into the queue of a paused priority when all of it has come', () => {
    const { world, network, station } = rig(star({ hosts: 3, link: LINK }), CUT);
    const port = network.port('switch0:2');
    if (port !== undefined) port.blocked = 1 << 3;
    station(0).send({ to: 2, bytes: 1000 });
    station(1).send({ to: 2, bytes: 500, dscp: 48 });
    world.runFor(1099);
    expect(port?.queueBytes).toBe(0);
    expect(station(2).received.map(({ at }) => at)).toEqual([HEAD + 100 + 500 + 100]);
    world.runFor(1);
    expect(port?.queueBytes).toBe(1000);
  });

  it('does not pass frames of its own priority that are paused', () => {
    const { world, network, station } = rig(star({ hosts: 4, link: LINK }), {
      switches: { forwarding: 'cut-through', flowControl: 'pfc', staticXoffBytes: 3000 },
    });
    for (const host of [0, 1, 2]) station(host).send({ to: 3, bytes: 1000 }, 50);
    world.runUntilIdle();
    expect(network.counters).toMatchObject({ delivered: 150, dropped: 0 });
    for (const host of [0, 1, 2]) {
      const tags = station(3)
        .received.filter(({ from }) => from === host)
        .map(({ tag }) => tag);
      expect(tags).toEqual(Array.from({ length: 50 }, (_, tag) => tag));
    }
    expect(network.framesInFlight).toBe(0);
    expect(network.switches[0]?.buffer?.usedBytes).toBe(0);
  });
});

describe('links so fast that a head takes less than a nanosecond', () => {
  // 1.6 Tb/s: 64 bytes are 0.32 ns, so that the end of a frame and the head of the next one come in the same
  // nanosecond.
  const link = { rateBps: 1.6e12, delayNs: 3 };

  it('keep the order of a flow, whether switches cut through or not, and of short frames and long ones', () => {
    for (const forwarding of ['cut-through', 'store-and-forward'] as const)
      for (const bytes of [60, 300, 999, 1500]) {
        const { world, station } = rig(star({ hosts: 4, link }), { switches: { forwarding } });
        for (const host of [0, 1, 2])
          for (let i = 0; i < 40; i++) station(host).send({ to: 3, bytes: i % 2 === 0 ? bytes : 60 + ((i * 37) % 90) });
        world.runUntilIdle();
        for (const host of [0, 1, 2]) {
          const tags = station(3)
            .received.filter(({ from }) => from === host)
            .map(({ tag }) => tag);
          expect(tags, `${forwarding} ${bytes}`).toEqual(Array.from({ length: 40 }, (_, tag) => tag));
        }
      }
  });
});
