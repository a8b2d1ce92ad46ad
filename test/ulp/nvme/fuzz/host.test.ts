/**
 * Goal: whatever a target sends, with right ICRCs, each call of our host ends, no memory of the caller's is touched that
 * was not lent, another controller goes on, and nothing is left. Method: seeded runs in the simulated world
 * (`host-run.ts`); a seed that fails fails again.
 */
import { expect, it } from 'vitest';
import { fuzzHost } from './host-run.ts';

it.each([3, 8])('a host lives with what a hostile target does, seed %i', async (seed) => {
  const { findings, commands, acts, done, rejected, others } = await fuzzHost(seed, 120);
  expect(findings, `seed ${seed}`).toEqual([]);
  expect(commands).toBeGreaterThanOrEqual(120);
  expect(Math.min(acts, done, rejected, others)).toBeGreaterThan(0);
});
