/**
 * Goal: every kind of pingpong ends well between two devices of ours, tells what the stock programs tell, and leaves
 * nothing. Method: two devices in a simulated world in virtual time. Against the stock programs: the interop matrix.
 */
import { describe, expect, it } from 'vitest';
import { IpAddress } from '../../../src/index.ts';
import type { ToolOutput } from '../../../tools/output.ts';
import { type PingpongStart, runPingpong } from '../../../tools/pingpong/run.ts';
import type { PingpongOptions, PingpongService } from '../../../tools/pingpong/session.ts';
import { runXsrqPingpong } from '../../../tools/pingpong/xsrq.ts';
import { tcpOf } from '../../../tools/tcp.ts';
import { makePair, type Pair } from '../../device/support.ts';

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

const OPTIONS = { size: 700, mtu: 1024, rxDepth: 20, iterations: 40, check: false } as const;

function optionsOf(service: PingpongService, change: Partial<PingpongOptions> = {}): PingpongOptions {
  return { ...OPTIONS, service, queuePairs: service === 'srq' ? 5 : 1, ...change };
}

/** The server is device b; the client calls it by one of its addresses. */
function startsOf({ world, a, b }: Pair, address: string): { server: PingpongStart; client: PingpongStart } {
  let psn = 0xff_ff_f0;
  const common = { port: 18_515, random: () => psn++, now: () => world.now };
  const gid = b.addresses.find((prefix) => prefix.address.toString() === address)?.address;
  return {
    server: { ...common, server: undefined, gid, tcp: tcpOf(b) },
    client: { ...common, server: IpAddress.parse(address), gid: undefined, tcp: tcpOf(a) },
  };
}

async function play(options: PingpongOptions, pair = makePair(), address = '10.0.0.2') {
  const { server, client } = startsOf(pair, address);
  const outputs = { server: new Transcript(), client: new Transcript() };
  const codes = await pair.world.run(
    Promise.all([
      runPingpong(pair.b, options, server, outputs.server),
      runPingpong(pair.a, options, client, outputs.client),
    ]),
  );
  return { pair, codes, ...outputs };
}

describe.each<PingpongService>(['rc', 'uc', 'ud', 'srq'])('%s pingpong', (service) => {
  it.each(['10.0.0.2', 'fd00::2'])('goes back and forth over %s', async (address) => {
    const { codes, server, client, pair } = await play(optionsOf(service), makePair(), address);
    expect(codes).toEqual([0, 0]);
    expect([...server.complaints, ...client.complaints]).toEqual([]);
    expect(client.lines.at(-2)).toMatch(/^56000 bytes in \d+\.\d\d seconds = \d+\.\d\d Mbit\/sec$/);
    expect(client.lines.at(-1)).toMatch(/^40 iters in \d+\.\d\d seconds = \d+\.\d\d usec\/iter$/);
    expect(pair.a.qpCount + pair.b.qpCount).toBe(0);
  });

  it('tells each side where the other is', async () => {
    const { server, client } = await play(optionsOf(service));
    const addresses = ({ lines }: Transcript, side: string) =>
      lines.filter((line) => line.startsWith(`  ${side} address:`)).map((line) => line.replace(/^.*address: +/, ''));
    expect(addresses(client, 'local')).toHaveLength(service === 'srq' ? 5 : 1);
    expect(addresses(server, 'remote')).toEqual(addresses(client, 'local'));
    expect(addresses(client, 'remote')).toEqual(addresses(server, 'local'));
    expect(addresses(client, 'local')[0]).toMatch(
      /^LID 0x0000, QPN 0x[0-9a-f]{6}, PSN 0x[0-9a-f]{6}, GID ::ffff:10\.0\.0\.1$/,
    );
  });

  it('moves no more than the messages it counts', async () => {
    const { pair } = await play(optionsOf(service, { iterations: 10, queuePairs: 1 }));
    // A message each way, and of a reliable service an ACK.
    const each = service === 'rc' || service === 'srq' ? 20 : 10;
    expect(pair.a.portCounters.sentPkts).toBe(each);
    expect(pair.b.portCounters.sentPkts).toBe(each);
  });
});

