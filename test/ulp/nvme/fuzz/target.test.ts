import { expect, it } from 'vitest';
import { fuzzTarget } from './target-run.ts';
const SEEDS = (process.env['S'] ?? '1').split(',').map(Number);
it.each(SEEDS)('seed %i', async (seed) => {
  const t = performance.now();
  const report = await fuzzTarget(seed, Number(process.env['N'] ?? 300));
  console.log(JSON.stringify({ ...report, statuses: [...report.statuses].map(([k, v]) => [k.toString(16), v].join(':')).join(' ') }), performance.now() - t);
  expect(report.findings).toEqual([]);
});
