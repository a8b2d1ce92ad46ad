/**
 * Goal: programs run between two hosts, each with a server of its own: nothing of a case is owed to both ends being in
 * one device. Method: two network namespaces, a veth pair, `roce uverbs` in each for some programs; then all programs of
 * the table in docs/uverbs.md that have two ends, with both devices in this process.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeNetnsPair, type Netns, type NetnsPair } from '../../tools/netns.ts';
import { describeWith } from '../support/need.ts';
import { type Ended, type Running, startProgram } from '../support/running.ts';
import { testColumn } from './uverbs-column.ts';

/** What both hosts run, and what the client adds: it meets the server at the kernel's address. */
const CASES: readonly (readonly [string, string, RegExp])[] = [
  ['ibv_rc_pingpong -g 1 -e -c -n 100', 'KERNEL', /100 iters in/],
  ['ibv_ud_pingpong -g 1 -e -n 100', 'KERNEL', /100 iters in/],
  ['ib_write_bw -F -n 100', 'KERNEL', /\n 65536\s+100\s/],
  ['ib_send_bw -F -n 100 -c UD', 'KERNEL', /\n \d+\s+100\s/],
  ['env UCX_TLS=rc_verbs,ud_verbs:aux ucx_perftest', 'KERNEL -t tag_bw -s 65536 -n 50', /Final:/],
  ['ib_read_lat -F -n 100 -R', 'KERNEL', /usec/],
  ['fi_pingpong -p verbs -e dgram -I 10', 'KERNEL', /1k +10/],
];

describeWith(['verbs', 'middleware', 'netns'], 'two hosts, each with a server', () => {
  const directory = mkdtempSync(join(tmpdir(), 'roce-two-hosts-'));
  let pair: NetnsPair;
  const services: Running[] = [];

  const roce = (host: Netns, ...args: readonly string[]): Running => startProgram('tools/roce.ts', args, host.prefix);
  const socket = (host: Netns): string => join(directory, host.name);
  const run = (host: Netns, line: string): Running => roce(host, 'run', '--on', socket(host), '--', 'sh', '-c', line);

  beforeAll(async () => {
    pair = makeNetnsPair();
    for (const host of [pair.a, pair.b]) {
      const wire = [
        '--link',
        `packet-ring:${host.device}`,
        '--mac',
        host.mac,
        '--ip',
        host.ipv4,
        '--ip',
        `fe80::99:ff:fe00:${host.mac.slice(-1)}/64`,
      ];
      const service = roce(host, 'uverbs', '--socket', socket(host), ...wire);
      services.push(service);
      await service.shows('serving at');
    }
  });

  afterAll(async () => {
    for (const service of services) service.interrupt();
    await Promise.all(services.map(({ ended }) => ended));
    pair.remove();
    rmSync(directory, { recursive: true });
  });

  it.each(CASES)('%s', { timeout: 60_000 }, async (line, to, printed) => {
    const server = run(pair.a, line);
    const client = `${line} ${to.replace('KERNEL', pair.a.ipv4.split('/')[0] ?? '')}`;
    // It may come before the other listens.
    const ended = await run(pair.b, `for i in 1 2 3 4 5 6 7 8 9 10; do ${client} && exit 0; sleep 0.5; done; exit 1`)
      .ended;
    expect([ended.code, (await server.ended).code], textOf(ended)).toEqual([0, 0]);
    expect(textOf(ended)).toMatch(printed);
  });
});

describeWith(['verbs', 'middleware', 'netns', 'bind-mounts', 'tshark'], 'every program with two ends', () =>
  testColumn('second server'),
);

const textOf = ({ stdout, stderr }: Ended): string => stdout + stderr;
