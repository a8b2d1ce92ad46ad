/**
 * Goal: what `roce run` does around a program: the shim is built once and rightly, the program has its signals and its
 * exit code, nothing is left behind. Method: small programs of our own under the real shim.
 */
import { execFile } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ServedUverbs, serveUverbs } from '../../src/node/uverbs/serve.ts';
import { buildShim, SHIM_DIRECTORY } from '../../tools/uverbs/build.ts';
import { startUnderShim } from '../../tools/uverbs/child.ts';
import { PrivatePlace } from '../../tools/uverbs/place.ts';
import { runOne, runPair } from '../../tools/uverbs/run.ts';
import { FakeServer } from '../node/uverbs/fake-server.ts';
import { describeWith } from '../support/need.ts';

const directory = mkdtempSync(join(tmpdir(), 'roce-run-test-'));
afterAll(() => rmSync(directory, { recursive: true }));

describeWith(['compiler', 'koffi'], 'a program under the shim', () => {
  const cache = join(directory, 'cache');
  let served: ServedUverbs;
  let shim: string;

  beforeAll(async () => {
    // Three at a time, in a new cache: each has a whole one, and it is the same.
    const built = await Promise.all([buildShim(cache), buildShim(cache), buildShim(cache)]);
    shim = built[0];
    expect(new Set(built).size).toBe(1);
    served = await serveUverbs({ server: new FakeServer(), path: join(directory, 'socket') });
  });
  afterAll(() => served.close());

  const sh = (script: string): string[] => ['sh', '-c', script];
  const place = (): { shim: string; socket: string } => ({ shim, socket: served.path });

  it('is built once, and again when what lies there is not whole', async () => {
    expect(readdirSync(join(cache, 'parts'))).toHaveLength(1);
    expect(readdirSync(join(cache, 'scratch'))).toEqual([]);
    const [name = ''] = readdirSync(join(cache, 'parts'));
    // Interrupted, as by a full disk: without its manifest it does not count.
    rmSync(join(cache, 'parts', name), { recursive: true });
    mkdirSync(join(cache, 'parts', name));
    expect(await buildShim(cache)).toBe(shim);
    expect(existsSync(shim)).toBe(true);
  });

  it('needs no compiler once it is in the cache', async () => {
    const { PATH } = process.env;
    process.env['PATH'] = directory;
    try {
      expect(await buildShim(cache)).toBe(shim);
      await expect(buildShim(join(directory, 'new'))).rejects.toThrow(/^programs run under a shim .* \(no cc here\)$/);
    } finally {
      process.env['PATH'] = PATH;
    }
  });

  it('is another after its sources changed, and the one before stays', async () => {
    const sources = join(directory, 'sources');
    cpSync(SHIM_DIRECTORY, sources, { recursive: true });
    expect(await buildShim(cache, sources)).toBe(shim);
    appendFileSync(join(sources, 'paths.c'), '/* the next version */\n');
    const next = await buildShim(cache, sources);
    expect(next).not.toBe(shim);
    expect([existsSync(next), existsSync(shim)]).toEqual([true, true]);
  });

  it('says in one line what is in the way', async () => {
    const file = join(directory, 'file');
    writeFileSync(file, '');
    await expect(buildShim(join(file, 'cache'))).rejects.toThrow(/^the shim cannot be built in .*ENOTDIR/);
    // A directory that is there and takes none: mkdir's own recursion would never end.
    await expect(buildShim('/proc/cache')).rejects.toThrow(/^the shim cannot be built in .*ENOENT/);
    await expect(buildShim(join(directory, 'a b'))).rejects.toThrow(/^LD_PRELOAD takes no path with a space/);
  });

  it.each([
    ['exit 0', 0],
    ['exit 7', 7],
    ['kill -TERM $$', 143],
    ['read line < /sys/class/infiniband_verbs/uverbs0/ibdev; [ $line = rxe0 ]', 0],
    ['[ -c /dev/infiniband/uverbs0 ] && [ -r /dev/infiniband/rdma_cm ]', 0],
    // What it starts has the device as well.
    ['exec env sh -c "[ -c /dev/infiniband/uverbs0 ]"', 0],
  ])('%s: its exit code', async (script, code) => {
    expect(await runOne(sh(script), place())).toBe(code);
  });

  it('sees an ordinary machine where no server is named', async () => {
    const env = { ...process.env, LD_PRELOAD: shim };
    await promisify(execFile)('sh', ['-c', '! [ -e /sys/class/infiniband/rxe0 ]'], { env });
  });

  it('is not there: one line says so', async () => {
    await expect(runOne(['no-such-program'], place())).rejects.toThrow(/^no-such-program: there is no such program$/);
  });

  it('gets the signals that the command gets', async () => {
    const ready = join(directory, 'ready');
    const script = `trap 'exit 9' TERM; : > ${ready}; while :; do :; done`;
    const child = startUnderShim('sh', ['-c', script], place());
    await expect.poll(() => existsSync(ready)).toBe(true);
    process.emit('SIGTERM');
    expect(await child.ended).toBe(9);
    expect(process.listenerCount('SIGTERM')).toBe(0);
  });

  it('is ended when its time is over, with what it has started', async () => {
    const [ready, over] = [join(directory, 'started'), new AbortController()];
    // The child takes no notice of SIGTERM, as programs that wait for memory to change do not.
    const script = `sh -c 'trap "" TERM; : > ${ready}; while :; do :; done' & wait`;
    const child = startUnderShim('sh', ['-c', script], { ...place(), until: over.signal });
    await expect.poll(() => existsSync(ready)).toBe(true);
    over.abort();
    expect(await child.ended).toBe(143);
    await expect.poll(() => isGroupGone(child.pid)).toBe(true);
  });

  it('of two, the second starts when the first listens; a failure of either ends both', async () => {
    const listens = `${process.execPath} -e "require('node:net').createServer((s) => s.end('x')).listen(PATH)"`;
    const port = await freePort();
    const server = listens.replace('PATH', `${port}, '127.0.0.1'`);
    const client = `${process.execPath} -e "require('node:net').connect(${port}, '127.0.0.1').on('data', () => process.exit(CODE))"`;
    expect(await runPair([server, client.replace('CODE', '3')], place(), served)).toBe(3);
    const once = server.replace("s.end('x')", "{ s.end('x'); s.on('close', () => process.exit(0)); }");
    expect(await runPair([once, client.replace('CODE', '0')], place(), served)).toBe(0);
    expect(await runPair(['false', 'true'], place(), served)).toBe(1);
  });
});

describe('the place of a run', () => {
  it('is for this user alone, and takes those away that killed servers have left', async () => {
    const parent = join(directory, 'places');
    mkdirSync(parent);
    const long = new Date(Date.now() - 120_000);
    const old = (name: string): string => {
      const path = join(parent, name);
      mkdirSync(path);
      return path;
    };
    const [killed, alive, other] = [old('roce-run-killed'), old('roce-run-alive'), old('something')];
    const young = old('roce-run-young');
    const server = createServer().listen(join(alive, 'uverbs'));
    await new Promise((resolve) => server.once('listening', resolve));
    writeFileSync(join(killed, 'uverbs'), '');
    for (const path of [killed, alive, other]) utimesSync(path, long, long);
    const place = await PrivatePlace.make(parent);
    expect([killed, alive, other, young].map((path) => existsSync(path))).toEqual([false, true, true, true]);
    expect(statSync(place.directory).mode & 0o077).toBe(0);
    place.remove();
    expect(existsSync(place.directory)).toBe(false);
    server.close();
  });
});

function isGroupGone(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return false;
  } catch {
    return true;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('it has a port');
  return address.port;
}
