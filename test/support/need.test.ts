/**
 * Goal: no test starts a program that a machine may lack without asking `need.ts`, and nothing else skips tests.
 * Method: programs are started here without asking, in every way that Node has; planted tests are run where nothing is
 * installed; every test file is read.
 */
import { execFile, execFileSync, execSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { mustBeThere } from '../../tools/required.ts';
import { lend, PROGRAMS, permitted } from './programs.ts';

const TEST = fileURLToPath(new URL('..', import.meta.url));
const NOT_ASKED_FOR = /spawn(?:Sync)? \w+: a test asks test\/support\/need\.ts for it first ENOENT/;

/** For a process that starts a program itself. */
const START = `const started = (name) => {
  const ended = require('child_process').spawnSync(name, ['--version'], { encoding: 'utf8' });
  process.stdout.write([ended.error, ended.stdout, ended.stderr].join(' '));
  return ended;
};`;

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
    expect(spawnSync('tshark --version', { shell: true, encoding: 'utf8' })).toMatchObject({ status: 127, stdout: '' });
    expect(spawnSync('node', ['-v', '|', 'tshark', '-v'], { shell: true, encoding: 'utf8' }).stdout).toBe('');
  });

  it('is not there for a program that starts others', () => {
    expect(spawnSync('env', ['-i', '/usr/bin/tshark', '-v']).error?.message).toMatch(/need\.ts for it first ENOENT/);
    for (const words of [
      ['npx', '-c', 'tshark -v'],
      ['npm', 'exec', '-c', 'true && qemu-system-x86_64 -version'],
    ])
      expect(permitted(words[0] ?? '', words.slice(1))).toMatch(/^(?:tshark|qemu-system-x86_64): /);
    expect(permitted('npm', ['pack', '--json'])).toBe('npm');
  });

  // Each of these has a name that no list of words finds.
  it.each([
    ['a shell that puts the name together', 'sh', ['-c', "tsh''ark --version"], ''],
    ['a shell that reads it', 'sh', [], 'tshark --version\n'],
    ['a process of Node', process.execPath, ['-e', `${START}started('tshark')`], ''],
    [
      'a worker of one',
      process.execPath,
      ['-e', `new (require('worker_threads').Worker)(${JSON.stringify(`${START}started('tshark')`)}, { eval: true })`],
      '',
    ],
  ])('is not there for %s', (_, program, args, input) => {
    const { stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', input });
    expect(`${stdout}${stderr}`).toMatch(
      /tshark: (?:a test asks test\/support\/need\.ts for it first|not found)|ENOENT/,
    );
    expect(`${stdout}${stderr}`).not.toMatch(/Wireshark/);
  });

  it('is there for them while its thing is lent', () => {
    const { PATH = '' } = process.env;
    const place = PATH.split(delimiter)[0] ?? '';
    const hidden = (): boolean => existsSync(join(place, 'ip'));
    const before = hidden();
    const giveBack = lend(['netns']);
    expect(hidden()).toBe(false);
    giveBack();
    expect(hidden()).toBe(before);
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

describe('every test file', () => {
  const root = join(TEST, '..');
  const own = ['test/support/need.ts', 'test/support/need.test.ts', 'test/support/netns.ts'];
  const files = ['test', 'embargo/test']
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((name) => /\.tsx?$/.test(name) && !own.includes(name));

  it('is skipped through need.ts only, which prints the reason, and asks it for packages and root', () => {
    const wrong = files.flatMap((name) => besideNeed(readFileSync(join(root, name), 'utf8')).map((at) => [name, at]));
    expect(files.length).toBeGreaterThan(400);
    expect(wrong).toEqual([]);
  });

  it.each([
    "it.skip('x', f)",
    "it.skipIf(missing)('x', f)",
    "it['skip']('x', f)",
    "it('x', { skip: missing }, f)",
    "it('x', { skip }, f)",
    "it('x', ({ skip }) => skip())",
    "it('x', (context) => context.skip())",
    'if (process.getuid() !== 0) return',
    "await import('koffi').catch(() => undefined)",
    "import cap from 'cap'",
    "createRequire(import.meta.url)('raw-socket')",
    "itWith('cap', 'x', f); import koffi from 'koffi'",
  ])('would be caught with: %s', (text) => {
    expect(besideNeed(text)).not.toEqual([]);
  });

  it.each([
    "describeWith(['lab', 'koffi'], 'x', async () => (await import('koffi')).default)",
    "openLink('raw-socket:none0')",
    'const rest = skip + 1',
  ])('may have: %s', (text) => {
    expect(besideNeed(text)).toEqual([]);
  });
});

/** What a text does that need.ts is for. */
function besideNeed(text: string): string[] {
  const skips =
    text.match(/\.(?:skip|skipIf|runIf|todo)\b|\['(?:skip|todo)\w*'\]|\bskip: |[{,] ?skip ?[,}]|\bgete?uid\b/g) ?? [];
  const packages = [...text.matchAll(/(?:\bfrom |\(|\bimport )['"](koffi|cap|raw-socket)['"]/g)].map(
    ([, name = '']) => name,
  );
  const asked = [...text.matchAll(/(?:With|WhereThere|whyMissing)\((\[[^\]]*\]|'[^']*')/g)].join();
  return [...skips, ...packages.filter((name) => !asked.includes(`'${name}'`))];
}
