/**
 * Goal: to a program the device files look as the kernel's do: every call, every errno, threads, forks, and ends of
 * either side. Method: a C program with the shim compiled in, under the sanitizers, as the client of a server that has
 * no verbs (fake-server.ts).
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ServedUverbs, serveUverbs } from '../../../src/node/uverbs/serve.ts';
import { describeWith } from '../../support/need.ts';
import { buildClient, ended, runCase, startCase } from './clients.ts';
import { FakeServer } from './fake-server.ts';

const CASES = [
  'finds_the_device',
  'commands_give_errno_and_response',
  'rings_are_mapped',
  'memory_is_reached',
  'doorbells_do_not_wait',
  'a_first_doorbell_is_answered',
  'events_are_counted',
  'more_events_than_are_told_at_once',
  'queues_are_armed_without_a_command',
  'descriptors_are_shared',
  'threads_do_not_wait_for_each_other',
  'many_threads',
  'children_share_files',
  'events_of_rdma_cm',
];

describeWith(['compiler', 'koffi'], 'the shim', () => {
  const directory = mkdtempSync(join(tmpdir(), 'roce-shim-'));
  const fake = new FakeServer();
  let served: ServedUverbs;
  const programs = new Map<string, string>();

  beforeAll(async () => {
    served = await serveUverbs({ server: fake, path: join(directory, 'socket') });
    for (const sanitizer of ['address,undefined', 'thread'])
      programs.set(sanitizer, await buildClient(directory, sanitizer));
  }, 60_000);
  afterAll(() => {
    served.close();
    rmSync(directory, { recursive: true });
  });

  /** When all that clients had open is closed. */
  async function nothingOpen(): Promise<void> {
    await expect.poll(() => served.sizes, { timeout: 10_000 }).toMatchObject({ connections: 0, files: 0 });
  }

  it.each(CASES)('%s, and its memory is sound', async (name) => {
    expect(await runCase(programs.get('address,undefined') ?? '', name, served.path)).toBe('');
    await nothingOpen();
  });

  // The address sanitizer does not know how pthread_cancel unwinds.
  it.each([...CASES, 'a_reader_can_be_cancelled'])('%s, without a race', async (name) => {
    expect(await runCase(programs.get('thread') ?? '', name, served.path)).toBe('');
    await nothingOpen();
  });

  it('leaves nothing of a client that is killed in the middle of a command', async () => {
    const before = fake.closed;
    const child = await startCase(programs.get('thread') ?? '', 'waits', served.path);
    expect(served.sizes.files).toBe(1);
    // Nothing that would outlive it; what others have in /dev/shm is no matter.
    expect(readFileSync(`/proc/${child.pid}/maps`, 'utf8')).not.toContain('/dev/shm/');
    child.kill('SIGKILL');
    expect(await ended(child)).toBe('SIGKILL');
    await nothingOpen();
    expect(fake.closed).toBe(before + 1);
  });

  it('ends every call with EIO when the server is gone', async () => {
    const other = await serveUverbs({ server: new FakeServer(), path: join(directory, 'mortal') });
    const child = await startCase(programs.get('address,undefined') ?? '', 'the_server_dies', other.path);
    await later(0);
    other.close();
    expect(await ended(child)).toBe(0);
    expect(readdirSync(directory)).not.toContain('mortal.sys');
  });
});
