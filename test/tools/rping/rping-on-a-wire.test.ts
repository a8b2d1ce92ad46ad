/**
 * Goal: rping works where users run it: over a real wire, with the real clock, as a process.
 * Method: a Unix socket joins two devices, as it joins one to a guest; first in this process, then as two commands.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCapture } from '../../../pcap/index.ts';
import { IpAddress } from '../../../src/index.ts';
import { type OpenDevice, openDevice } from '../../../src/node/open.ts';
import { runRpingClient } from '../../../tools/rping/client.ts';
import { runRpingServer } from '../../../tools/rping/server.ts';
import { startRoce } from '../roce/run-roce.ts';
import { PORT, Transcript } from './support.ts';

let directory = '';
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'roce-rping-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const SERVER_ADDRESSES = ['10.0.0.1/24', 'fd00::1/64'];
const CLIENT_ADDRESSES = ['10.0.0.2/24', 'fd00::2/64'];

/** Two devices on the ends of a cable. */
async function openPair(name: string, mtu: number): Promise<[OpenDevice, OpenDevice]> {
  const path = join(directory, name);
  const server = await openDevice({ link: `qemu:${path}`, addresses: SERVER_ADDRESSES, mtu });
  const client = await openDevice({ link: `qemu:${path},connect`, addresses: CLIENT_ADDRESSES, mtu });
  return [server, client];
}

describe('rping over a Unix socket', () => {
  it.each([
    ['10.0.0.1', 1500, 64],
    ['10.0.0.1', 4200, 65_535],
    ['fd00::1', 1500, 3000],
  ])('pings %s with MTU %i and %i bytes', async (address, mtu, size) => {
    const [server, client] = await openPair(`pair-${mtu}-${size}`, mtu);
    const options = { port: PORT, size };
    try {
      const codes = await Promise.all([
        runRpingServer(server.device, options, new Transcript()),
        runRpingClient(
          client.device,
          { ...options, address: IpAddress.parse(address), count: 50, validate: true },
          new Transcript(),
        ),
      ]);
      expect(codes).toEqual([0, 0]);
    } finally {
      await client.close();
      await server.close();
    }
  });

  it('ends what waits on the device when the wire is gone', async () => {
    const [server, client] = await openPair('gone', 1500);
    const waiting = client.device.createCq(1).next();
    await server.close();
    expect((await client.closed)?.code).toBe('ERR_ROCE_CLOSED');
    expect((await waiting).done).toBe(true);
    await client.close();
  });
});

describe('roce rping', () => {
  const wire = (path: string, end: '' | ',connect', address: string): string[] => {
    return ['--link', `qemu:${path}${end}`, '--ip', address];
  };

  it('serves a client, then the next; ctrl-C ends it in good order', async () => {
    const path = join(directory, 'process');
    const capture = join(directory, 'server.pcapng');
    const server = startRoce(['rping', '-s', '-P', '-v', '-d', ...wire(path, '', '10.0.0.1/24'), '--write', capture]);
    await server.shows('rdma_listen');
    const client = ['rping', '-c', '-a', '10.0.0.1', '-V', '-v', '-C', '2', ...wire(path, ',connect', '10.0.0.2/24')];
    for (let run = 0; run < 2; run++) {
      const { code, stdout, stderr } = await startRoce(client).ended;
      expect({ code, stderr }).toEqual({ code: 0, stderr: 'client DISCONNECT EVENT...\n' });
      expect(stdout).toMatch(/^ping data: rdma-ping-0: ABC.*\nping data: rdma-ping-1: BCD.*\n$/);
    }
    server.interrupt();
    const { code, stdout } = await server.ended;
    expect(code).toBe(130);
    expect(stdout.match(/^server ping data: /gm)).toHaveLength(4);
    const frames = [...readCapture(await readFile(capture))];
    expect(frames.length).toBeGreaterThan(40);
  });

  it('says that nobody answers', async () => {
    const path = join(directory, 'nobody');
    const { code, stdout, stderr } = await startRoce([
      'rping',
      '-c',
      '-a',
      '10.0.0.1',
      ...wire(path, '', '10.0.0.2/24'),
    ]).ended;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe('roce rping: no answer from 10.0.0.1 on this link\n');
  });
});
