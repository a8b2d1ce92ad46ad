/**
 * Goal: every bench runs and reports in the shape that `--json` promises; ratios and goals are computed rightly.
 * Nothing here looks at how fast anything is. Method: the command in a process of its own with a thousandth of the
 * work; the arithmetic by itself.
 */
import { describe, expect, it } from 'vitest';
import { contest, median, scaled } from '../../tools/bench/bench.ts';
import { formatBytes, formatTable, grouped } from '../../tools/table.ts';
import { useWhereThere } from '../support/need.ts';
import { BENCH_NAMES, benchRows, expectBenchRow, runBench } from './bench-rows.ts';

describe('npm run bench', () => {
  useWhereThere('tshark');
  useWhereThere('chromium');
  useWhereThere('middleware');
  useWhereThere('netns');

  it('prints one JSON object for each bench', () => {
    // Those of NVMe take a pair of processes each, and are in `bench.long.test.ts`.
    const names = BENCH_NAMES.filter((name) => !name.startsWith('nvme-'));
    const rows = benchRows(...names.flatMap((name) => ['--only', name]));
    expect(rows.map(({ name }) => name)).toEqual(names);
    for (const row of rows) expectBenchRow(row);
    // It starts tshark, Chromium and programs of others, one after the other.
  }, 300_000);

  it('names them in its help', () => {
    const { stdout } = runBench('--help');
    expect(stdout.replace(/\s+/g, ' ')).toContain(BENCH_NAMES.join(', '));
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
