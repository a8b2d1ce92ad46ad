/**
 * Goal: the commands work where users run them: `roce perf` over a real wire, the stock names in experiments, and one
 * line with exit code 2 for what makes no sense. Method: processes, on a Unix socket and on the kernel's addresses.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgram } from '../../../tools/experiment/programs/index.ts';
import { runProgram } from '../../../tools/program.ts';
import { settledPair, turn, V6 } from '../../node/links/netns-link.ts';

import { describeWith } from '../../support/need.ts';
import { startProgram } from '../../support/running.ts';
import { startRoce } from '../roce/run-roce.ts';
import { Transcript } from '../rping/support.ts';
import { makePerfPair } from './support.ts';

let directory = '';
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'roce-perf-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

async function refusal(...args: string[]): Promise<{ code: number | undefined; err: string }> {
  let err = '';
  const code = await runProgram(['perf', ...args], { out: () => undefined, err: (text) => (err += text) });
  return { code, err };
}

describe('roce perf', () => {
  it('measures between two processes on a cable', async () => {
    const path = join(directory, 'cable');
    const flags = ['-n', '50', '-s', '3000', '--mtu', '1500'];
    const server = startRoce(['perf', 'write', 'bw', '--link', `qemu:${path}`, '--ip', '10.0.0.1/24', ...flags]);
    await server.shows('Waiting for client');
    const link = ['--link', `qemu:${path},connect`, '--ip', '10.0.0.2/24'];
    const client = startRoce(['perf', 'write', 'bw', '10.0.0.1', ...link, ...flags]);
    const [served, asked] = await Promise.all([server.ended, client.ended]);
    expect(asked).toMatchObject({ code: 0, stderr: '' });
    expect(served).toMatchObject({ code: 0, stderr: '' });
    expect(asked.stdout).toMatch(/^ 3000 {7}50 +[\d.]+ +[\d.]+\s+[\d.]+$/m);
    expect(served.stdout).toMatch(/^ 3000 {7}50 +[\d.]+ +[\d.]+\s+[\d.]+$/m);
  });

  it.each([
    [['write', 'bw', '--link', 'udp6:::1', '-n', '4'], /-n/],
    [['write', 'bw', '--link', 'udp6:::1', '-c', 'XRC'], /RC, UC, UD/],
    [['read', 'lat', '--link', 'udp6:::1', '-q', '2'], /unknown option '-q'/],
    [['atomic', 'bw', '--link', 'udp6:::1', '-I', '8'], /unknown option '-I'/],
    [['write', 'bw', '--link', 'udp6:::1', '--path-mtu', '1500'], /256, 512, 1024, 2048 or 4096/],
    [['send', 'bw', 'server.example', '--link', 'udp6:::1'], /not an IPv4 or IPv6 address/],
  ])('refuses %j in one line', async (args, words) => {
    const { code, err } = await refusal(...args);
    expect(code).toBe(2);
    expect(err.trim().split('\n')).toHaveLength(1);
    expect(err).toMatch(words);
  });
});

describeWith('netns', "roce perf on a link that shares the kernel's addresses", () => {
  it("introduces itself over the kernel's TCP", async () => {
    const pair = await settledPair();
    try {
      const words = ['perf', 'send', 'bw', '-n', '50', '-s', '1000'];
      const serve = [...words, '--link', `udp6:${V6[0]}`];
      const server = startProgram('tools/roce.ts', serve, pair.a.prefix);
      await server.shows('Waiting for client');
      // The line is printed before the socket listens.
      while (!/:4853 /i.test(pair.a.exec('cat', '/proc/net/tcp6'))) await turn();
      const client = startProgram('tools/roce.ts', [...words, V6[0], '--link', `udp6:${V6[1]}`], pair.b.prefix);
      const [served, asked] = await Promise.all([server.ended, client.ended]);
      expect(asked).toMatchObject({ code: 0, stderr: '' });
      expect(served).toMatchObject({ code: 0, stderr: '' });
      expect(served.stdout).toMatch(/^ 1000 {7}50 /m);
    } finally {
      pair.remove();
    }
  });
});

describe('the stock names', () => {
  it.each(['ib_write_bw', 'ib_read_lat', 'ib_send_bw', 'ib_atomic_lat'])(
    '%s takes a stock command line',
    async (name) => {
      const { world, server, client } = makePerfPair();
      const program = findProgram(name);
      if (program === undefined) throw new Error(`${name} is missing`);
      const { signal } = new AbortController();
      const outputs = [new Transcript(), new Transcript()] as const;
      const words = ['-d', 'rxe0', '-i', '1', '-F', '-n', '20', '-p', '18600', '-x', '0', '-u', '18', '-S', '0'];
      const runs = Promise.all([
        program.run({ device: server, words, output: outputs[0], signal }),
        program.run({ device: client, words: [...words, '10.0.0.1'], output: outputs[1], signal }),
      ]);
      expect(await world.run(runs)).toEqual([0, 0]);
      expect(outputs[1].lines.join('\n')).toMatch(/^ \d+ +20 +[\d.]+/m);
    },
  );

  it('end with exit code 2 for what does not fit together', async () => {
    const { server } = makePerfPair();
    const output = new Transcript();
    const { signal } = new AbortController();
    const code = await findProgram('ib_write_bw')?.run({ device: server, words: ['-c', 'UD'], output, signal });
    expect(code).toBe(2);
    expect(output.complaints).toEqual(['error: UD carries SEND only']);
  });
});
