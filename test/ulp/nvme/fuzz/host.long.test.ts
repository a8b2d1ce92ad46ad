/** The long share of `host.test.ts`: a hundred seeds, and what they came to. */
import { expect, it } from 'vitest';
import { fuzzHost } from './host-run.ts';

const SEEDS = 100;
const COMMANDS = 400;

it('a host lives with what a hundred hostile targets do', async () => {
  const failed: string[] = [];
  const sum = { commands: 0, acts: 0, connected: 0, failed: 0, done: 0, rejected: 0, others: 0 };
  for (let seed = 1000; seed < 1000 + SEEDS; seed++) {
    const report = await fuzzHost(seed, COMMANDS);
    for (const finding of report.findings) failed.push(`seed ${seed}: ${finding}`);
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += report[name];
  }
  const words = Object.entries(sum).map(([name, count]) => `${count} ${name}`);
  console.log(`${SEEDS} seeds: ${words.join(', ')}`);
  expect(failed).toEqual([]);
});
