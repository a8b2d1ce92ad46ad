/**
 * Goal: frames go where their addresses say, at times that can be computed by hand. Method: links of a byte a
 * nanosecond, so that every time is a sum of lengths and delays.
 */
import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../../packets/errors.ts';
import { Fate } from '../../../src/faults/fault-spec.ts';
import { SwitchedNetwork } from '../../../src/sim/switching/index.ts';
import { custom, dumbbell, leafSpine, star } from '../../../src/sim/topology/index.ts';
import { World } from '../../../src/sim/world.ts';
import { BYTE_A_NS, packet, rig, Station } from './support.ts';

const LINK = { rateBps: BYTE_A_NS, delayNs: 100 };

describe('forwarding', () => {
  it('delivers a frame after its length at each hop and the delay of each link', () => {
    const { world, station } = rig(star({ hosts: 3, link: LINK }));
    station(0).send({ to: 2, bytes: 1000 });
    world.runUntilIdle();
    expect(station(2).received).toEqual([{ at: 2 * (1000 + 100), from: 0, tag: 0, bytes: 1000, marked: false }]);
    expect(station(1).received).toEqual([]);
  });

  it('lets frames of one sender follow each other without a gap', () => {
    const { world, station } = rig(star({ hosts: 2, link: LINK }));
    station(0).send({ to: 1, bytes: 500 }, 4);
    world.runUntilIdle();
    expect(station(1).received.map(({ at }) => at)).toEqual([1200, 1700, 2200, 2700]);
    expect(world.now).toBe(2700);
  });

  it('keeps a rate that does not divide nanoseconds exactly', () => {
    // 100 Gb/s: 0.08 ns a byte, 5.04 ns for 63 bytes. 1000 frames take 5040 ns and not 6000.
    const { world, station } = rig(star({ hosts: 2, link: { rateBps: 100e9, delayNs: 10 } }));
    station(0).send({ to: 1, bytes: 63 }, 1000);
    world.runUntilIdle();
    expect(station(1).received.at(-1)?.at).toBe(Math.ceil(1000 * 5.04 + 10 + 5.04 + 10) + 1);
  });

  it('counts what a frame takes of the wire beyond its bytes', () => {
    const { world, station } = rig(star({ hosts: 2, link: LINK }), { frameOverheadBytes: 24 });
    station(0).send({ to: 1, bytes: 500 }, 2);
    world.runUntilIdle();
    expect(station(1).received.map(({ at }) => at)).toEqual([2 * 524 + 200, 3 * 524 + 200]);
  });

  it('takes turns at a port in the order in which frames came, and counts the bytes that wait', () => {
    const { world, network, station } = rig(star({ hosts: 3, link: LINK }));
    station(0).send({ to: 2, bytes: 1000 }, 3);
    station(1).send({ to: 2, bytes: 1000 }, 3);
    const port = network.port('switch0:2');
    world.runFor(1100);
    // The first of host 0 is on the wire, that of host 1 waits.
    expect(port?.queueBytes).toBe(1000);
    world.runFor(2000);
    // Six have come, and the third is on the wire.
    expect(port?.queueBytes).toBe(3000);
    expect(port?.queueBytesOf(3)).toBe(3000);
    world.runUntilIdle();
    expect(station(2).received.map(({ at, from }) => [at, from])).toEqual([
      [2200, 0],
      [3200, 1],
      [4200, 0],
      [5200, 1],
      [6200, 0],
      [7200, 1],
    ]);
    // In the instant in which two come and one leaves they come first.
    expect(port?.counters).toMatchObject({ frames: 6, bytes: 6000, dropped: 0, peakQueueBytes: 4000 });
  });

  it('builds up a queue where a slower link follows', () => {
    const topology = dumbbell({ pairs: 1, edge: LINK, bottleneck: { rateBps: BYTE_A_NS / 4, delayNs: 1000 } });
    const { world, network, station } = rig(topology);
    station(0).send({ to: 1, bytes: 1000 }, 8);
    // The last has come in at 8 * 1000 + 100; since 1100 one left every 4000.
    world.runFor(8100);
    expect(network.port('switch0:1')?.queueBytes).toBe(6000);
    world.runUntilIdle();
    expect(station(1).received.at(-1)?.at).toBe(1000 + 100 + 8 * 4000 + 1000 + 1000 + 100);
  });

  it('adds the time that a switch thinks', () => {
    const { world, station } = rig(star({ hosts: 2, link: LINK }), { switches: { processingNs: 250 } });
    station(0).send({ to: 1, bytes: 1000 });
    world.runUntilIdle();
    expect(station(1).received[0]?.at).toBe(2450);
  });

  it('sends higher priorities first, whatever tells them', () => {
    const { world, station } = rig(star({ hosts: 3, link: LINK }));
    station(0).send({ to: 2, dscp: 0 }, 2);
    station(0).send({ to: 2, dscp: 26 }, 1);
    station(1).send({ to: 2, dscp: 48 }, 2);
    station(1).send({ to: 2, dscp: 0, vlan: 7 << 13 }, 1);
    world.runUntilIdle();
    expect(station(2).received.map(({ from, tag }) => `${from}/${tag}`)).toEqual([
      '0/0',
      '1/0',
      '1/2',
      '1/1',
      '0/2',
      '0/1',
    ]);
  });

  it('addresses a frame to the host it is for', () => {
    const { world, station } = rig(star({ hosts: 2, link: LINK }));
    station(1).keep = true;
    const bytes = packet(0, { to: 1 }, 0);
    bytes.set([2, 0, 10, 255, 255, 254]);
    station(0).transmit = (writer) => {
      if (writer.full || station(0).sent++ > 0) return false;
      writer.appendRaw(bytes, 0, bytes.length);
      return false;
    };
    world.runUntilIdle();
    expect([...(station(1).frames[0] ?? [])].slice(0, 6)).toEqual([2, 0, 10, 0, 0, 2]);
  });

  it('drops and counts what is for nobody: other protocols, unknown hosts, what is too long or cut off', () => {
    const { world, network, station } = rig(star({ hosts: 2, link: LINK }));
    const arp = packet(0, { to: 1, bytes: 64 }, 0);
    arp[12] = 8;
    arp[13] = 6;
    const frames = [
      arp,
      packet(0, { to: 9 }, 0),
      packet(0, { to: -1 }, 0),
      packet(0, { to: 1, bytes: 1600 }, 0),
      packet(0, { to: 1 }, 0).subarray(0, 37),
      Uint8Array.of(1, 2, 3),
    ];
    station(0).transmit = (writer) => {
      const next = frames.shift();
      if (next !== undefined) writer.appendRaw(next, 0, next.length);
      return frames.length > 0;
    };
    world.runUntilIdle();
    expect(network.counters).toMatchObject({ sent: 6, refused: 6, delivered: 0 });
    expect(network.hosts[0]?.counters).toMatchObject({ oversize: 1, unroutable: 5 });
    expect(network.framesInFlight).toBe(0);
  });

  it('drops and counts what comes to a host without a machine, and after a port was closed', () => {
    const network = new SwitchedNetwork({ topology: star({ hosts: 3, link: LINK }), seed: 1 });
    const world = new World({ seed: 1, network });
    const sender = world.attach('host0', (host) => new Station(host, 0));
    const listener = world.attach('host1', (host) => new Station(host, 1));
    sender.send({ to: 1 }, 2);
    sender.send({ to: 2 });
    world.runFor(2500);
    expect(listener.received.length).toBe(1);
    void network.hosts[1]?.close();
    world.runUntilIdle();
    expect(listener.received.length).toBe(1);
    expect(network.counters).toMatchObject({ sent: 3, delivered: 1, unheard: 2 });
    expect(network.framesInFlight).toBe(0);
    // What a closed port is given is gone.
    listener.send({ to: 0 });
    world.runUntilIdle();
    expect(sender.received).toEqual([]);
  });

  it('joins two hosts without a switch, in both directions at once', () => {
    const link = { a: 'left', b: 'right', ...LINK };
    const { world, station } = rig(custom({ hosts: ['left', 'right'], switches: [], links: [link] }));
    station(0).send({ to: 1 });
    station(1).send({ to: 0 });
    world.runUntilIdle();
    expect(station(0).received[0]?.at).toBe(1100);
    expect(station(1).received[0]?.at).toBe(1100);
  });

  it('refuses names that are no hosts, and a host twice', () => {
    const network = new SwitchedNetwork({ topology: star({ hosts: 2, link: LINK }), seed: 1 });
    expect(() => network.attach('switch0')).toThrow(expect.objectContaining({ code: 'ERR_ROCE_ARGUMENT' }));
    network.attach('host0');
    expect(() => network.attach('host0')).toThrow(expect.objectContaining({ code: 'ERR_ROCE_IN_USE' }));
  });

  it('treats a sink that moves time as a bug', () => {
    const { world, network, station } = rig(star({ hosts: 2, link: LINK }));
    station(0).send({ to: 1 });
    station(1).receive = () => network.deliverDue(1e9);
    expect(() => world.runUntilIdle()).toThrow(InvariantError);
  });

  it('refuses options that make no sense, by name', () => {
    const topology = star({ hosts: 2, link: LINK });
    const cases: [object, RegExp][] = [
      [{ seed: 0.5 }, /seed/],
      [{ mtu: 20 }, /mtu/],
      [{ loss: 2 }, /loss/],
      [{ nicQueueFrames: 0 }, /nicQueueFrames/],
      [{ frameOverheadBytes: -1 }, /frameOverheadBytes/],
      [{ switches: { flowControl: 'hope' } }, /flowControl/],
      [{ switches: { forwarding: 'teleport' } }, /forwarding/],
      [{ switches: { losslessPriorities: 256 } }, /losslessPriorities/],
      [{ switches: { ecn: { kminBytes: 5, kmaxBytes: 4, pmax: 1 } } }, /kmaxBytes/],
      [{ switches: { flowControl: 'pfc', bufferBytes: 1000 } }, /bytes/],
      [{ seed: 2 ** 53 }, /seed/],
      [{ mtu: 65_536 }, /mtu/],
      [{ loss: Number.NaN }, /loss/],
      [{ switches: { bufferBytes: 0 } }, /bufferBytes/],
      [{ switches: { bufferBytes: 2 ** 31 } }, /bufferBytes/],
      // Whether they are used or not.
      [{ switches: { flowControl: 'credits', headroomBytes: -1 } }, /headroomBytes/],
      [{ switches: { flowControl: 'credits', pfcShift: 31 } }, /pfcShift/],
      [{ switches: { flowControl: 'credits', staticXoffBytes: 0.5 } }, /staticXoffBytes/],
      [{ switches: { flowControl: 'credits', lossyAlpha: 0 } }, /lossyAlpha/],
      [{ switches: { creditBytes: 100 } }, /creditBytes/],
      [{ switches: { ecnPriorities: -1 } }, /ecnPriorities/],
      [{ switches: { ecn: { kminBytes: 1, kmaxBytes: 4, pmax: 1.1 } } }, /pmax/],
      [{ switches: { ecn: { kminBytes: -1, kmaxBytes: 4, pmax: 1 } } }, /kminBytes/],
      [{ switches: { processingNs: -1 } }, /processingNs/],
      [{ switches: { deadlockAfterNs: 0 } }, /deadlockAfterNs/],
      [{ switches: { flowControl: 'credits', creditBytes: 100 } }, /creditBytes/],
    ];
    for (const [options, named] of cases)
      expect(() => new SwitchedNetwork({ topology, seed: 1, ...options })).toThrow(
        expect.objectContaining({ code: 'ERR_ROCE_ARGUMENT', message: expect.stringMatching(named) }),
      );
  });

  it('shows every frame at every link it takes', () => {
    const { world, network, station } = rig(star({ hosts: 2, link: LINK }));
    const seen: unknown[] = [];
    network.tap = {
      frame: (now, port, direction, _bytes, start, end, fate, serial) =>
        void seen.push([now, port.name, direction, end - start, fate, serial]),
    };
    station(0).send({ to: 1, bytes: 1000 });
    world.runUntilIdle();
    expect(seen).toEqual([
      [0, 'host0:0', 'out', 1000, 0, 1],
      [1100, 'host0:0', 'in', 1000, 0, 1],
      [1100, 'switch0:1', 'out', 1000, 0, 1],
      [2200, 'switch0:1', 'in', 1000, 0, 1],
    ]);
  });

  it('loses frames by chance, and says which', () => {
    const { world, network, station } = rig(star({ hosts: 2, link: LINK }), { loss: 0.1 });
    let dropped = 0;
    network.tap = {
      frame: (_now, _port, _direction, _bytes, _start, _end, fate) => {
        if ((fate & Fate.Dropped) !== 0) dropped++;
      },
    };
    station(0).send({ to: 1, bytes: 100 }, 10_000);
    world.runUntilIdle();
    const { lost, delivered } = network.counters;
    // 1 - 0.9^2 of 10,000, and four standard deviations.
    expect(Math.abs(lost - 1900)).toBeLessThan(4 * Math.sqrt(10_000 * 0.19 * 0.81));
    expect(dropped).toBe(lost);
    expect(lost + delivered).toBe(10_000);
  });
});

