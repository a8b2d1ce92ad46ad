/** The long share of `target.test.ts`: two hundred seeds, and what their capsules came to. */
import { expect, it } from 'vitest';
import { STATUS_CODE_MASK, statusName } from '../../../../src/ulp/nvme/index.ts';
import { type FuzzReport, fuzzTarget } from './target-run.ts';

const SEEDS = 200;
const CAPSULES = 500;

it('a target lives with what two hundred hostile hosts send', async () => {
  const failed: string[] = [];
  const sum = { capsules: 0, answered: 0, torn: 0, connections: 0, refused: 0, authentications: 0, others: 0 };
  const statuses = new Map<number, number>();
  for (let seed = 1000; seed < 1000 + SEEDS; seed++) {
    const report: FuzzReport = await fuzzTarget(seed, CAPSULES);
    for (const finding of report.findings) failed.push(`seed ${seed}: ${finding}`);
    for (const name of keysOf(sum)) sum[name] += report[name];
    for (const [status, count] of report.statuses) statuses.set(status, (statuses.get(status) ?? 0) + count);
  }
  const words = Object.entries(sum).map(([name, count]) => `${count} ${name}`);
  const ended = [...statuses]
    .sort((a, b) => b[1] - a[1])
    .map(([status, count]) => `${count} ${statusName(status & STATUS_CODE_MASK)}`);
  console.log(`${SEEDS} seeds: ${words.join(', ')}\n${ended.join(', ')}`);
  expect(failed).toEqual([]);
  expect(statuses.size).toBeGreaterThan(20);
});

function keysOf<T extends object>(of: T): (keyof T)[] {
  return Object.keys(of) as (keyof T)[];
}
