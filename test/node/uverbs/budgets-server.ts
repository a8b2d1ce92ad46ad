/**
 * A server of verbs in a process of its own, whose memory is that of no test: starts programs, and sends what it then
 * holds. Arguments: programs, contexts of each, queue pairs of each context.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openDevice } from '../../../src/index.ts';
import { serveUverbs } from '../../../src/node/uverbs/serve.ts';
import { createUverbsServer } from '../../../src/uverbs/index.ts';
import { PYTHON } from '../../../tools/interop/pyverbs/suite.ts';
import { buildShim } from '../../../tools/uverbs/build.ts';

/** What a server holds more than it did before any program came, and what it held. */
export interface Figures {
  readonly queuePairs: number;
  readonly files: number;
  readonly residentBytes: number;
  readonly heapBytes: number;
  /** Files and queue pairs after the programs' end. */
  readonly left: number;
}

const PROGRAM = fileURLToPath(new URL('./many.py', import.meta.url));
const [programs = 0, contexts = '0', queuePairs = '0'] = [Number(process.argv[2]), ...process.argv.slice(3)];

const directory = mkdtempSync(join(tmpdir(), 'roce-budgets-'));
const { device, close } = await openDevice({ link: 'loopback:10.0.0.1/24' });
const served = await serveUverbs({ server: createUverbsServer(device), path: join(directory, 'socket') });
const shim = await buildShim();

/** A program that is there until its input ends. */
async function start(...args: string[]): Promise<() => Promise<unknown>> {
  const env = { ...process.env, LD_PRELOAD: shim, ROCE_UVERBS: served.path, PYTHONDONTWRITEBYTECODE: '1' };
  const child = spawn(PYTHON, [PROGRAM, ...args], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return async () => {
    const ended = once(child, 'exit');
    child.stdin.end();
    await ended;
  };
}

/** Until the server has seen the end of all programs. */
async function idle(): Promise<void> {
  while (served.sizes.connections > 0) await turn();
}

function memory(): { residentBytes: number; heapBytes: number } {
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { residentBytes: rss, heapBytes: heapUsed + external };
}

// Code that runs for the first time is no program's.
for (let round = 0; round < 3; round++) await (await start('2', '2'))();
await idle();
const before = memory();
const ends = [];
for (let index = 0; index < programs; index++) ends.push(await start(contexts, queuePairs));
const { residentBytes, heapBytes } = memory();
const held = {
  queuePairs: device.tables().queuePairs,
  files: served.sizes.files,
  residentBytes: residentBytes - before.residentBytes,
  heapBytes: heapBytes - before.heapBytes,
};
for (const end of ends) await end();
await idle();
const figures: Figures = { ...held, left: served.sizes.files + device.tables().queuePairs };
process.send?.(figures);
served.close();
await close();
rmSync(directory, { recursive: true });
process.disconnect();