describe('the data of a pingpong', () => {
  it('is what the peer that checks looks for', async () => {
    const { server } = await play(optionsOf('rc', { size: 9000, check: true }));
    expect(server.lines.filter((line) => line.startsWith('invalid data'))).toEqual([]);
  });

  it('of a client that does not fill it is told to be invalid, page by page', async () => {
    const pair = makePair();
    const { server, client } = startsOf(pair, '10.0.0.2');
    const output = new Transcript();
    const options = optionsOf('rc', { size: 9000 });
    await pair.world.run(
      Promise.all([
        runPingpong(pair.b, { ...options, check: true }, server, output),
        runPingpong(pair.a, options, client, new Transcript()),
      ]),
    );
    const found = output.lines.filter((line) => line.startsWith('invalid data'));
    expect(found).toEqual(['invalid data in page 0', 'invalid data in page 1', 'invalid data in page 2']);
  });
});

describe('what goes wrong', () => {
  it('nobody listens: the client says so', async () => {
    const pair = makePair();
    const { client } = startsOf(pair, '10.0.0.2');
    // A host whose TCP nobody has used yet stays silent.
    tcpOf(pair.b).listen(1).close();
    await expect(pair.world.run(runPingpong(pair.a, optionsOf('rc'), client, new Transcript()))).rejects.toMatchObject({
      code: 'ERR_ROCE_REJECTED',
    });
    expect(pair.a.qpCount).toBe(0);
  });

  it('the server is stopped before anybody comes', async () => {
    const pair = makePair();
    const { server } = startsOf(pair, '10.0.0.2');
    const abort = new AbortController();
    const run = runPingpong(pair.b, optionsOf('rc'), { ...server, signal: abort.signal }, new Transcript());
    abort.abort();
    await expect(pair.world.run(run)).rejects.toMatchObject({ code: 'ERR_ROCE_CLOSED' });
  });

  it('a peer without a GID is refused, as there is no way to it', async () => {
    const pair = makePair();
    const { server, client } = startsOf(pair, '10.0.0.2');
    const silent = async () => {
      const socket = await client.tcp.connect(IpAddress.parse('10.0.0.2'), client.port);
      await socket.write(new TextEncoder().encode(`0000:000011:000001:${'0'.repeat(32)}\0`));
      await socket.close();
    };
    const run = runPingpong(pair.b, optionsOf('rc'), server, new Transcript());
    await expect(pair.world.run(Promise.all([run, silent()]))).rejects.toMatchObject({ code: 'ERR_ROCE_ADDRESS' });
  });
});

describe('xsrq pingpong', () => {
  const options = { size: 3000, mtu: 1024, tests: 6 };

  it('goes round among a server and its clients, through the queue pairs of all', async () => {
    const pair = makePair();
    const { server, client } = startsOf(pair, '10.0.0.2');
    const outputs = [new Transcript(), new Transcript(), new Transcript()] as const;
    const domain = pair.a.openXrcd();
    const runClient = (output: Transcript) =>
      runXsrqPingpong(pair.a, { ...options, clients: 1, domain }, client, output);
    const codes = await pair.world.run(
      Promise.all([
        runXsrqPingpong(pair.b, { ...options, clients: 2 }, server, outputs[0]),
        runClient(outputs[1]),
        runClient(outputs[2]),
      ]),
    );
    expect(codes).toEqual([0, 0, 0]);
    for (const { lines, complaints } of outputs) {
      expect(lines.at(-1)).toBe('success');
      expect(complaints).toEqual([]);
    }
    expect(outputs[0].lines.filter((line) => line.includes('remote: LID'))).toHaveLength(2);
    domain.close();
    expect(pair.a.qpCount + pair.b.qpCount).toBe(0);
  });

  it('ends where a message can not be delivered, and says with what status', async () => {
    const pair = makePair();
    const { server, client } = startsOf(pair, '10.0.0.2');
    const outputs = [new Transcript(), new Transcript(), new Transcript()] as const;
    // Domains of their own: no client has the shared receive queue that the other one is sent to.
    const runClient = (output: Transcript) => runXsrqPingpong(pair.a, { ...options, clients: 1 }, client, output);
    const runs = [
      runXsrqPingpong(pair.b, { ...options, clients: 2 }, server, outputs[0]),
      runClient(outputs[1]).catch(() => -1),
      runClient(outputs[2]).catch(() => -1),
    ];
    expect(await pair.world.run(runs[0] as Promise<number>)).toBe(1);
    expect(outputs[0].complaints[0]).toMatch(/^Work completion error \d+$/);
  });
});
