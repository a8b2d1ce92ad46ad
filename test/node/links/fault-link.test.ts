/**
 * Goal: a link with faults is a link, does to frames what its rules say in both directions, and never loses more than
 * that. Method: the compliance suite over simulated ports and unix sockets, with no rules and with rules that never
 * strike; single cases with real timers.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Medium } from '../../../packets/frame.ts';
import { openDevice } from '../../../src/index.ts';
import { type FaultOptions, withFaults } from '../../../src/node/links/fault-link.ts';
import { openLink } from '../../../src/node/links/index.ts';
import { QemuLink } from '../../../src/node/links/qemu.ts';
import { type NetworkOptions, SimulatedNetwork } from '../../../src/sim/network.ts';
import { batchOf, Collector, frame } from '../../sim/support.ts';
import { type LinkPair, linkCompliance } from './compliance.ts';

let directory = '';
let sockets = 0;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'rocev2-fault-link-'));
});

afterAll(() => rm(directory, { recursive: true, force: true }));

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turn();
}

/** For the way past the engine and for the way through it. */
const NO_RULES: FaultOptions = {};
const IDLE_RULES: FaultOptions = { rules: [{ on: { opcode: 'cnp' }, do: 'drop' }] };

function simulated(options: NetworkOptions, faults: FaultOptions) {
  return (): Promise<LinkPair> => {
    const network = new SimulatedNetwork(options);
    return Promise.resolve({
      a: withFaults(network.attach('a'), faults),
      b: withFaults(network.attach('b'), faults),
      ready: () => Promise.resolve(),
      pump: () => {
        if (network.nextEventTime() < Infinity) network.deliverDue(network.nextEventTime());
        return Promise.resolve();
      },
      dispose: () => Promise.resolve(),
    });
  };
}

const lossless = { lossless: true } as const;
linkCompliance('a link without faults', simulated({ maxFrames: 2048 }, NO_RULES), lossless);
linkCompliance('a link with rules that never strike', simulated({ maxFrames: 2048 }, IDLE_RULES), lossless);
linkCompliance('such a link on the IP medium', simulated({ medium: Medium.Ip, maxFrames: 2048 }, IDLE_RULES), lossless);
linkCompliance(
  'such a link on a unix socket',
  () => {
    const path = join(directory, `${sockets++}.sock`);
    const listener = new QemuLink({ path });
    const a = withFaults(new QemuLink({ path, connect: true }), IDLE_RULES);
    const ready = (): Promise<void> => until(() => listener.connected);
    return Promise.resolve({
      a,
      b: withFaults(listener, IDLE_RULES),
      ready,
      pump: turn,
      dispose: () => Promise.resolve(),
    });
  },
  lossless,
);

/** End a of a simulated wire with faults, and a plain end b. */
async function wire(faults: FaultOptions) {
  const network = new SimulatedNetwork();
  const a = withFaults(network.attach('a'), faults);
  const b = network.attach('b');
  const [atA, atB] = [new Collector(), new Collector()];
  await a.start(atA);
  await b.start(atB);
  let now = 0;
  const deliver = (): void => {
    now += 1e6;
    network.deliverDue(now);
  };
  return { a, b, atA, atB, deliver };
}

const numbered = (count: number) => batchOf(...Array.from({ length: count }, (_, tag) => frame(1, 2, tag)));

describe('FaultLink', () => {
  it('does to what is sent and to what arrives what its rules say', async () => {
    const { a, b, atA, atB, deliver } = await wire({
      rules: [
        { on: { opcode: 'any', direction: 'a-to-b', nth: 2 }, do: 'drop' },
        { on: { opcode: 'any', direction: 'b-to-a', nth: [1, 2] }, do: 'duplicate' },
      ],
    });
    expect(a.send(numbered(4), 0)).toBe(4);
    b.send(batchOf(frame(2, 1, 7), frame(2, 1, 8), frame(2, 1, 9)), 0);
    deliver();
    expect(atB.tags).toEqual([0, 2, 3]);
    expect(atA.tags).toEqual([7, 7, 8, 8, 9]);
    expect([a.outward.counters.dropped, a.inward.counters.duplicated]).toEqual([1, 2]);
    await a.close();
  });

  it('delays by a timer of its own, in order of what is due', async () => {
    const rule = (nth: number, delayNs: number) => ({ on: { opcode: 'any', nth }, do: 'delay', delayNs }) as const;
    const { a, b, atA, atB, deliver } = await wire({
      rules: [rule(1, 12e6), rule(2, 3e6)],
      faults: { bToA: { delayNs: 1e6 } },
    });
    a.send(numbered(3), 0);
    b.send(batchOf(frame(2, 1, 9)), 0);
    deliver();
    expect([atA.tags, atB.tags]).toEqual([[], [2]]);
    while (atB.tags.length < 3) {
      await turn();
      deliver();
    }
    expect([atA.tags, atB.tags]).toEqual([[9], [2, 1, 0]]);
    await a.close();
  });

  it('sends what it still holds when it is closed, and nothing afterwards', async () => {
    const { a, atA, atB, deliver } = await wire({ faults: { aToB: { delayNs: 60e9 } } });
    a.send(numbered(3), 0);
    deliver();
    expect(atB.tags).toEqual([]);
    await a.close();
    deliver();
    expect(atB.tags).toEqual([0, 1, 2]);
    expect(a.send(numbered(3), 0)).toBe(3);
    deliver();
    expect([atB.tags.length, atA.closedCalls]).toEqual([3, 1]);
  });

  it('says stop when the link behind it does, and goes on when that does', async () => {
    const network = new SimulatedNetwork({ maxFrames: 10 });
    const a = withFaults(network.attach('a'), IDLE_RULES);
    const [atA, atB] = [new Collector(), new Collector()];
    await a.start(atA);
    await network.attach('b').start(atB);
    const batch = numbered(200);
    const taken = a.send(batch, 0);
    expect(taken).toBe(64);
    let sent = taken;
    for (let time = 1e4; time < 1e6; time += 1e4) {
      network.deliverDue(time);
      if (atA.writableCalls > 0 && sent < 200) sent += a.send(batch, sent);
    }
    expect(atB.tags).toEqual(Array.from({ length: 200 }, (_, tag) => tag));
    await a.close();
  });

  it('is what it wraps in all else', () => {
    const inner = new SimulatedNetwork({ medium: Medium.Ip }).attach('a', { mtu: 4200 });
    const link = withFaults(inner, {});
    expect([link.name, link.mtu, link.medium, link.sourcePort]).toEqual(['a', 4200, Medium.Ip, undefined]);
    const socket = openLink('udp6:[::1]');
    const { addresses, sourcePort, maxUnacked, ecn } = withFaults(socket, {});
    expect({ addresses, sourcePort, maxUnacked, ecn }).toEqual({
      addresses: ['::1/128'],
      sourcePort: 4791,
      maxUnacked: socket.maxUnacked,
      ecn: expect.objectContaining({ read: [] }),
    });
  });

  it('names the rule and the field that make no sense, before anything is opened', async () => {
    const faults: FaultOptions = { rules: [{ on: { psn: [3, 1] }, do: 'drop' }] };
    const opening = openDevice({ link: `qemu:${join(directory, 'never')}`, addresses: ['10.0.0.1/24'], faults });
    await expect(opening).rejects.toThrow('rule 1: on.psn is 1; it must be a whole number, 3 or more');
  });
});
