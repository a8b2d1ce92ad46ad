/**
 * rdmacm-utils' cmtime over our devices: how long each step of many connections takes, all of them at the same time.
 * The server accepts every client until it is stopped. Source: rdma-core:librdmacm/examples/cmtime.c (44.0).
 */
import type { Connection, Device, Qp } from 'rocev2';
import { IpAddress, RoceError } from 'rocev2/packets';
import { integer } from '../../options.ts';
import { type Program, type ProgramContext, program } from './program.ts';

interface CmtimeFlags {
  readonly s?: string;
  readonly b?: string;
  readonly c: number;
  readonly p: number;
  readonly r: number;
}

export const cmtime: Program = program({
  name: 'cmtime',
  summary: 'how long connecting takes, as cmtime of rdmacm-utils',
  options: (command) =>
    command
      .option('-s <address>', 'the server; without it, be one')
      .option('-b <address>', 'our address')
      .option('-c <count>', 'connections', integer(1, 10_000), 100)
      .option('-p <port>', 'port', integer(1, 65_535), 7471)
      .option('-r <count>', 'transport retries', integer(0, 7), 2)
      .option('-t <ms>', 'accepted and ignored: address resolution has its own limit here', integer(1, 2 ** 31 - 1)),
  run: (context, flags: CmtimeFlags) =>
    flags.s === undefined ? serve(context, flags.p) : call(context, flags.s, flags),
});

async function serve({ device, signal }: ProgramContext, port: number): Promise<number> {
  const listener = device.cm.listen(port);
  signal.addEventListener('abort', () => listener.close());
  if (signal.aborted) listener.close();
  const make = queuePairs(device);
  for await (const request of listener) {
    const qp = make();
    void request
      .accept({ qp })
      .then((connection) => connection.closed)
      .catch((error: unknown) => {
        // A client that leaves in the middle is not an error of the server.
        if (!(error instanceof RoceError)) throw error;
      })
      .finally(() => qp.destroy());
  }
  return 0;
}

/** Begin and end of a step for each connection, nanoseconds. */
type Times = readonly (readonly [begin: number, end: number])[];

async function call({ device, output }: ProgramContext, server: string, flags: CmtimeFlags): Promise<number> {
  const { c: count, p: port, r: retryCount } = flags;
  const address = IpAddress.parse(server);
  const source = flags.b === undefined ? {} : { source: IpAddress.parse(flags.b) };
  const table: string[] = [];
  const indices = Array.from({ length: count }, (_, i) => i);
  const step = async <T>(says: string, name: string, take: (i: number) => T | Promise<T>): Promise<T[]> => {
    output.line(says);
    const times: [number, number][] = [];
    const results = indices.map(async (i) => {
      const begin = device.now();
      const result = await take(i);
      times[i] = [begin, device.now()];
      return result;
    });
    const taken = await Promise.all(results);
    table.push(row(name, times));
    return taken;
  };
  const make = queuePairs(device);
  await step('creating id', 'create id', () => {});
  await step('resolving address', 'resolve addr', () => device.resolve(address));
  await step('resolving route', 'resolve route', () => {});
  const qps = await step('creating qp', 'create qp', make);
  const parameters = { address, port, retryCount, initiatorDepth: 1, responderResources: 1, ...source };
  const connections = await step('connecting', 'connect', (i) =>
    device.cm.connect({ ...parameters, qp: qps[i] as Qp }),
  );
  await step('disconnecting', 'disconnect', (i) => (connections[i] as Connection).disconnect());
  await step('destroying id', 'destroy', (i) => qps[i]?.destroy());
  output.line('step              total ms     max ms     min us  us / conn');
  for (const line of table) output.line(line);
  return 0;
}

function queuePairs(device: Device): () => Qp {
  const pd = device.allocPd();
  const cq = device.createCq(1);
  return () => pd.createQp({ sendCq: cq, recvCq: cq, maxSendWr: 1, maxRecvWr: 1, maxSge: 1 });
}

function row(name: string, times: Times): string {
  const durations = times.map(([begin, end]) => end - begin);
  const total = Math.max(...times.map(([, end]) => end)) - Math.min(...times.map(([begin]) => begin));
  const columns = [total / 1e6, Math.max(...durations) / 1e6, Math.min(...durations) / 1e3, total / 1e3 / times.length];
  return `${name.padEnd(13)}: ${columns.map((value) => value.toFixed(2).padStart(11)).join('')}`;
}
