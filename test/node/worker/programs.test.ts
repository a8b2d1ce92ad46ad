/**
 * Goal: whole programs that were written for a device in the application's thread run on one in a worker as they stand.
 * Method: the pingpongs of every service and a stream of rsockets, one end in a worker and the other in this thread,
 * each as server and as client.
 */
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RdmaTcp } from '../../../src/device/host/tcp/index.ts';
import { IpAddress, type RdmaDevice } from '../../../src/index.ts';
import { RListener, RSocket } from '../../../src/ulp/rsockets/index.ts';
import type { ToolOutput } from '../../../tools/output.ts';
import { type PingpongStart, runPingpong } from '../../../tools/pingpong/run.ts';
import type { PingpongService } from '../../../tools/pingpong/session.ts';
import { runXsrqPingpong } from '../../../tools/pingpong/xsrq.ts';
import { kernelTcp } from '../../../tools/tcp.ts';
import { type Cable, freshPort, OURS, openCable, THEIRS } from './support.ts';

let cable: Cable;
beforeAll(async () => {
  cable = await openCable('worker');
});
afterAll(() => cable.close());

interface Ends {
  readonly server: RdmaDevice;
  readonly client: RdmaDevice;
  readonly address: string;
}

const ENDS: readonly ['serves' | 'asks', () => Ends][] = [
  ['serves', () => ({ server: cable.ours.device, client: cable.theirs.device, address: OURS })],
  ['asks', () => ({ server: cable.theirs.device, client: cable.ours.device, address: THEIRS })],
];

const LOOPBACK = IpAddress.parse('127.0.0.1');

/** The kernel's, on its own loopback: this cable carries no TCP of ours. */
const tcp: RdmaTcp = {
  listen: (port) => kernelTcp.listen(port, { address: LOOPBACK }),
  connect: (_address, port) => kernelTcp.connect(LOOPBACK, port),
};

async function freeTcpPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('a listening socket has a port');
  return address.port;
}

class Transcript implements ToolOutput {
  readonly lines: string[] = [];
  readonly complaints: string[] = [];

  line(text: string): void {
    this.lines.push(text);
  }

  complaint(text: string): void {
    this.complaints.push(text);
  }
}

/** Both ends of a pingpong, and what they said. */
async function play(
  { server, client, address }: Ends,
  run: (device: RdmaDevice, start: PingpongStart, output: ToolOutput) => Promise<number>,
) {
  const output = { server: new Transcript(), client: new Transcript() };
  let psn = 0xff_ff_f0;
  const common = { port: await freeTcpPort(), tcp, random: () => psn++, now: () => performance.now() * 1e6 };
  const gid = IpAddress.parse(address);
  const codes = await Promise.all([
    run(server, { ...common, server: undefined, gid }, output.server),
    run(client, { ...common, server: gid, gid: undefined }, output.client),
  ]);
  return { codes, ...output };
}

describe.each(ENDS)('a device in a worker that %s', (_role, ends) => {
  it.each<PingpongService>(['rc', 'uc', 'ud', 'srq'])('plays %s pingpong', async (service) => {
    const options = { service, queuePairs: service === 'srq' ? 5 : 1, size: 1000, mtu: 1024, rxDepth: 20 } as const;
    const { server, client } = ends();
    const before = [server.qpCount, client.qpCount];
    const played = await play(ends(), (device, start, output) =>
      runPingpong(device, { ...options, iterations: 100, check: service !== 'ud' }, start, output),
    );
    expect([...played.server.complaints, ...played.client.complaints]).toEqual([]);
    expect(played.codes).toEqual([0, 0]);
    expect(played.client.lines.at(-1)).toMatch(/^100 iters in /);
    expect(played.server.lines.filter((line) => line.startsWith('invalid data'))).toEqual([]);
    expect([server.qpCount, client.qpCount]).toEqual(before);
  });

  it('plays xsrq pingpong', async () => {
    const options = { size: 3000, mtu: 1024, clients: 1, tests: 20 };
    const played = await play(ends(), (device, start, output) => runXsrqPingpong(device, options, start, output));
    expect([...played.server.complaints, ...played.client.complaints]).toEqual([]);
    expect(played.codes).toEqual([0, 0]);
    expect([played.server.lines.at(-1), played.client.lines.at(-1)]).toEqual(['success', 'success']);
  });

  it('carries a stream of rsockets', async () => {
    const { server, client, address } = ends();
    const port = freshPort();
    const listener = RListener.listen(server, { port });
    const [near, far] = await Promise.all([RSocket.connect(client, { address, port }), listener.accept()]);
    await listener.close();
    const bytes = Uint8Array.from({ length: 200_000 }, (_, i) => (i * 7 + (i >> 8)) & 0xff);
    const received = new Uint8Array(bytes.length);
    const reading = (async () => {
      for (let at = 0; at < received.length; ) at += await far.recv(received.subarray(at));
    })();
    await near.send(bytes);
    await reading;
    expect(Buffer.compare(received, bytes)).toBe(0);
    await Promise.all([near.close(), far.close()]);
  });
});
