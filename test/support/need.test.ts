/**
 * Goal: no test starts a program that a machine may lack without asking `need.ts`, and nothing else skips tests.
 * Method: programs are started here without asking, in every way that Node has; planted tests are run where nothing is
 * installed; every test file is read.
 */
import { execFile, execFileSync, execSync, spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { mustBeThere } from '../../tools/required.ts';
import { lend, PROGRAMS, permitted } from './programs.ts';

const TEST = fileURLToPath(new URL('..', import.meta.url));
const NOT_ASKED_FOR = /spawn(?:Sync)? \w+: a test asks test\/support\/need\.ts for it first ENOENT/;

describe('a program that a test has not asked for', () => {
  it.each(['tshark', '/usr/bin/tshark', 'git', 'ip', 'openssl'])('is not there: %s', async (program) => {
    expect(spawnSync(program, ['--version']).error?.message).toMatch(NOT_ASKED_FOR);
    expect(() => execFileSync(program, ['--version'])).toThrow(NOT_ASKED_FOR);
    const spawned = new Promise((resolve) => spawn(program, ['--version']).once('error', resolve));
    const executed = new Promise((resolve) => execFile(program, ['--version'], resolve));
    for (const error of [await spawned, await executed]) expect(`${error}`).toMatch(NOT_ASKED_FOR);
  });

  it('is not there for a shell', () => {
    expect(spawnSync('sh', ['-c', 'true | tshark --version']).error?.message).toMatch(NOT_ASKED_FOR);
    expect(() => execSync('/usr/bin/tshark --version', { stdio: 'ignore' })).toThrow(/Command failed/);
    expect(permitted('sh', ['-c', 'echo "$(ip link)"'])).toMatch(/^ip: /);
    expect(permitted('/bin/sh', ['-c', 'exec >out; exec node --version'])).toBe('/bin/sh');
  });

  it('is there while its thing is lent, and no longer', () => {
    expect(Object.entries(PROGRAMS).filter(([, programs]) => programs.length > 0).length).toBeGreaterThan(5);
    expect(permitted('/usr/bin/capinfos')).toMatch(/^capinfos: /);
    const [giveBack, again] = [lend(['tshark']), lend(['tshark', 'netns'])];
    expect([permitted('/usr/bin/capinfos'), permitted('ip')]).toEqual(['/usr/bin/capinfos', 'ip']);
    again();
    expect([permitted('capinfos'), permitted('ip')]).toEqual(['capinfos', expect.stringMatching(/^ip: /)]);
    giveBack();
    expect(permitted('capinfos')).toMatch(/^capinfos: /);
  });
});

it('Node, npm, a shell, and programs of this repository need no asking', () => {
  expect(execFileSync('node', ['--version'], { encoding: 'utf8' })).toBe(`${process.version}\n`);
  expect(execFileSync('sh', ['-c', 'echo here'], { encoding: 'utf8' })).toBe('here\n');
  expect(permitted(process.execPath)).toBe(process.execPath);
  for (const program of ['npm', 'npx', join(TEST, '../node_modules/.bin/attw')])
    expect(permitted(program)).toBe(program);
});

it('a missing thing is a failure where CI is set, and in the bare lane it is not', () => {
  expect([{}, { CI: '' }, { CI: 'true', ROCE_BARE: '1' }].map(mustBeThere)).toEqual([false, false, false]);
  expect([{ CI: 'true' }, { CI: '1', ROCE_BARE: '' }].map(mustBeThere)).toEqual([true, true]);
});

describe('tests that need what is missing', () => {
  it('are skipped, and each reason is printed once', () => {
    const { status, stdout } = runPlanted({ CI: 'true', ROCE_BARE: '1' });
    expect(stdout).toMatch(/1 passed.*5 skipped/s);
    const lines = stdout.slice(stdout.indexOf('Skipped tests, and what they need:')).trim().split('\n').slice(1);
    expect(lines.map((line) => line.trim())).toEqual([
      '3  tshark is not installed',
      '1  there is no C compiler (Debian package gcc)',
      '1  there is no cake',
    ]);
    expect(status).toBe(0);
  });

  it('fail where CI is set', () => {
    const { status, stdout, stderr } = runPlanted({ CI: 'true' });
    expect(stdout).toMatch(/4 failed.*1 passed/s);
    for (const reason of ['tshark is not installed', 'there is no C compiler', 'there is no cake'])
      expect(stderr).toContain(`Error: ${reason}`);
    expect(status).toBe(1);
  });
});

/** Runs the tests in `planted/` with a PATH on which there is nothing. */
function runPlanted(environment: Readonly<Record<string, string>>) {
  const vitest = fileURLToPath(import.meta.resolve('vitest/package.json')).replace('package.json', 'vitest.mjs');
  const args = [vitest, 'run', '--config', join(TEST, 'support/planted/vitest.config.ts')];
  return spawnSync(process.execPath, args, { encoding: 'utf8', env: { PATH: '', NO_COLOR: '1', ...environment } });
}

it('no test is skipped but through need.ts, which prints the reason', () => {
  const files = readdirSync(TEST, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name));
  const own = ['support/need.ts', 'support/need.test.ts'];
  const skips = files.filter(
    (name) =>
      !own.includes(name) && /\.(?:skip|skipIf|runIf|todo)\b|\bskip: /.test(readFileSync(join(TEST, name), 'utf8')),
  );
  expect(files.length).toBeGreaterThan(400);
  expect(skips).toEqual([]);
});
