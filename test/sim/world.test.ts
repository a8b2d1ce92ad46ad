/** Goal: machines run in virtual time, bounded and repeatable. Method: small machines that talk, wait and misbehave. */
import { describe, expect, it } from 'vitest';
import { InvariantError, RoceError } from '../../packets/errors.ts';
import { World } from '../../src/sim/world.ts';
import { frame, mac, Talker, tagOf } from './support.ts';

function pair(world: World, options = {}): [Talker, Talker] {
  const a = world.attach('a', (host) => new Talker(host), options);
  const b = world.attach('b', (host) => new Talker(host), options);
  return [a, b];
}

/** Tags from b, answered by a with tag + 1, until `last`. */
function pingPong(world: World, last: number, options = {}): [Talker, Talker] {
  const [a, b] = pair(world, options);
  a.onFrame = (tag) => void (tag < last && a.post(frame(1, 2, tag + 1)));
  b.onFrame = (tag) => void (tag < last && b.post(frame(2, 1, tag + 1)));
  a.post(frame(1, 2, 0));
  return [a, b];
}

describe('World', () => {
  it('carries frames between machines, one latency each way', () => {
    const world = new World({ seed: 1, latencyNs: 500 });
    const [a, b] = pingPong(world, 3);
    world.runUntilIdle();
    expect(b.received).toEqual([
      { at: 500, tag: 0 },
      { at: 1500, tag: 2 },
    ]);
    expect(a.received).toEqual([
      { at: 1000, tag: 1 },
      { at: 2000, tag: 3 },
    ]);
    expect(world.now).toBe(2000);
  });

  it('stops in the instant in which it is told that all is done, and goes on from there', () => {
    const world = new World({ seed: 1, latencyNs: 500 });
    const [, b] = pingPong(world, 3);
    world.runFor(10_000, { done: () => b.received.length === 1 });
    expect(world.now).toBe(500);
    world.runFor(10_000, { done: () => false });
    expect(world.now).toBe(10_500);
    expect(b.received.length).toBe(2);
  });

  it('jumps to deadlines and never to one that was moved away', () => {
    const world = new World({ seed: 1 });
    const [a] = pair(world);
    const seen: number[] = [];
    a.onTimeout = () => seen.push(world.now);
    a.setDeadline(1_000_000);
    world.step();
    a.setDeadline(5_000_000);
    world.runFor(10);
    a.setDeadline(3_000_000);
    world.runUntilIdle();
    expect(seen).toEqual([1_000_000, 3_000_000]);
    expect(world.now).toBe(3_000_000);
    a.setDeadline(9_000_000);
    world.runFor(1);
    a.setDeadline(Infinity);
    world.runUntilIdle();
    expect(world.now).toBe(3_000_001);
    expect(a.timeouts).toBe(2);
  });

  it('puts the same bytes on the wire for the same seed and others for another', () => {
    const trace = (seed: number): string[] => {
      const lines: string[] = [];
      const faults = { loss: 0.2, duplicate: 0.1, corrupt: 0.1, reorder: 0.2, jitterNs: 700 };
      const world = new World({ seed, faults });
      world.network.tap = {
        frame: (now, port, direction, bytes, start, end, fate, serial) =>
          void lines.push(`${now} ${port.name} ${direction} ${fate} ${serial} ${bytes.subarray(start, end).join()}`),
      };
      const [a, b] = pair(world);
      a.onTimeout = () => {
        for (let i = 0; i < 8; i++) a.post(frame(1, 2, world.random.below(1000)));
        if (a.timeouts < 50) a.setDeadline(world.now + 1000);
      };
      b.onFrame = (tag) => b.post(frame(2, 1, tag));
      a.setDeadline(1);
      world.runUntilIdle();
      return lines;
    };
    expect(trace(7)).toEqual(trace(7));
    expect(trace(7).length).toBeGreaterThan(1000);
    expect(trace(7)).not.toEqual(trace(8));
  });

  it('gives each machine a stream of its own that follows from the seed', () => {
    const draws = (seed: number, names: readonly string[]): number[] => {
      const world = new World({ seed });
      const values: number[] = [];
      for (const name of names) {
        world.attach(name, (host, _port, random) => {
          values.push(random.u32());
          return new Talker(host);
        });
      }
      return values;
    };
    expect(draws(3, ['a', 'b'])).toEqual(draws(3, ['b', 'a']).reverse());
    expect(new Set([...draws(3, ['a', 'b']), ...draws(4, ['a', 'b'])]).size).toBe(4);
  });

  it('respects backpressure: a slow wire loses nothing and keeps the order', () => {
    const world = new World({ seed: 1 });
    const [a, b] = pair(world, { faults: { rateBps: 1e9, queueBytes: 2000 } });
    const tags = Array.from({ length: 1000 }, (_, tag) => tag);
    a.post(...tags.map((tag) => frame(1, 2, tag, 200)));
    world.runUntilIdle();
    expect(b.received.map(({ tag }) => tag)).toEqual(tags);
    // 1,000 frames of 200 bytes at 8 ns per byte, and the latency.
    expect(world.now).toBe(1000 * 1600 + 1000);
  });

  it('takes turns between machines that all have much to send', () => {
    const world = new World({ seed: 1 });
    const [a, b] = pair(world);
    const order: string[] = [];
    world.network.tap = { frame: (_now, port, direction) => void (direction === 'out' && order.push(port.name)) };
    a.post(...Array.from({ length: 200 }, (_, tag) => frame(1, 2, tag)));
    b.post(...Array.from({ length: 200 }, (_, tag) => frame(2, 1, tag)));
    world.step();
    const switches = order.filter((name, i) => i > 0 && name !== order[i - 1]).length;
    expect(order.length).toBe(400);
    expect(switches).toBe(7);
  });

  it('does nothing for machines that are idle', () => {
    const world = new World({ seed: 1 });
    const idle = Array.from({ length: 2000 }, (_, i) => world.attach(`idle ${i}`, (host) => new Talker(host)));
    const [a] = pair(world);
    for (const machine of idle) machine.deadline = 1e12;
    world.runFor(1);
    const before = idle.reduce((sum, machine) => sum + machine.transmitCalls, 0);
    const queries = idle.map((machine) => {
      let asked = 0;
      machine.nextDeadline = () => {
        asked++;
        return 1e12;
      };
      return () => asked;
    });
    let rounds = 0;
    a.onTimeout = () => void (++rounds < 1000 && a.setDeadline(world.now + 1000));
    a.setDeadline(world.now + 1);
    world.runUntil(() => rounds === 1000);
    expect(idle.reduce((sum, machine) => sum + machine.transmitCalls, 0)).toBe(before);
    // Only the idle machine at the head of the queue is asked, once a step.
    expect(queries.reduce((sum, asked) => sum + asked(), 0)).toBeLessThanOrEqual(1001);
  });

  it('stops at its bounds with an error that names the seed', () => {
    const endless = (): World => {
      const world = new World({ seed: 1234 });
      const [a] = pair(world);
      a.onTimeout = () => a.setDeadline(world.now + 10);
      a.setDeadline(10);
      return world;
    };
    expect(() => endless().runUntil(() => false, { maxSteps: 100 })).toThrow(/more steps.*seed 1234/);
    expect(() => endless().runUntil(() => false, { maxTimeNs: 5000 })).toThrow(/more virtual time.*seed 1234/);
    expect(() => endless().runUntilIdle({ maxSteps: 5 })).toThrow(InvariantError);
    expect(() => new World({ seed: 99 }).runUntil(() => false)).toThrow(/silent.*seed 99/);
  });

  it('lets time pass when nothing happens', () => {
    const world = new World({ seed: 1 });
    world.runFor(12_345);
    expect(world.now).toBe(12_345);
  });

  it('treats a machine that claims more and sends nothing as a bug', () => {
    const world = new World({ seed: 1 });
    const a = world.attach('a', (host) => new Talker(host));
    a.transmit = () => true;
    expect(() => world.step()).toThrow(InvariantError);
  });

  it('ends the life of a machine with its port', () => {
    const world = new World({ seed: 1 });
    const [a] = pair(world);
    a.setDeadline(100);
    world.runFor(10);
    void world.network.port('a')?.close();
    world.runUntilIdle();
    expect(a.timeouts).toBe(0);
    expect(() => world.attach('a', (host) => new Talker(host))).not.toThrow();
    expect(() => world.attach('b', (host) => new Talker(host))).toThrow(RoceError);
  });

  it('runs a promise over virtual time and passes on its value', async () => {
    const world = new World({ seed: 1 });
    const [a, b] = pair(world);
    const answer = new Promise<number>((resolve) => {
      a.onFrame = resolve;
    });
    b.onFrame = async (tag) => {
      await world.sleep(1e6);
      b.post(frame(2, 1, tag * 2));
    };
    const script = async (): Promise<number> => {
      await world.sleep(1000);
      a.post(frame(1, 2, 21));
      return answer;
    };
    expect(await world.run(script())).toBe(42);
    expect(world.now).toBe(1000 + 1000 + 1e6 + 1000);
  });

  it('passes on a rejection and reports a promise that can never settle', async () => {
    const world = new World({ seed: 77 });
    pair(world);
    await expect(world.run(Promise.reject(new RoceError('ERR_ROCE_TIMEOUT', 'too late')))).rejects.toThrow('too late');
    await expect(world.run(new Promise(() => {}))).rejects.toThrow(/silent.*seed 77/);
  });

  it('waits for a long chain of promises before it calls the world silent', async () => {
    const world = new World({ seed: 1 });
    const chain = async (depth: number): Promise<number> => (depth === 0 ? 0 : 1 + (await chain(depth - 1)));
    expect(await world.run(chain(100))).toBe(100);
  });

  it('numbers IPv4 identifications per host although writers are shared', () => {
    const world = new World({ seed: 1 });
    const seen: string[] = [];
    const machines = ['a', 'b'].map((name) => {
      const machine = world.attach(name, (host) => new Talker(host));
      const transmit = machine.transmit.bind(machine);
      machine.transmit = (writer) => {
        seen.push(`${name} ${writer.nextIpId++}`);
        return transmit(writer);
      };
      return machine;
    });
    const [a] = machines;
    world.step();
    a?.host.wake();
    world.step();
    expect(seen).toEqual(['a 1', 'b 1', 'a 2']);
  });

  it('keeps the frame helper honest', () => {
    const bytes = frame(1, 2, 0xdead);
    expect(tagOf(bytes)).toBe(0xdead);
    expect([...bytes.subarray(0, 6)]).toEqual([...mac(2)]);
  });
});
