/**
 * Goal: every example runs as it stands and prints what it is there to show; those that say so also run over a wire,
 * and the peer of rping speaks to other rpings. Method: each in a process of its own; two of them on a unix socket, a
 * veth, and one beside `roce rping` and a real rping in a guest.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rpingFault } from '../../tools/interop/stock-rping.ts';
import { Guest } from '../../tools/lab/guest.ts';
import { buildImage } from '../../tools/lab/image.ts';
import { makeNetnsPair } from '../../tools/netns.ts';
import { describeWith } from '../support/need.ts';
import { type Running, startProgram } from '../support/running.ts';
import { startRoce } from '../tools/roce/run-roce.ts';

const EXAMPLES = new URL('../../examples/', import.meta.url);
const NAMES = readdirSync(EXAMPLES)
  .filter((name) => name.endsWith('.ts') && name !== 'support.ts')
  .map((name) => name.slice(0, -'.ts'.length));

const RPING_LINES = ['0: ABCDEFGHIJKLMNOPQRSTUVWXYZ', '1: BCDEFGHIJKLMNOPQRSTUVWXYZ', '2: CDEFGHIJKLMNOPQRSTUVWXYZ'];

/** What each end says; in one process their lines alternate. */
const SAID: Readonly<Record<string, Readonly<Record<'server' | 'client', readonly string[]>>>> = {
  echo: {
    server: ['server: waiting on port 7471', 'server: ADDRESS connects', 'server: the client has gone'],
    client: ['client: hello', 'client: who is there?', 'client: goodbye'],
  },
  'key-value-store': {
    server: [
      'server: waiting on port 7471',
      ...['colour=teal', 'shape=round', 'colour=red'].map((entry) => `server: put ${entry}`),
    ],
    client: ['client: colour is red', 'client: shape is round', 'client: size is not there'],
  },
  rping: {
    server: ['server: waiting on port 7174', ...RPING_LINES.map((line) => `server: rdma-ping-${line}`)],
    client: RPING_LINES.map((line) => `client: rdma-ping-${line}`),
  },
};
const TWO_ENDED = Object.keys(SAID);

let directory = '';
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'roce-examples-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('every example', () => {
  it('is listed in the README of the examples, with nothing else', () => {
    const readme = readFileSync(new URL('README.md', EXAMPLES), 'utf8');
    expect([...readme.matchAll(/^\| \[`(.*)\.ts`\]\(\1\.ts\)/gm)].map((match) => match[1]).sort()).toEqual(NAMES);
  });

  it('is short, opens with how it is run, and takes from this package only what a user can take', () => {
    for (const name of [...NAMES, 'support']) {
      const text = readFileSync(new URL(`${name}.ts`, EXAMPLES), 'utf8');
      expect(text.split('\n').length, name).toBeLessThanOrEqual(125);
      if (name !== 'support') expect(text, name).toContain(`npx tsx examples/${name}.ts`);
      const imports = [...text.matchAll(/ from '([^']+)'/g)].map((match) => match[1] ?? '');
      expect(imports.filter((from) => !/^(?:rocev2(?:\/[a-z]+)?|\.\/support\.ts|node:[a-z]+)$/.test(from))).toEqual([]);
    }
  });
});

describe('an example on the simulated network', () => {
  it.each(TWO_ENDED)('%s runs both ends in one process', async (name) => {
    const lines = await output(startExample(name));
    for (const end of ['server', 'client'] as const) {
      expect(lines.filter((line) => line.startsWith(end))).toEqual(said(name, end, '10.0.0.1'));
    }
  });

  it('write-with-immediate fills every slot with the bytes that were sent, on a wire that loses some', async () => {
    const lines = await output(startExample('write-with-immediate'));
    const digests = (pattern: RegExp): (string | undefined)[][] =>
      lines.flatMap((line) => [pattern.exec(line)?.slice(1) ?? []]).filter((found) => found.length > 0);
    const received = digests(/^receiver: slot (\d) has 65536 bytes, sha256 ([0-9a-f]{16})$/);
    expect(received.map(([slot]) => slot)).toEqual(['3', '2', '1', '0']);
    expect(digests(/^sender: {3}slot (\d) is written, sha256 ([0-9a-f]{16})$/)).toEqual(received);
    expect(new Set(received.map(([, digest]) => digest)).size).toBe(4);
  });

  it('lock keeps the counter right, and without the lock it goes wrong', async () => {
    const lines = await output(startExample('lock'));
    expect(lines.at(-1)).toBe('the counter is 40, it should be 40');
    const waits = lines.map((line) =>
      Number(/^host \d: 10 rounds, found the lock taken (\d+) times$/.exec(line)?.[1] ?? 0),
    );
    expect(waits.filter((count) => count > 0).length).toBe(4);
    expect((await output(startExample('lock', ['--unsafe']))).at(-1)).toMatch(
      /^the counter is [123]?\d, it should be 40$/,
    );
  });

  it('ud-chat brings every line to everybody, and with losses some of them, in order and whole', async () => {
    const said = ['ann: hello', 'bob: hello ann', 'eve: what are you two up to?'];
    const lines = [...said, 'ann: RDMA', 'bob: without a connection', 'eve: I see'];
    const heard = lines.flatMap((line, i) =>
      ['ann', 'bob', 'eve'].filter((name) => !line.startsWith(name)).map((name) => `${name} hears ${i + 1} ${line}`),
    );
    expect(await output(startExample('ud-chat'))).toEqual(heard);
    const lossy = await output(startExample('ud-chat', ['--loss', '0.2']));
    expect(lossy.some((line) => / has missed \d$/.test(line))).toBe(true);
    const texts = lossy.flatMap((line) => / hears \d (.*)/.exec(line)?.[1] ?? []);
    expect(texts.length).toBeLessThan(heard.length);
    expect(texts.filter((text) => !lines.includes(text))).toEqual([]);
  });
});

