/**
 * Goal: our rping says and does what rping does, in both roles, on a good wire and on a bad one.
 * Method: both roles on two devices in the simulated world; what they print is compared.
 */
import { describe, expect, it } from 'vitest';
import { ConnectionRejected, type Device, IpAddress, Medium, RoceError, type World } from '../../../src/index.ts';
import { type RpingClientOptions, runRpingClient } from '../../../tools/rping/client.ts';
import { type RpingServerOptions, runRpingServer } from '../../../tools/rping/server.ts';
import { addDevice, makeWorld, PORT, SERVER, SERVER_V6, Transcript } from './support.ts';

const BASE = { port: PORT, size: 64 };

interface Run {
  readonly server: Transcript;
  readonly client: Transcript;
  /** Exit codes. */
  readonly codes: readonly number[];
}

async function ping(
  world: World,
  [serverDevice, clientDevice]: readonly [Device, Device],
  serverOptions: Partial<RpingServerOptions>,
  clientOptions: Partial<RpingClientOptions>,
): Promise<Run> {
  const server = new Transcript();
  const client = new Transcript();
  const codes = await world.run(
    Promise.all([
      runRpingServer(serverDevice, { ...BASE, ...serverOptions }, server),
      runRpingClient(clientDevice, { ...BASE, address: SERVER, ...clientOptions }, client),
    ]),
  );
  return { server, client, codes };
}

function pair(world: World): [Device, Device] {
  return [addDevice(world, 1), addDevice(world, 2)];
}

describe('rping between two devices', () => {
  it('prints what rping prints and ends well on both sides', async () => {
    const world = makeWorld();
    const { server, client, codes } = await ping(world, pair(world), { verbose: true }, { verbose: true, count: 2 });
    const texts = [
      'rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqr',
      'rdma-ping-1: BCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrs',
    ];
    expect(server.lines).toEqual(texts.map((text) => `server ping data: ${text}`));
    expect(client.lines).toEqual(texts.map((text) => `ping data: ${text}`));
    expect(server.complaints).toEqual(['server DISCONNECT EVENT...', 'wait for RDMA_READ_ADV state 10']);
    expect(client.complaints).toEqual(['client DISCONNECT EVENT...']);
    expect(codes).toEqual([0, 0]);
  });

  it.each([26, 1024, 3000, 65_535])('moves pings of %i bytes unharmed', async (size) => {
    const world = makeWorld();
    const run = await ping(world, pair(world), { size }, { size, count: 3, validate: true });
    expect(run.codes).toEqual([0, 0]);
    expect(run.client.complaints).toEqual(['client DISCONNECT EVENT...']);
  });

  it('goes over IPv6', async () => {
    const world = makeWorld();
    const devices = pair(world);
    const { codes } = await ping(
      world,
      devices,
      { address: SERVER_V6 },
      { address: SERVER_V6, count: 2, validate: true },
    );
    expect(codes).toEqual([0, 0]);
  });

  it('goes over the IP medium too', async () => {
    const world = makeWorld({ medium: Medium.Ip });
    const { codes } = await ping(world, pair(world), {}, { count: 2, validate: true });
    expect(codes).toEqual([0, 0]);
  });

  it.each([1, 2, 3, 4, 5])('loses no byte on a wire with faults (seed %i)', async (seed) => {
    const faults = { loss: 0.03, duplicate: 0.03, reorder: 0.03, corrupt: 0.03 };
    const world = makeWorld({ seed, faults });
    const size = 20_000;
    const { client, codes } = await ping(world, pair(world), { size }, { size, count: 20, validate: true });
    expect(client.complaints).toEqual(['client DISCONNECT EVENT...']);
    expect(codes).toEqual([0, 0]);
  });

  it('tells every step when asked', async () => {
    const world = makeWorld();
    const { server, client } = await ping(world, pair(world), { debug: true }, { debug: true, count: 1 });
    expect(server.lines.filter((line) => line.startsWith('server'))).toEqual([
      'server received sink adv',
      'server posted rdma read req ',
      'server received read complete',
      'server posted go ahead',
      'server received sink adv',
      'server rdma write complete ',
      'server posted go ahead',
    ]);
    expect(client.lines).toContain('rdma_connect successful');
    expect(client.lines.filter((line) => line.startsWith('RDMA addr'))).toHaveLength(2);
  });

  it('works with queue pairs that rping modifies itself (-q)', async () => {
    const world = makeWorld();
    const { codes } = await ping(world, pair(world), { ownQp: true }, { ownQp: true, count: 2, validate: true });
    expect(codes).toEqual([0, 0]);
  });

  it('leaves nothing behind on the device', async () => {
    const world = makeWorld();
    const [server, client] = pair(world);
    for (let run = 0; run < 3; run++) {
      const { codes } = await ping(world, [server, client], {}, { count: 1 });
      expect(codes).toEqual([0, 0]);
    }
    const cq = server.createCq(1);
    expect(() => server.destroyCq(cq)).not.toThrow();
  });
});

