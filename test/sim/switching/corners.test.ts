/**
 * Goal: what happens rarely leaves nothing behind either: no way to a host, frames for oneself, ports that close in the
 * middle of an instant, credits of one priority and not of another. Method: networks of a byte a nanosecond made for
 * one corner each.
 */
import { describe, expect, it } from 'vitest';
import { FrameWriter } from '../../../packets/frame-writer.ts';
import { readPfc } from '../../../packets/pfc.ts';
import { Fate } from '../../../src/faults/fault-spec.ts';
import { SwitchedNetwork } from '../../../src/sim/switching/index.ts';
import { custom, dumbbell, Routes, star } from '../../../src/sim/topology/index.ts';
import { BYTE_A_NS, packet, rig } from './support.ts';

const LINK = { rateBps: BYTE_A_NS, delayNs: 100 };

describe('a frame', () => {
  it('for which a switch has no way is counted, and its credits come back', () => {
    const topology = dumbbell({ pairs: 1, edge: LINK, bottleneck: LINK });
    const nowhere = new Routes(topology, () => [[], []]);
    const { world, network, station } = rig(topology, { routes: nowhere, switches: { flowControl: 'credits' } });
    station(0).send({ to: 1 }, 50);
    world.runUntilIdle();
    expect(network.counters).toMatchObject({ sent: 50, noRoute: 50, delivered: 0 });
    expect(network.switches[0]?.counters.noRoute).toBe(50);
    expect(network.framesInFlight).toBe(0);
    for (const { credits = [] } of network.egressPorts)
      for (const { available, blocks } of credits) expect(available).toBe(blocks);
  });

  it('to oneself comes to nobody where there is no switch to turn it round', () => {
    const link = { a: 'left', b: 'right', ...LINK };
    const { world, network, station } = rig(custom({ hosts: ['left', 'right'], switches: [], links: [link] }));
    station(0).send({ to: 0 });
    world.runUntilIdle();
    expect(station(1).received).toEqual([]);
    expect(network.hosts[1]?.counters).toMatchObject({ unheard: 1, delivered: 0 });
    expect(network.framesInFlight).toBe(0);
  });

  it('to oneself comes back from a switch', () => {
    const { world, station } = rig(star({ hosts: 2, link: LINK }), { switches: { flowControl: 'pfc' } });
    station(0).send({ to: 0 }, 3);
    world.runUntilIdle();
    expect(station(0).received.map(({ tag }) => tag)).toEqual([0, 1, 2]);
  });

  it('for a port that somebody closes in the instant in which it comes is counted and forgotten', () => {
    const { world, network, station } = rig(star({ hosts: 4, link: LINK }));
    station(0).send({ to: 2 });
    station(1).send({ to: 3 });
    const close = station(2).receive.bind(station(2));
    station(2).receive = (batch) => {
      close(batch);
      void network.hosts[3]?.close();
    };
    world.runUntilIdle();
    expect(station(3).received).toEqual([]);
    expect(network.hosts[3]?.counters).toMatchObject({ delivered: 0, unheard: 1 });
    expect(network.counters).toMatchObject({ sent: 2, delivered: 1, unheard: 1 });
    expect(network.framesInFlight).toBe(0);
  });
});

describe('credits', () => {
  it('that one priority lacks do not hold up another one', () => {
    const { world, network, station } = rig(star({ hosts: 2, link: { ...LINK, delayNs: 5000 } }), {
      ...{ mtu: 1000, nicQueueFrames: 4 },
      switches: { flowControl: 'credits', creditBytes: 2048 },
    });
    station(0).send({ to: 1, bytes: 1000, dscp: 48 }, 3);
    station(0).send({ to: 1, bytes: 1000, dscp: 26 });
    world.runUntilIdle();
    // The first of priority 3 leaves at 2000, when the third of priority 6 has no credits; those come back at 11,000.
    expect(station(1).received.map(({ at, tag }) => [at, tag])).toEqual([
      [12_000, 0],
      [13_000, 1],
      [14_000, 3],
      [23_000, 2],
    ]);
    expect(network.port('host0:0')?.counters.creditStalls).toBe(1);
  });

  it('of a short frame are as many as it took, on links that lose frames and to hosts that are closed', () => {
    const { world, network, station } = rig(star({ hosts: 3, link: LINK }), {
      loss: 0.3,
      switches: { flowControl: 'credits' },
    });
    for (let bytes = 60; bytes < 360; bytes++) station(bytes % 2).send({ to: 2, bytes });
    world.runFor(20_000);
    void network.hosts[2]?.close();
    world.runUntilIdle();
    const { sent, delivered, lost, unheard } = network.counters;
    expect(delivered + lost + unheard).toBe(sent);
    expect(Math.min(delivered, lost, unheard)).toBeGreaterThan(0);
    for (const { credits = [] } of network.egressPorts)
      for (const { available, blocks } of credits) expect(available).toBe(blocks);
  });
});

describe('a link that loses frames', () => {
  it('loses no pauses', () => {
    const { world, network, station } = rig(star({ hosts: 4, link: LINK }), {
      loss: 0.2,
      switches: { flowControl: 'pfc', staticXoffBytes: 1000 },
    });
    let lost = 0;
    network.tap = {
      frame: (_now, _port, _direction, bytes, start, end, fate) => {
        if ((fate & Fate.Dropped) === 0) return;
        lost++;
        expect(readPfc(new DataView(bytes.buffer), start, end)).toBeUndefined();
      },
    };
    for (const host of [1, 2, 3]) station(host).send({ to: 0 }, 300);
    world.runUntilIdle({ maxTimeNs: 1e9 });
    expect(lost).toBe(network.counters.lost);
    expect(network.counters.pausesSent).toBeGreaterThan(50);
    for (const host of [1, 2, 3])
      expect(network.port(`host${host}:0`)?.counters.pausesReceived).toBe(
        network.port(`switch0:${host}`)?.counters.pausesSent,
      );
  });
});

describe('a NIC', () => {
  it('says that it takes frames again when it had said no, once', () => {
    const network = new SwitchedNetwork({ topology: star({ hosts: 2, link: LINK }), seed: 1 });
    const port = network.attach('host0');
    let told = 0;
    void port.start({ receive: () => {}, writable: () => void told++, closed: () => {} });
    const writer = new FrameWriter(4, port.maxFrameBytes);
    for (let tag = 0; tag < 4; tag++) {
      const bytes = packet(0, { to: 1, bytes: 1000 }, tag);
      writer.appendRaw(bytes, 0, bytes.length);
    }
    // One on the wire, one in the queue.
    expect(port.send(writer, 0)).toBe(2);
    network.deliverDue(999);
    expect([told, port.ready]).toEqual([0, false]);
    network.deliverDue(1000);
    expect([told, port.ready]).toEqual([1, true]);
    // One fits; that the other does not is owed again.
    expect(port.send(writer, 2)).toBe(1);
    network.deliverDue(1e6);
    expect(told).toBe(2);
    // Nobody has been told no since.
    expect(port.send(writer, 3)).toBe(1);
    network.deliverDue(2e6);
    expect(told).toBe(2);
  });
});
