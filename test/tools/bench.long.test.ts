/** Goal: the benches that take pairs of processes run and report, too. Method: as `bench.test.ts`. */
import { describe, expect, it } from 'vitest';
import { useWhereThere } from '../support/need.ts';
import { BENCH_NAMES, benchRows, expectBenchRow } from './bench-rows.ts';

describe('npm run bench over NVMe', () => {
  useWhereThere('netns');

  it('prints one JSON object for each bench', () => {
    const names = BENCH_NAMES.filter((name) => name.startsWith('nvme-'));
    const rows = benchRows(...names.flatMap((name) => ['--only', name]));
    expect(rows.map(({ name }) => name)).toEqual(names);
    for (const row of rows) expectBenchRow(row);
  });
});
