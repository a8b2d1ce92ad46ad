/**
 * Goal: a user of the connection manager that moves its queue pairs itself sees every event in the step of the world in
 * which it happens: no promise lies between. Method: two devices in a world that takes single steps; what each side was
 * told is written down, in order.
 */
import { beforeEach, expect, it } from 'vitest';
import { RdmaPortSpace, rdmaServiceId } from '../../../packets/index.ts';
import { attachDevice } from '../../../src/sim/attach-device.ts';
import { World } from '../../../src/sim/world.ts';
import type { CmEvent, CmId } from '../../../transport/cm/index.ts';

let world: World;
let heard: string[];
let ids: Map<string, CmId>;
let a: ReturnType<typeof attachDevice>;
let b: ReturnType<typeof attachDevice>;
const serviceId = rdmaServiceId(RdmaPortSpace.Tcp, 7471);

beforeEach(() => {
  world = new World({ seed: 1 });
  a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
  b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
  heard = [];
  ids = new Map();
  b.cm.guests.listen(guest('b'), serviceId, 4);
});

const guest = (name: string) => ({
  handle(event: CmEvent): void {
    ids.set(name, event.id);
    heard.push(`${name} ${event.type}`);
  },
});

const idOf = (name: string): CmId => {
  const id = ids.get(name);
  if (id === undefined) throw new Error(`${name} has heard of no connection`);
  return id;
};

function connect(): void {
  const [local, remote] = [a, b].map(({ addresses: [own] }) => own?.address);
  if (local === undefined || remote === undefined) throw new Error('both devices have an address');
  const depth = { initiatorDepth: 1, responderResources: 1 };
  const retries = { retryCount: 7, rnrRetryCount: 7, ackTimeout: 14, maxCmRetries: 1, cmResponseTimeout: 12 };
  const end = { qpn: 17, startingPsn: 100, mtu: 3, localPort: 50_000 };
  ids.set('a', a.cm.guests.connect(guest('a'), { serviceId, local, remote, ...end, ...depth, ...retries }));
}

const answer = { qpn: 18, startingPsn: 200, initiatorDepth: 1, responderResources: 1, rnrRetryCount: 7 };
const hears = (what: string): void => world.runUntil(() => heard.at(-1) === what);
const states = (): (string | undefined)[] =>
  [a.cm.guests.inspect(idOf('a')), b.cm.guests.inspect(idOf('b'))].map((one) => one?.state);

it('hears of each message in the step in which it arrives, without a turn of the promise queue', () => {
  connect();
  hears('b connect-request');
  expect(states()).toEqual(['req-sent', 'req-rcvd']);
  b.cm.guests.accept(idOf('b'), answer);
  hears('a connect-response');
  expect(states()).toEqual(['rep-rcvd', 'rep-sent']);
  a.cm.guests.ready(idOf('a'));
  hears('b established');
  expect(states()).toEqual(['established', 'established']);
  a.cm.guests.disconnect(idOf('a'));
  hears('a disconnected');
  expect(states()).toEqual(['timewait', 'timewait']);
  world.runUntilIdle();
  expect(heard.slice(-2).sort()).toEqual(['a timewait-exit', 'b timewait-exit']);
  expect(states()).toEqual([undefined, undefined]);
});

it('that needs longer says so, and the peer waits: beyond all its repetitions', () => {
  connect();
  hears('b connect-request');
  b.cm.guests.delay(idOf('b'), 20);
  hears('a mra');
  expect(states()).toEqual(['mra-req-rcvd', 'mra-req-sent']);
  // Two waits of 4.096 us * 2^12 would have been the end.
  world.runFor(1e9);
  b.cm.guests.accept(idOf('b'), answer);
  hears('a connect-response');
});

it('cannot ask for patience when nothing is asked of it', () => {
  expect(() => b.cm.guests.delay(1, 20)).toThrow('the connection is over');
});
