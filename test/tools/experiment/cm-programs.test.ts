/**
 * Goal: the partners of rdmacm-utils' smaller programs understand each other, tell what the stock ones tell, and end
 * well. Method: two devices in a simulated world, a program on each, by its command line. Against the stock ones: the
 * interop matrix.
 */
import { describe, expect, it } from 'vitest';
import type { Device } from '../../../src/index.ts';
import { findProgram } from '../../../tools/experiment/programs/index.ts';
import { makePair, type Pair } from '../../device/support.ts';

interface Played {
  readonly code: number;
  readonly lines: readonly string[];
}

/** Runs a command line on a device. */
async function run(device: Device, commandLine: string, signal = new AbortController().signal): Promise<Played> {
  const [name = '', ...words] = commandLine.split(' ');
  const program = findProgram(name);
  if (program === undefined) throw new Error(`there is no program ${name}`);
  const lines: string[] = [];
  const line = (text: string) => void lines.push(...text.split('\n'));
  const code = await program.run({ device, words, output: { line, complaint: line }, signal });
  return { code, lines };
}

/** The server is device b, 10.0.0.2. */
function play({ world, a, b }: Pair, server: string, client: string): Promise<[Played, Played]> {
  return world.run(Promise.all([run(b, server), run(a, client)]));
}

describe('udaddy', () => {
  it.each(['10.0.0.2', 'fd00::2'])('sends and is answered over %s', async (address) => {
    const [server, client] = await play(makePair(), 'udaddy -c 2 -C 3 -S 100', `udaddy -c 2 -C 3 -S 100 -s ${address}`);
    expect(server.lines).toEqual([
      'udaddy: starting server',
      'receiving data transfers',
      'sending replies',
      'data transfers complete',
      'test complete',
      'return status 0',
    ]);
    expect(client.lines).toEqual([
      'udaddy: starting client',
      'udaddy: connecting',
      'initiating data transfers',
      'receiving data transfers',
      'data transfers complete',
      'test complete',
      'return status 0',
    ]);
  });

  it('sends nothing where there is nothing to send', async () => {
    const pair = makePair();
    const [server, client] = await play(pair, 'udaddy -S 0', 'udaddy -S 0 -s 10.0.0.2');
    expect([server.code, client.code]).toEqual([0, 0]);
    expect(pair.a.portCounters.sentPkts).toBe(0);
  });

  it('refuses messages that no datagram carries', async () => {
    const { a } = makePair({ mtu: 1500 });
    await expect(run(a, 'udaddy -S 2000 -s 10.0.0.2')).rejects.toMatchObject({ code: 'ERR_ROCE_ARGUMENT' });
  });
});

describe('mckey', () => {
  it.each([
    ['239.1.2.3', '::ffff:239.1.2.3'],
    ['ff15::77', 'ff15::77'],
  ])('sends to whoever has joined %s', async (group, dgid) => {
    const [server, client] = await play(makePair(), `mckey -m ${group} -C 4`, `mckey -m ${group} -C 4 -s`);
    expect(server.lines).toContain(`mckey: joined dgid: ${dgid} mlid 0x0 sl 0`);
    expect(server.lines.slice(-4)).toEqual([
      'receiving data transfers',
      'data transfers complete',
      'test complete',
      'return status 0',
    ]);
    expect(client.lines).toContain('initiating data transfers');
  });
});

describe('a program that is stopped', () => {
  it.each([
    ['mckey -m 239.1.2.3 -C 4', 'ERR_ROCE_STATE'],
    ['rdma_xserver', 'ERR_ROCE_CLOSED'],
  ])('ends: %s', async (commandLine, code) => {
    const { world, b } = makePair();
    const stop = new AbortController();
    const stopped = run(b, commandLine, stop.signal).catch((error: unknown) => error);
    await world.run(world.sleep(1e6));
    stop.abort();
    expect(await world.run(stopped)).toMatchObject({ code });
  });
});

describe('cmtime', () => {
  it('times every step, and its server serves until it is stopped', async () => {
    const { world, a, b } = makePair();
    const stop = new AbortController();
    const server = run(b, 'cmtime', stop.signal);
    const client = await world.run(run(a, 'cmtime -s 10.0.0.2 -c 25'));
    expect(client.lines.filter((line) => /^(connect|disconnect) +: +\d/.test(line))).toHaveLength(2);
    expect(client.lines).toContain('step              total ms     max ms     min us  us / conn');
    stop.abort();
    expect((await world.run(server)).code).toBe(0);
    expect(a.qpCount).toBe(0);
    expect(b.qpCount).toBe(0);
  });
});

describe('rdma_xserver and rdma_xclient', () => {
  it.each(['r', 'x'])('exchange a message with -c %s', async (type) => {
    const [server, client] = await play(makePair(), `rdma_xserver -c ${type}`, `rdma_xclient -c ${type} -s 10.0.0.2`);
    expect(server.lines).toEqual(['rdma_xserver: start', 'rdma_xserver: end 0']);
    expect(client.lines).toEqual(['rdma_xclient: start', 'rdma_xclient: end 0']);
  });
});
