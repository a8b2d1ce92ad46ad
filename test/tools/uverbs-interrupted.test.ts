/**
 * Goal: what a run of the programs makes on this machine, namespaces, a TAP, processes, is gone with it, however it
 * ends. Method: `npm run docs:uverbs` for two hosts, interrupted while a program runs; an `ip` that fails in the middle.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { makeTapNetns } from '../../tools/netns.ts';
import { describeWith } from '../support/need.ts';
import { startProgram } from '../support/running.ts';

const directory = mkdtempSync(join(tmpdir(), 'roce-interrupted-'));
afterAll(() => rmSync(directory, { recursive: true }));

describeWith(['verbs', 'netns', 'bind-mounts'], 'an interrupted run', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)('by %s leaves no namespace and no program', async (signal) => {
    const words = ['--column', 'second server', 'rping'];
    const running = startProgram('tools/uverbs/programs/write-page.ts', words);
    await running.shows('well rping -c -C 3 -v -a 10.0.0.1\n');
    const [, ...made] = /^made (\S+) and (\S+)$/m.exec(running.shown()) ?? [];
    expect(made.map(hasNetns)).toEqual([true, true]);
    const namespaces = made.map((name) => statSync(join('/run/netns', name)).ino);
    running.signal(signal);
    const { code, stdout } = await running.ended;
    expect([code, stdout.includes('as expected')]).toEqual([130, false]);
    expect([made.map(hasNetns), namespaces.flatMap(inside)]).toEqual([[false, false], []]);
  });
});

describeWith('netns', 'a TAP and its namespace', () => {
  it('are both there, and both removed', () => {
    const { name, tap, moveTap, remove } = makeTapNetns();
    expect([hasLink(tap), hasNetns(name)]).toEqual([true, true]);
    moveTap();
    expect(hasLink(tap)).toBe(false);
    remove();
    expect([hasLink(tap), hasNetns(name)]).toEqual([false, false]);
    remove();
  });

  it('are both gone where the second cannot be set up', () => {
    const real = (process.env['PATH'] ?? '').split(':').find((place) => existsSync(join(place, 'ip')));
    const log = join(directory, 'log');
    const script = `#!/bin/sh\necho "$*" >>${log}\n[ "$2" = exec ] && exit 1\nexec ${real}/ip "$@"\n`;
    writeFileSync(join(directory, 'ip'), script, { mode: 0o755 });
    const { PATH } = process.env;
    process.env['PATH'] = `${directory}:${PATH}`;
    try {
      expect(() => makeTapNetns()).toThrow();
    } finally {
      process.env['PATH'] = PATH;
    }
    const words = readFileSync(log, 'utf8');
    const [, tap = ''] = /^tuntap add (\S+)/m.exec(words) ?? [];
    const [, name = ''] = /^netns exec (\S+)/m.exec(words) ?? [];
    expect(words).toContain(`netns add ${name}`);
    expect([tap === '', hasLink(tap), hasNetns(name)]).toEqual([false, false, false]);
  });
});

const hasLink = (name: string): boolean => spawnSync('ip', ['link', 'show', 'dev', name]).status === 0;
const hasNetns = (name: string): boolean => existsSync(join('/run/netns', name));
/** Processes in a namespace that may have lost its name. */
function inside(namespace: number): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && statSync(`/proc/${pid}/ns/net`).ino === namespace;
    } catch {
      // It has ended.
      return false;
    }
  });
}
