/**
 * Goal: the simulated switch delivers what was sent, in order, in batches, and does to frames what it was told and no
 * more.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvariantError, RoceError } from '../../packets/errors.ts';
import { Medium } from '../../packets/frame.ts';
import { describeFate, Fate, type FaultSpec } from '../../src/faults/fault-spec.ts';
import { type NetworkOptions, type PortOptions, SimulatedNetwork } from '../../src/sim/network.ts';
import type { SimulatedPort } from '../../src/sim/port.ts';
import { BROADCAST, batchOf, Collector, frame } from './support.ts';

interface Station {
  readonly port: SimulatedPort;
  readonly sink: Collector;
}

function station(network: SimulatedNetwork, name: string, options?: PortOptions): Station {
  const port = network.attach(name, options);
  const sink = new Collector();
  void port.start(sink);
  return { port, sink };
}

function stations(options: NetworkOptions = {}, ports: readonly PortOptions[] = [{}, {}, {}]) {
  const network = new SimulatedNetwork(options);
  return { network, all: ports.map((port, i) => station(network, `p${i + 1}`, port)) };
}

function two(options: NetworkOptions = {}, port: PortOptions = {}) {
  const { network, all } = stations(options, [port, {}]);
  const [a, b] = all;
  if (a === undefined || b === undefined) throw new Error('two ports');
  return { network, a, b };
}

function send(from: Station, ...frames: readonly Uint8Array[]): number {
  return from.port.send(batchOf(...frames), 0);
}

function drain(network: SimulatedNetwork): void {
  for (let guard = 0; network.nextEventTime() < Infinity; guard++) {
    if (guard > 1e6) throw new Error('the network never falls silent');
    network.deliverDue(network.nextEventTime());
  }
}

const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

describe('SimulatedNetwork as a switch', () => {
  it('floods what it does not know and learns where addresses are', () => {
    const { network, all } = stations();
    const [a, b, c] = all as [Station, Station, Station];
    send(a, frame(1, 2, 10));
    drain(network);
    expect([a.sink.tags, b.sink.tags, c.sink.tags]).toEqual([[], [10], [10]]);
    send(b, frame(2, 1, 11));
    send(a, frame(1, 2, 12));
    drain(network);
    expect([a.sink.tags, b.sink.tags, c.sink.tags]).toEqual([[11], [10, 12], [10]]);
  });

  it('sends broadcast and multicast to all others and follows an address that moves', () => {
    const { network, all } = stations();
    const [a, b, c] = all as [Station, Station, Station];
    send(a, frame(1, BROADCAST, 1), frame(1, Uint8Array.of(0x33, 0x33, 0, 0, 0, 1), 2));
    send(c, frame(1, BROADCAST, 3));
    drain(network);
    send(b, frame(2, 1, 4));
    drain(network);
    expect([a.sink.tags, b.sink.tags, c.sink.tags]).toEqual([[3], [1, 2, 3], [1, 2, 4]]);
  });

  it('never returns a frame to the port it came from', () => {
    const { network, a, b } = two();
    send(a, frame(1, 9, 1), frame(9, 1, 2));
    drain(network);
    expect([a.sink.tags, b.sink.tags, a.port.counters.hairpinned]).toEqual([[], [1], 1]);
  });

  it('learns at most a bounded number of addresses and still delivers', () => {
    const { network, a, b } = two();
    for (let i = 0; i < 20_000; i++) {
      const bytes = frame(1, 2, i);
      new DataView(bytes.buffer).setUint32(8, 0x01_00_00_00 + i);
      send(a, bytes);
      drain(network);
    }
    expect(b.sink.tags).toEqual(range(20_000));
  });

  it('joins exactly two ports on the IP medium', () => {
    const network = new SimulatedNetwork({ medium: Medium.Ip });
    const a = station(network, 'a');
    const b = station(network, 'b');
    send(a, Uint8Array.of(0x45, 1, 2, 3));
    send(b, Uint8Array.of(0x60, 4));
    drain(network);
    expect(b.sink.frames.map((bytes) => [...bytes])).toEqual([[0x45, 1, 2, 3]]);
    expect(a.sink.frames.map((bytes) => [...bytes])).toEqual([[0x60, 4]]);
    expect(a.port.medium).toBe(Medium.Ip);
    expect(() => network.attach('c')).toThrow(RoceError);
  });

  it('refuses options that make no sense', () => {
    const network = new SimulatedNetwork();
    network.attach('a');
    expect(() => network.attach('a')).toThrow(RoceError);
    expect(() => network.attach('b', { mtu: 10 })).toThrow(RoceError);
    expect(() => network.attach('c', { faults: { loss: 1.5 } })).toThrow(/loss is 1.5/);
    expect(() => network.attach('d', { faults: { ecn: { kminBytes: 1, kmaxBytes: 2, pmax: 1 } } })).toThrow(/rateBps/);
    expect(() => new SimulatedNetwork({ latencyNs: 0 })).toThrow(RoceError);
    expect(() => network.deliverDue(-1)).toThrow(InvariantError);
  });
});

describe('SimulatedNetwork as a medium', () => {
  it('hands over what is due at one instant as one batch, 64 frames at most', () => {
    const { network, a, b } = two({ latencyNs: 100 });
    send(a, ...range(100).map((tag) => frame(1, 2, tag)));
    network.deliverDue(99);
    expect(b.sink.batches).toEqual([]);
    network.deliverDue(100);
    expect(b.sink.batches.map((batch) => batch.length)).toEqual([64, 36]);
    expect(b.sink.tags).toEqual(range(100));
  });

  it('keeps instants apart even when told of several at once', () => {
    const { network, a, b } = two({ latencyNs: 100 });
    send(a, frame(1, 2, 1));
    network.deliverDue(50);
    send(a, frame(1, 2, 2));
    const times: number[] = [];
    b.sink.onReceive = () => times.push(network.now);
    network.deliverDue(1000);
    expect(times).toEqual([100, 150]);
    expect(network.now).toBe(1000);
  });

  it('copies: the sender may overwrite its batch at once', () => {
    const { network, a, b } = two();
    for (const length of [60, 255, 256, 1500]) {
      const batch = batchOf(frame(1, 2, length, length));
      a.port.send(batch, 0);
      batch.bytes.fill(0xa5);
    }
    drain(network);
    expect(b.sink.frames).toEqual([60, 255, 256, 1500].map((length) => frame(1, 2, length, length)));
  });

  it('carries frames up to the MTU of the port, whatever came before', () => {
    const { network, a, b } = two();
    send(a, frame(1, 2, 1));
    const c = station(network, 'c', { mtu: 9000 });
    const d = station(network, 'd', { mtu: 9000 });
    send(c, frame(3, 4, 2, 9022), frame(3, 4, 3, 9023));
    send(a, frame(1, 2, 4, 1522), frame(1, 2, 5, 1523));
    drain(network);
    expect(d.sink.frames).toEqual([frame(3, 4, 2, 9022), frame(1, 2, 4, 1522)]);
    expect(b.sink.tags).toEqual([1, 4]);
    // The large frame reaches the small ports too, by flooding, and is dropped there.
    expect([a.port, b.port, c.port].map((port) => port.counters.oversize)).toEqual([2, 1, 1]);
  });

  it('lets a sink send from inside receive and loses nothing while its memory grows', () => {
    const { network, a, b } = two();
    let bounces = 0;
    b.sink.onReceive = () => {
      if (bounces++ < 10) send(b, ...range(200).map((tag) => frame(2, 1, tag)));
    };
    a.sink.onReceive = () => {
      if (bounces < 10) send(a, frame(1, 2, 1));
    };
    send(a, ...range(64).map((tag) => frame(1, 2, tag)));
    drain(network);
    expect(bounces).toBeGreaterThan(9);
    for (const batch of [...a.sink.frames]) expect(batch).toEqual(frame(2, 1, batch[17] ?? 0));
    expect(network.framesInFlight).toBe(0);
  });

  it('takes no more frames than maxFrames and says when it takes them again', () => {
    const { network, a, b } = two({ maxFrames: 10 });
    const batch = batchOf(...range(25).map((tag) => frame(1, 2, tag)));
    let sent = a.port.send(batch, 0);
    expect(sent).toBe(10);
    expect(a.sink.writableCalls).toBe(0);
    while (sent < 25) {
      const calls = a.sink.writableCalls;
      drain(network);
      expect(a.sink.writableCalls).toBe(calls + 1);
      sent += a.port.send(batch, sent);
    }
    drain(network);
    expect(b.sink.tags).toEqual(range(25));
  });

  it('delivers what a closed port had sent, and nothing to it', async () => {
    const { network, a, b } = two();
    send(a, frame(1, 2, 1));
    send(b, frame(2, 1, 2));
    await a.port.close();
    await a.port.close();
    drain(network);
    expect([b.sink.tags, a.sink.tags, a.sink.closedCalls, a.port.counters.unheard]).toEqual([[1], [], 1, 1]);
    expect(send(a, frame(1, 2, 3))).toBe(1);
    drain(network);
    expect(b.sink.tags).toEqual([1]);
    await expect(a.port.start(new Collector())).rejects.toThrow(RoceError);
    expect(network.framesInFlight).toBe(0);
  });
});

describe('rates', () => {
  it('takes the time of the bytes, frame after frame', () => {
    const { network, a, b } = two({ latencyNs: 1000 }, { faults: { rateBps: 8e9 } });
    const times: number[] = [];
    b.sink.onReceive = () => times.push(network.now);
    send(a, frame(1, 2, 1, 100), frame(1, 2, 2, 300));
    drain(network);
    expect(times).toEqual([1100, 1400]);
  });

  it('does not let rounding add up: a million odd frames take as long as their bytes', () => {
    const { network, a } = two({ latencyNs: 1 }, { faults: { rateBps: 3e9, queueBytes: 1e12 } });
    const batch = batchOf(...range(100).map((tag) => frame(1, 2, tag, 65)));
    for (let i = 0; i < 100; i++) a.port.send(batch, 0);
    drain(network);
    expect(network.now).toBe(Math.ceil((10_000 * 65 * 8) / 3 + 1));
  });

  it('stops taking frames when the queue is full and asks for more when it is half empty', () => {
    const { network, a, b } = two({ latencyNs: 1 }, { faults: { rateBps: 8e9, queueBytes: 1000 } });
    const batch = batchOf(...range(30).map((tag) => frame(1, 2, tag, 100)));
    const first = a.port.send(batch, 0);
    expect(first).toBe(10);
    network.deliverDue(499);
    expect(a.sink.writableCalls).toBe(0);
    network.deliverDue(500);
    expect(a.sink.writableCalls).toBe(1);
    expect(a.port.send(batch, first)).toBe(5);
    drain(network);
    expect(b.sink.tags).toEqual(range(15));
  });

  it('queues at the receiver when many send to one, and loses nothing without a limit', () => {
    const { network, all } = stations({ latencyNs: 10 }, [{}, {}, { receiveFaults: { rateBps: 8e9 } }]);
    const [a, b, c] = all as [Station, Station, Station];
    send(c, frame(3, BROADCAST, 0));
    drain(network);
    const start = network.now;
    send(a, ...range(50).map((tag) => frame(1, 3, tag, 100)));
    send(b, ...range(50).map((tag) => frame(2, 3, 100 + tag, 100)));
    drain(network);
    expect(c.sink.tags.length).toBe(100);
    expect(network.now - start).toBe(10 + 100 * 100);
  });

  it('drops at the tail of a receive queue that has a limit, and counts it', () => {
    const spec: FaultSpec = { rateBps: 8e9, queueBytes: 1000 };
    const { network, all } = stations({}, [{}, { receiveFaults: spec }]);
    const [a, b] = all as [Station, Station];
    send(a, ...range(50).map((tag) => frame(1, 2, tag, 100)));
    drain(network);
    expect(b.sink.tags).toEqual(range(10));
    expect(b.port.receiveWire.counters).toMatchObject({ frames: 50, dropped: 40, overflowed: 40 });
  });
});

describe('faults', () => {
  const thousand = range(1000).map((tag) => frame(1, 2, tag, 64));

  it('without faults delivers every frame once, unchanged, in order', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 14, max: 1522 }), { maxLength: 150 }), fc.nat(), (lengths, seed) => {
        const { network, a, b } = two({ seed });
        const frames = lengths.map((length, i) => frame(1, 2, i, Math.max(18, length)));
        send(a, ...frames);
        drain(network);
        expect(b.sink.frames).toEqual(frames);
      }),
    );
  });

  it('loses about the given share, and none or all at the ends', () => {
    for (const [loss, low, high] of [
      [0, 1000, 1000],
      [0.3, 640, 760],
      [1, 0, 0],
    ] as const) {
      const { network, a, b } = two({ faults: { loss } });
      send(a, ...thousand);
      drain(network);
      expect(b.sink.tags.length).toBeGreaterThanOrEqual(low);
      expect(b.sink.tags.length).toBeLessThanOrEqual(high);
      expect(a.port.sendWire.counters.dropped).toBe(1000 - b.sink.tags.length);
      expect(b.sink.tags).toEqual([...b.sink.tags].sort((x, y) => x - y));
    }
  });

  it('duplicates at once or later', () => {
    const { network, a, b } = two({ latencyNs: 10 }, { faults: { duplicate: 1, duplicateDelayNs: 5000 } });
    send(a, frame(1, 2, 1), frame(1, 2, 2));
    network.deliverDue(10);
    expect(b.sink.tags).toEqual([1, 2]);
    network.deliverDue(5010);
    expect(b.sink.tags).toEqual([1, 2, 1, 2]);
    expect(a.port.sendWire.counters.duplicated).toBe(2);
  });

  it('flips exactly one bit of a corrupted frame and never touches the copy that is not corrupted', () => {
    const { network, all } = stations({}, [{}, { receiveFaults: { corrupt: 1 } }, {}]);
    const [a, b, c] = all as [Station, Station, Station];
    send(a, ...thousand.map((_, tag) => frame(1, BROADCAST, tag)));
    drain(network);
    b.sink.frames.forEach((bytes, tag) => {
      const good = frame(1, BROADCAST, tag);
      const flipped = bytes.reduce((sum, byte, i) => sum + popcount(byte ^ (good[i] ?? 0)), 0);
      expect(flipped).toBe(1);
    });
    expect(c.sink.frames).toEqual(thousand.map((_, tag) => frame(1, BROADCAST, tag)));
    expect(b.port.receiveWire.counters.corrupted).toBe(1000);
  });

  it('reorders only those it holds back', () => {
    const { network, a, b } = two({ seed: 5, latencyNs: 1 }, { faults: { reorder: 0.1, reorderDelayNs: 100 } });
    for (const bytes of thousand) {
      send(a, bytes);
      network.deliverDue(network.now + 10);
    }
    drain(network);
    const late = a.port.sendWire.counters.reordered;
    expect(late).toBeGreaterThan(60);
    expect([...b.sink.tags].sort((x, y) => x - y)).toEqual(range(1000));
    // Each late frame arrives ten places later, behind frames that were sent after it.
    let highest = -1;
    const overtaken = b.sink.tags.filter((tag) => {
      const isLate = tag < highest;
      highest = Math.max(highest, tag);
      return isLate;
    });
    expect(overtaken.length).toBe(late);
  });

  it('jitter and delay keep the order and stay in their range', () => {
    const { network, a, b } = two({ seed: 9, latencyNs: 100 }, { faults: { delayNs: 1000, jitterNs: 500 } });
    const delays: number[] = [];
    for (const bytes of thousand) {
      const sentAt = network.now;
      send(a, bytes);
      b.sink.onReceive = () => delays.push(network.now - sentAt);
      drain(network);
    }
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(1100);
    expect(Math.max(...delays)).toBeLessThanOrEqual(1600);
    expect(Math.max(...delays) - Math.min(...delays)).toBeGreaterThan(450);
    send(a, ...thousand);
    drain(network);
    expect(b.sink.tags.slice(1000)).toEqual(range(1000));
  });

  it('applies rules to the match they name, on the port and direction they name', () => {
    const { network, a, b } = two();
    const third = network.addRule({ match: () => true, nth: 3, action: 'drop' });
    const late = network.addRule({ match: (f) => f.bytes[f.start + 17] === 5, action: 'delay', delayNs: 1e6 });
    const twice = network.addRule({ port: 'p2', direction: 'receive', match: () => true, nth: 1, action: 'duplicate' });
    const never = network.addRule({ port: 'p2', match: () => true, action: 'drop' });
    send(a, ...range(8).map((tag) => frame(1, 2, tag)));
    drain(network);
    expect(b.sink.tags).toEqual([0, 0, 1, 3, 4, 6, 7, 5]);
    expect([third.matches, third.applied, late.applied, twice.applied, never.matches]).toEqual([8, 1, 1, 1, 0]);
    network.removeRule(third);
    network.removeRule(late);
    send(a, frame(1, 2, 9));
    drain(network);
    expect(b.sink.tags.at(-1)).toBe(9);
    expect(third.matches).toBe(8);
  });

  it('shows a tap every frame as sent and as it arrived, with what happened', () => {
    const { network, a, b } = two({ latencyNs: 7 });
    const seen: string[] = [];
    network.tap = {
      frame: (now, port, direction, bytes, start, end, fate, serial) => {
        expect(end - start).toBe(64);
        seen.push(`${now} ${port.name} ${direction} #${serial} tag ${bytes[start + 17]}: ${describeFate(fate)}`);
      },
    };
    network.addRule({ match: () => true, nth: 2, action: 'drop' });
    network.addRule({ match: () => true, nth: 3, action: 'corrupt' });
    network.addRule({ match: () => true, nth: 3, action: 'duplicate', delayNs: 3 });
    send(a, frame(1, 2, 1), frame(1, 2, 2));
    void b.port.close();
    drain(network);
    expect(seen).toEqual([
      '0 p1 out #1 tag 1: delivered',
      '0 p1 out #2 tag 2: dropped',
      // The port is closed by then; the other one was lost on its way, and would be here now.
      '7 p2 in #1 tag 1: dropped',
      '7 p2 in #2 tag 2: dropped',
    ]);
    expect(describeFate(Fate.Duplicated | Fate.Corrupted)).toBe('duplicated, corrupted');
  });

  it('changes its mind when told, and keeps the directions apart', () => {
    const { network, a, b } = two();
    a.port.setFaults({ loss: 1 }, 'receive');
    send(a, frame(1, 2, 1));
    send(b, frame(2, 1, 2));
    drain(network);
    a.port.setFaults({});
    send(b, frame(2, 1, 3));
    drain(network);
    expect([a.sink.tags, b.sink.tags]).toEqual([[3], [1]]);
  });
});

function popcount(byte: number): number {
  let bits = 0;
  for (let rest = byte; rest !== 0; rest &= rest - 1) bits++;
  return bits;
}
