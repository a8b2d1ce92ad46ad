/**
 * Subjects of the compliance suite in a simulated world: host control themselves, and host control behind client and
 * server.
 */
import { attachDevice, type Device, World } from '../../../../src/index.ts';
import { AgentClient } from '../../../../tools/conformance/host-control/client.ts';
import { inProcessHostControl } from '../../../../tools/conformance/host-control/in-process.ts';
import { serveHostControl } from '../../../../tools/conformance/host-control/server.ts';
import { streamPair } from './stream-pair.ts';
import type { Subject } from './subject.ts';

export interface Two {
  readonly world: World;
  readonly a: Device;
  readonly b: Device;
}

/** Devices 10.0.0.1 and 10.0.0.2. */
export function makeWorld(): Two {
  const world = new World({ seed: 7 });
  const add = (id: number) => attachDevice(world, `device ${id}`, { addresses: [`10.0.0.${id}/24`], mtu: 4200 });
  return { world, a: add(1), b: add(2) };
}

const GIDS = {
  leftGid: { index: 0, address: '10.0.0.1' },
  rightGid: { index: 0, address: '10.0.0.2' },
} as const;

/** Two pairs of host control in this process. */
export function localSubject({ world, a, b }: Two = makeWorld()): Subject {
  const left = inProcessHostControl(a);
  const right = inProcessHostControl(b);
  return {
    ...{ left, right, ...GIDS },
    run: (promise) => world.run(promise),
    pass: async () => {
      world.step();
    },
    close: async () => {
      await left.close();
      await right.close();
    },
  };
}

/** The same by way of client and server. Streams need turns of the event loop, which a world does not give. */
export async function servedSubject(): Promise<Subject> {
  const { world, a, b } = makeWorld();
  const left = await served(a);
  const right = await served(b);
  const pass = async (): Promise<void> => {
    world.step();
    await turn();
  };
  return {
    ...{ left: left.client, right: right.client, ...GIDS },
    run: (promise) => settled(promise, pass),
    pass,
    close: async () => {
      await Promise.all([left.client.close(), right.client.close()]);
      await Promise.all([left.over, right.over]);
    },
  };
}

async function served(device: Device): Promise<{ client: AgentClient; over: Promise<void> }> {
  const [ours, theirs] = streamPair();
  const over = serveHostControl(inProcessHostControl(device), theirs);
  const client = await AgentClient.open(ours, { answerTimeoutMs: 60_000 });
  return { client, over };
}

async function settled<T>(promise: Promise<T>, pass: () => Promise<void>): Promise<T> {
  let over = false;
  const end = (): void => {
    over = true;
  };
  promise.then(end, end);
  // First without time: most of what is asked needs none.
  for (let turns = 0; turns < PATIENCE && !over; turns++) await turn();
  while (!over) await pass();
  return promise;
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const PATIENCE = 20;