describe('the server of rping', () => {
  it('refuses a ping larger than its buffer, and says what to do', async () => {
    const world = makeWorld();
    const { server, client, codes } = await ping(world, pair(world), { size: 64 }, { size: 100, count: 1 });
    expect(server.complaints[0]).toBe(
      'the client pings with 100 bytes, more than the 64 of this server: give it -S 100',
    );
    expect(codes).toEqual([1, 0]);
    expect(client.complaints).toEqual(['client DISCONNECT EVENT...', 'wait for RDMA_WRITE_ADV state 10']);
  });

  it('serves many clients at the same time when persistent, until it is told to stop', async () => {
    const world = makeWorld();
    const serverDevice = addDevice(world, 1);
    const clients = [2, 3, 4].map((n) => addDevice(world, n));
    const stop = new AbortController();
    const server = new Transcript();
    const client = new Transcript();
    const serving = runRpingServer(
      serverDevice,
      { ...BASE, persistent: true, verbose: true, signal: stop.signal },
      server,
    );
    const pingAll = (): Promise<number>[] => {
      return clients.map((device) =>
        runRpingClient(device, { ...BASE, address: SERVER, count: 5, validate: true }, client),
      );
    };
    expect(await world.run(Promise.all(pingAll()))).toEqual([0, 0, 0]);
    expect(await world.run(Promise.all(pingAll()))).toEqual([0, 0, 0]);
    stop.abort();
    expect(await world.run(serving)).toBe(0);
    expect(server.lines).toHaveLength(30);
  });

  it('goes on with the others when one client pings more than it can take', async () => {
    const world = makeWorld();
    const serverDevice = addDevice(world, 1);
    const clients = [2, 3].map((n) => addDevice(world, n));
    const stop = new AbortController();
    const server = new Transcript();
    const serving = runRpingServer(serverDevice, { ...BASE, persistent: true, signal: stop.signal }, server);
    const runs = clients.map((device, i) => {
      const options = { ...BASE, address: SERVER, count: 3, size: i === 0 ? 1000 : 64, validate: true };
      return runRpingClient(device, options, new Transcript());
    });
    await world.run(Promise.all(runs));
    stop.abort();
    expect(await world.run(serving)).toBe(0);
    expect(server.complaints).toContain(
      'the client pings with 1000 bytes, more than the 64 of this server: give it -S 1000',
    );
  });

  it('disconnects its client when it is told to stop', async () => {
    const world = makeWorld();
    const [serverDevice, clientDevice] = pair(world);
    const stop = new AbortController();
    const server = new Transcript();
    const client = new Transcript();
    const serving = runRpingServer(serverDevice, { ...BASE, persistent: true, signal: stop.signal }, server);
    const pinging = runRpingClient(clientDevice, { ...BASE, address: SERVER }, client);
    void world.sleep(50e6).then(() => stop.abort());
    expect(await world.run(Promise.all([serving, pinging]))).toEqual([0, 0]);
    expect(client.complaints[0]).toBe('client DISCONNECT EVENT...');
  });

  it('takes clients only on the address it is bound to', async () => {
    const world = makeWorld();
    const [serverDevice, clientDevice] = pair(world);
    const server = runRpingServer(serverDevice, { ...BASE, address: SERVER_V6 }, new Transcript());
    const refused = runRpingClient(clientDevice, { ...BASE, address: SERVER }, new Transcript());
    await expect(world.run(refused)).rejects.toThrow(ConnectionRejected);
    const taken = runRpingClient(clientDevice, { ...BASE, address: SERVER_V6, count: 1 }, new Transcript());
    expect(await world.run(Promise.all([server, taken]))).toEqual([0, 0]);
  });

  it("does not bind to an address that is not the device's", async () => {
    const world = makeWorld();
    const [serverDevice] = pair(world);
    const address = IpAddress.parse('10.0.0.9');
    await expect(runRpingServer(serverDevice, { ...BASE, address }, new Transcript())).rejects.toThrow(
      '10.0.0.9 is not an address of this device',
    );
  });

  it('fails when the device is closed under it', async () => {
    const world = makeWorld();
    const [serverDevice] = pair(world);
    const serving = runRpingServer(serverDevice, BASE, new Transcript());
    serverDevice.close();
    await expect(serving).rejects.toThrow(RoceError);
  });
});

describe('the client of rping', () => {
  it('is refused where nobody listens', async () => {
    const world = makeWorld();
    const [, clientDevice] = pair(world);
    const run = runRpingClient(clientDevice, { ...BASE, address: SERVER }, new Transcript());
    await expect(world.run(run)).rejects.toThrow(ConnectionRejected);
  });

  it('stops in good order in the middle of its pings', async () => {
    const world = makeWorld();
    const devices = pair(world);
    const stop = new AbortController();
    void world.sleep(20e6).then(() => stop.abort());
    const { server, codes } = await ping(world, devices, {}, { signal: stop.signal });
    expect(codes).toEqual([0, 0]);
    expect(server.complaints[0]).toBe('server DISCONNECT EVENT...');
  });

  it('gives up connecting when it is told to stop', async () => {
    const world = makeWorld();
    const [, clientDevice] = pair(world);
    const stop = new AbortController();
    const run = runRpingClient(clientDevice, { ...BASE, address: SERVER, signal: stop.signal }, new Transcript());
    stop.abort();
    await expect(world.run(run)).rejects.toThrow('interrupted while connecting');
  });
});