describe('ways of equal cost', () => {
  const fabric = leafSpine({ leaves: 2, spines: 4, hostsPerLeaf: 1, hostLink: LINK, uplink: LINK });

  it('are all used by many flows, and each flow keeps to one', () => {
    const { world, network, station } = rig(fabric);
    const ways = new Map<number, Set<string>>();
    network.tap = {
      frame: (_now, port, direction, bytes, start) => {
        if (direction !== 'out' || !port.name.startsWith('leaf0:') || port.port === 0) return;
        const flow = ((bytes[start + 34] ?? 0) << 8) | (bytes[start + 35] ?? 0);
        ways.set(flow, (ways.get(flow) ?? new Set()).add(port.name));
      },
    };
    const flows = 400;
    for (let flow = 0; flow < flows; flow++) station(0).send({ to: 1, bytes: 100, sourcePort: 0xc0_00 + flow }, 5);
    world.runUntilIdle();
    expect(station(1).received.length).toBe(5 * flows);
    expect([...ways.values()].every((set) => set.size === 1)).toBe(true);
    const uses = new Map<string, number>();
    for (const set of ways.values()) for (const name of set) uses.set(name, (uses.get(name) ?? 0) + 1);
    expect(uses.size).toBe(4);
    // 100 each; binomial, so that four standard deviations are 35.
    for (const count of uses.values()) expect(Math.abs(count - 100)).toBeLessThan(35);
  });

  it('are chosen otherwise with another seed', () => {
    const choice = (seed: number): string => {
      const { world, network, station } = rig(fabric, { seed });
      for (let flow = 0; flow < 20; flow++) station(0).send({ to: 1, bytes: 100, sourcePort: 0xc0_00 + flow });
      world.runUntilIdle();
      return network.egressPorts.map(({ counters }) => counters.frames).join();
    };
    expect(choice(1)).toBe(choice(1));
    expect(new Set([1, 2, 3, 4].map(choice)).size).toBeGreaterThan(1);
  });
});
