/**
 * Goal: `roce experiment` is a command as any other: words, files, exit codes. Method: the command as a user runs it.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { builtInNames, isBuiltIn } from '../../../tools/experiment/load.ts';
import { itWith } from '../../support/need.ts';
import { startRoce } from '../roce/run-roce.ts';
import { fileOf, PING } from './support.ts';

const directory = mkdtempSync(join(tmpdir(), 'roce-experiment-command-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const roce = (...words: readonly string[]) => startRoce(['experiment', ...words]).ended;

/** Writes an experiment to a file; its path. */
function file(name: string, content: unknown): string {
  const path = join(directory, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

describe('roce experiment', () => {
  it('list names all that are built in', async () => {
    const { code, stdout } = await roce('list');
    expect(code).toBe(0);
    for (const name of builtInNames()) expect(stdout).toContain(`  ${name} `);
  });

  it('show prints a file that is built in', async () => {
    const { code, stdout } = await roce('show', 'first-steps');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ name: 'first-steps' });
  });

  it('check says what would be run, with parameters', async () => {
    const { code, stdout } = await roce('check', 'interop-errors', '--set', 'mtu=4200');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^interop-errors: 8 cases, \d+ expectations\n {2}wrong-key-to-rxe\n {4}ours\$ bad-reader /);
  });

  it('programs tells the options of every program', async () => {
    const { code, stdout } = await roce('programs');
    expect(code).toBe(0);
    expect(stdout).toMatch(/Usage: bad-reader /);
  });

  it('run starts no shell of this machine for a file of somebody else, whatever the file is called', async () => {
    const trace = join(directory, 'was-here');
    const hosts = {
      alice: { kind: 'namespace', addresses: ['10.0.0.1/24'] },
      bob: { kind: 'stack', addresses: ['10.0.0.2/24'] },
    };
    const run = [{ host: 'alice', command: `touch ${trace}; echo '\x1b[2J'` }];
    const path = file('first-steps', fileOf({ hosts, cases: [{ ...PING, run, expect: [] }] }));
    const { code, stdout, stderr } = await roce('run', path, '--out', join(directory, 'untrusted'));
    expect([code, stdout, existsSync(trace)]).toEqual([2, '', false]);
    expect(stderr).toBe(
      `roce experiment: will run on alice, a shell of this machine (sh -c, as root): touch ${trace}; echo '\\u001b[2J'\n` +
        `roce experiment: ${path} is not built in, and would run commands on this machine: read them above, then say --trust\n`,
    );
    expect(isBuiltIn(path)).toBe(false);
    expect(isBuiltIn('namespaces')).toBe(true);
  });

  itWith('netns', 'run does what a file of somebody else says with --trust', async () => {
    const hosts = {
      alice: { kind: 'namespace', addresses: ['10.0.0.1/24'] },
      bob: { kind: 'stack', addresses: ['10.0.0.2/24'] },
    };
    const cases = [
      { ...PING, run: [{ host: 'alice', command: 'echo here' }], expect: [{ run: 'alice', prints: 'here' }] },
    ];
    const path = file('trusted.json', fileOf({ hosts, cases }));
    const { code, stdout, stderr } = await roce('run', path, '--trust', '--out', join(directory, 'trusted'));
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^pass ping /)]);
    expect(stderr).toContain('will run on alice, a shell of this machine (sh -c, as root): echo here\n');
  });

  it('run leaves everything in a folder; one case alone when asked', async () => {
    const out = join(directory, 'out');
    const path = file('good.json', fileOf({ cases: [PING, { ...PING, name: 'other' }] }));
    const { code, stdout, stderr } = await roce('run', path, '--out', out, '--case', 'other');
    expect([
      code,
      stderr.replace(/^roce experiment: (?:(?:alice|bob): |display filters are not checked: |will run on ).*\n/gm, ''),
    ]).toEqual([0, '']);
    // A file that is not built in says what it does first.
    expect(stderr).toMatch(/^roce experiment: will run on bob, a program of ours in this process: rping -s /m);
    expect(stdout).toMatch(/^pass other \(\d+\.\d s\)\ntwo-stacks: as expected; see .*report\.md\n$/);
    expect(readFileSync(join(out, 'report.md'), 'utf8')).toContain('## other: as expected');
  });

  it('run ends with 1 when something is not as expected, and says what', async () => {
    const wrong = { ...PING, expect: [{ run: 'alice', prints: 'rdma-ping', count: 7 }] };
    const { code, stdout } = await roce(
      'run',
      file('bad.json', fileOf({ cases: [wrong] })),
      '--out',
      join(directory, 'bad'),
    );
    expect(code).toBe(1);
    expect(stdout).toMatch(/^FAIL ping \(.*\)\n {5}alice prints `rdma-ping`: 2, not 7\ntwo-stacks: NOT as expected; /);
  });

  it.each([
    [
      'a file that is not there',
      ['run', 'nowhere.json'],
      /^roce experiment: nowhere\.json: no such file, and none of /,
    ],
    ['a file that is no experiment', ['check', file('none.json', { ...fileOf(), title: 3 })], /none\.json: title: /],
    ['a case that is not there', ['run', 'first-steps', '--case', 'x'], /there is no case x; there is nothing-lost, /],
    ['a setting without a value', ['check', 'first-steps', '--set', 'kernel'], /name=value is expected/],
    ['a parameter that is not there', ['check', 'first-steps', '--set', 'a=b'], /There is no parameter a/],
    ['no subcommand it knows', ['frobnicate'], /unknown command 'frobnicate'/],
  ])('ends with 2 for %s', async (_what, words, message) => {
    const { code, stderr } = await roce(...words);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });
});
