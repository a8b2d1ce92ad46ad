/**
 * Goal: every bench runs and reports in the shape that `--json` promises; ratios and goals are computed rightly.
 * Nothing here looks at how fast anything is. Method: the command in a process of its own with a thousandth of the
 * work; the arithmetic by itself.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { contest, median, scaled } from '../../tools/bench/bench.ts';
import { formatBytes, formatTable, grouped } from '../../tools/table.ts';
import { useWhereThere } from '../support/need.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

function runBench(...args: readonly string[]): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', 'tools/bench/run.ts', ...args], {
    cwd: ROOT,
    encoding: 'utf8',
    env: { ...process.env, BENCH_QUICK: '1' },
  });
  return { code: status, stdout, stderr };
}

describe('npm run bench', () => {
  useWhereThere('tshark');
  useWhereThere('chromium');
  useWhereThere('middleware');
  useWhereThere('netns');

  it('prints one JSON object for each bench', () => {
    const { code, stdout, stderr } = runBench('--json');
    expect(stderr).toBe('');
    // A goal may be missed by so little work; a crash is another code.
    expect([0, 1]).toContain(code);
    const rows: unknown[] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rows.map((row) => (row as { name: string }).name)).toEqual([
      'decode',
      'encode',
      'write',
      'many-qps',
      'idle-qp',
      'fabric-incast',
      'fabric-pauses',
      'fabric-calibration',
      'fabric-flows',
      'fabric-hosts',
      'analyze',
      'analyze-one-thread',
      'analyze-queue-pairs',
      'analyze-memory',
      'explorer-open',
      'explorer-scroll',
      'explorer-filter',
      'verbs-write',
      'verbs-wire',
      'verbs-events',
      'verbs-polling',
      'verbs-doorbell',
      'nvme-read',
      'nvme-rate',
      'nvme-latency',
      'nvme-cpu',
      'nvme-memory',
      'nvme-nbd',
    ]);
    for (const row of rows) {
      if (typeof row === 'object' && row !== null && 'skipped' in row) {
        expect(row).toEqual({
          name: expect.stringMatching(/^decode$|^analyze|^explorer-|^verbs-|^nvme-/),
          skipped: expect.stringMatching(
            /tshark|chromium|perftest|network namespace|(ip|ethtool) is missing|is not installed|^ip cannot|qemu-/,
          ),
        });
        continue;
      }
      expect(row).toEqual({
        name: expect.any(String),
        value: expect.any(Number),
        unit: expect.any(String),
        peer: expect.any(String),
        peerValue: expect.any(Number),
        ratio: expect.any(Number),
        goal: expect.stringMatching(/^([<>]= \d+(\.\d+)?)?$/),
        met: expect.toSatisfy((met) => met === null || typeof met === 'boolean'),
      });
    }
  });

  it('runs the benches asked for and prints a table', () => {
    const { stdout } = runBench('--only', 'encode', '--only', 'idle-qp');
    const lines = stdout.trim().split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/bench +ours +peer +ratio +goal/);
    expect(lines[1]).toContain('encode');
    expect(lines[2]).toMatch(/idle-qp .* bytes .* budget .* <= 1/);
  });

  it('ends with 2 when there is no such bench', () => {
    const { code, stderr } = runBench('--only', 'nonsense');
    expect(code).toBe(2);
    expect(stderr).toContain('nonsense');
  });
});

describe('contest', () => {
  const settings = { rounds: 5, scale: 1 };

  it('takes turns and gives the medians, and the median of the ratios', async () => {
    const turns: string[] = [];
    const ours = [99, 10, 20, 30, 40, 50];
    const theirs = [99, 1, 20, 2, 20, 5];
    const row = await contest('x', settings, {
      unit: 'things/s',
      peer: 'theirs',
      goal: { sense: '>=', ratio: 10 },
      ours: () => {
        turns.push('ours');
        return ours.shift() ?? 0;
      },
      theirs: async () => {
        turns.push('theirs');
        return theirs.shift() ?? 0;
      },
    });
    expect(row).toEqual({
      name: 'x',
      value: 30,
      unit: 'things/s',
      peer: 'theirs',
      peerValue: 5,
      ratio: 10,
      goal: '>= 10',
      met: true,
    });
    expect(turns).toEqual(Array.from({ length: 12 }, (_, turn) => (turn % 2 === 0 ? 'ours' : 'theirs')));
  });

  it('misses a goal that asks for less than there is, and has none when none is given', async () => {
    const sides = { unit: 'ns', peer: 'p', ours: () => 21, theirs: () => 10 };
    expect(await contest('x', settings, { ...sides, goal: { sense: '<=', ratio: 2 } })).toMatchObject({ met: false });
    expect(await contest('x', settings, { ...sides, goal: { sense: '<=', ratio: 2.1 } })).toMatchObject({ met: true });
    expect(await contest('x', settings, sides)).toMatchObject({ goal: '', met: null, ratio: 2.1 });
  });

  it('scales work down to a least amount', () => {
    expect(scaled(1000, { rounds: 1, scale: 0.5 })).toBe(500);
    expect(scaled(1000, { rounds: 1, scale: 0.0001 }, 7)).toBe(7);
    expect([median([3, 1, 2]), median([4, 1, 2, 3]), median([5])]).toEqual([2, 2.5, 5]);
  });
});

describe('tables', () => {
  it('are as wide as their widest cells', () => {
    expect(
      formatTable(
        ['a', 'bb'],
        [
          ['xxx', '1'],
          ['y', '1000'],
        ],
        ['left', 'right'],
      ),
    ).toEqual(['  a      bb', '  xxx     1', '  y    1000']);
  });

  it('group digits and name sizes', () => {
    expect([0, 999, 1000, 1234567].map(grouped)).toEqual(['0', '999', '1,000', '1,234,567']);
    const sizes = [0, 1, 1024, 1025, 65536, 1048576, 3145728];
    expect(sizes.map(formatBytes)).toEqual(['0 B', '1 B', '1 KiB', '1025 B', '64 KiB', '1 MiB', '3 MiB']);
  });
});
