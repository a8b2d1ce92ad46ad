/**
 * Goal: two revisions are compared by pairs, whatever a figure's sense is, and the command leaves nothing behind.
 * Nothing here looks at how fast anything is. Method: the arithmetic by itself; the command in a process of its own,
 * this clone beside its own last commit, with a thousandth of the work.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { compare, comparisonTable } from '../../tools/bench/compare/comparison.ts';
import { checkOut, isPackage } from '../../tools/bench/compare/revision-tree.ts';
import { describeWith } from '../support/need.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

describe('a comparison', () => {
  it('is the median of the ratios of pairs, not the ratio of medians', () => {
    const row = compare({ name: 'x', unit: 'packets/s', before: [100, 10, 1000], after: [110, 12, 1050] });
    expect(row).toEqual({
      name: 'x',
      unit: 'packets/s',
      before: 100,
      after: 110,
      better: 1.1,
      low: 1.05,
      high: 1.2,
      pairs: 3,
    });
  });

  it.each([
    ['packets/s', 2],
    ['a second', 2],
    ['MiB/s', 2],
    ['ns/packet', 0.5],
    ['bytes', 0.5],
    ['s', 0.5],
    ['MiB', 0.5],
  ])('of twice as many %s is %d times as good', (unit, better) => {
    expect(compare({ name: 'x', unit, before: [4], after: [8] }).better).toBe(better);
  });

  it('leaves the best and the worst quarter of the pairs out of its spread', () => {
    const before = Array.from({ length: 8 }, () => 1);
    const after = [9, 1, 1.1, 1.2, 0.1, 0.9, 1, 1.05];
    expect(compare({ name: 'x', unit: 'a second', before, after })).toMatchObject({ low: 1, high: 1.1, pairs: 8 });
  });

  it.each([
    [[1.2, 1.3, 1.1, 1.2], 'BETTER'],
    [[0.8, 0.7, 0.9, 0.8], 'WORSE'],
    // Both sides of 1.
    [[1.2, 1.3, 0.9, 1.2, 0.8], ''],
    // All better, and by less than processes differ.
    [[1.02, 1.01, 1.02, 1.02], ''],
    [[0.98, 0.99, 0.98, 0.98], ''],
    // Two are not enough.
    [[0.5, 0.5], ''],
  ])('of the ratios %j is told as "%s"', (after, told) => {
    const row = compare({ name: 'x', unit: 'a second', before: after.map(() => 1), after });
    expect(comparisonTable([row], 'old', 'new')[1]?.split(/ {2,}/).slice(7).join()).toBe(told);
  });
});

describe('the packages of a revision', () => {
  it.each([
    ['tsx', true],
    ['@biomejs', true],
    ['.bin', true],
    // Pages that were built here.
    ['.cache', false],
    ['.vite', false],
    ['.vite-temp', false],
    ['.package-lock.json', false],
    ['rocev2', false],
    ['rocev2-tools', false],
  ])('that are of this clone: %s, %s', (name, taken) => {
    expect(isPackage(name)).toBe(taken);
  });
});

describeWith('clone', 'npm run bench -- --compare', () => {
  const run = (...args: readonly string[]) =>
    spawnSync(process.execPath, ['--import', 'tsx', 'tools/bench/run.ts', ...args], {
      cwd: ROOT,
      encoding: 'utf8',
      env: { ...process.env, BENCH_QUICK: '1' },
    });
  const trees = () => spawnSync('git', ['worktree', 'list'], { cwd: ROOT, encoding: 'utf8' }).stdout;

  it('measures both revisions in turns and removes its work tree', () => {
    const before = trees();
    const { status, stdout, stderr } = run('--compare', 'HEAD', '--pairs', '1', '--only', 'encode');
    expect({ status, stderr }).toMatchObject({ status: 0 });
    const [heading, row, ...rest] = stdout.trimEnd().split('\n');
    expect(heading).toMatch(/^ {2}bench +[0-9a-f]{7,} +here +better +quartiles +pairs$/);
    expect(row).toMatch(/^ {2}encode +\S+ (k |M )?packets\/s +\S+ (k |M )?packets\/s +\d+\.\d{3} +\S+ to \S+ +1/);
    expect(rest).toEqual([]);
    expect(trees()).toBe(before);
  }, 60_000);

  it('checks a revision out without what this clone has built', () => {
    const { folder, remove } = checkOut('HEAD');
    try {
      const modules = join(folder, 'node_modules');
      expect({ tsx: existsSync(join(modules, 'tsx')), cache: existsSync(join(modules, '.cache')) }).toEqual({
        tsx: true,
        cache: false,
      });
    } finally {
      remove();
    }
  });

  it('ends with 2 where there is no such revision, and says so', () => {
    const { status, stderr } = run('--compare', 'no-such-revision', '--only', 'encode');
    expect(status).toBe(2);
    expect(stderr).toMatch(/no-such-revision/);
  });

  it('ends with 2 where no pairs are asked for', () => {
    expect(run('--compare', 'HEAD', '--pairs', '0')).toMatchObject({ status: 2, stdout: '' });
  });
});