describe('an example on a wire between two processes', () => {
  it.each(TWO_ENDED)('%s, over a unix socket', async (name) => {
    const path = join(directory, name);
    await expectBothEnds(name, '10.0.0.1', '10.0.0.2', {
      server: ['--link', `qemu:${path}`, '--ip', '10.0.0.2/24'],
      client: ['--link', `qemu:${path},connect`, '--ip', '10.0.0.1/24'],
    });
  });

  describeWith('netns', 'in namespaces', () => {
    it.each(TWO_ENDED)('%s, over udp6', async (name) => {
      const { a, b, remove } = makeNetnsPair();
      try {
        const [ours, theirs] = [a, b].map(({ ipv6 }) => ipv6.split('/')[0] ?? '');
        const links = { server: ['--link', `udp6:[${theirs}]`], client: ['--link', `udp6:[${ours}]`] };
        await expectBothEnds(name, ours ?? '', theirs ?? '', links, { server: b.prefix, client: a.prefix });
      } finally {
        remove();
      }
    });
  });
});

describe('the peer of rping', () => {
  it('serves `roce rping -c`, and is a client of `roce rping -s`', async () => {
    const path = join(directory, 'roce');
    const [ours, theirs] = [
      ['--link', `qemu:${path}`, '--ip', '10.77.0.1/24'],
      ['--link', `qemu:${path},connect`, '--ip', '10.77.0.2/24'],
    ];
    const server = startExample('rping', ours);
    await server.shows('waiting');
    const client = await startRoce(['rping', '-c', '-a', '10.77.0.1', '-V', '-C', '3', ...theirs]).ended;
    expect(client).toMatchObject({ code: 0, stderr: 'client DISCONNECT EVENT...\n' });
    expect((await output(server)).length).toBe(4);

    const stock = startRoce(['rping', '-s', '-d', '-v', ...ours]);
    await stock.shows('rdma_listen');
    expect(await output(startExample('rping', [...theirs, '--connect', '10.77.0.1']))).toEqual(
      said('rping', 'client', ''),
    );
    expect(await stock.ended).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('server ping data: rdma-ping-2: CDE'),
    });
  });

  describeWith('lab', 'and a real one', () => {
    it('serves it, and is its client', async () => {
      const path = join(directory, 'guest');
      const image = await buildImage('6.12');
      const guest = await Guest.boot({ image, netSocket: { path, listen: true }, addresses: ['10.77.0.2/24'] });
      try {
        const ours = ['--link', `qemu:${path},connect`, '--ip', '10.77.0.1/24'];
        const server = startExample('rping', ours);
        await server.shows('waiting');
        expect(rpingFault(await guest.run('rping -c -a 10.77.0.1 -C 3 -v -V'), 3)).toBe('');
        expect((await output(server)).length).toBe(4);

        const stock = guest.spawn('rping -s -C 3 -v');
        await guest.run('until rdma resource show cm_id | grep -q LISTEN; do sleep 0.05; done');
        const client = startExample('rping', [...ours, '--connect', '10.77.0.2']);
        expect(await output(client)).toEqual(said('rping', 'client', ''));
        expect(rpingFault(await stock.wait(30_000), 3)).toBe('');
      } finally {
        await guest.stop();
      }
    });
  });
});

function startExample(name: string, args: readonly string[] = [], prefix: readonly string[] = []): Running {
  return startProgram(`examples/${name}.ts`, args, prefix);
}

/** The lines of a program that ends well and complains of nothing. */
async function output(running: Running): Promise<string[]> {
  const { code, stdout, stderr } = await running.ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.trimEnd().split('\n');
}

function said(name: string, end: 'server' | 'client', address: string): string[] | undefined {
  return SAID[name]?.[end].map((line) => line.replace('ADDRESS', address));
}

/** Runs the server until it waits, then the client, each where its prefix puts it. */
async function expectBothEnds(
  name: string,
  ours: string,
  theirs: string,
  args: Readonly<Record<'server' | 'client', readonly string[]>>,
  prefixes: Readonly<Record<'server' | 'client', readonly string[]>> = { server: [], client: [] },
): Promise<void> {
  const server = startExample(name, args.server, prefixes.server);
  await server.shows('waiting');
  const client = startExample(name, [...args.client, '--connect', theirs], prefixes.client);
  expect(await output(client)).toEqual(said(name, 'client', ours));
  expect(await output(server)).toEqual(said(name, 'server', ours));
}
