/**
 * Goal: whatever a host sends, with right ICRCs, our target answers with a status that the specifications name or ends
 * the queue, touches nothing but what was addressed, serves another host all the time, and keeps nothing. Method:
 * seeded runs in the simulated world (`target-run.ts`); a seed that fails fails again.
 */
import { expect, it } from 'vitest';
import { fuzzTarget } from './target-run.ts';

it.each([24, 36, 39])('a target lives with what a hostile host sends, seed %i', async (seed) => {
  const { findings, capsules, answered, torn, others } = await fuzzTarget(seed, 100);
  expect(findings, `seed ${seed}`).toEqual([]);
  expect(capsules).toBeGreaterThanOrEqual(100);
  // It is no fuzz of a target that refuses everything, or of a host that is never heard.
  expect(answered).toBeGreaterThan(40);
  expect(Math.min(torn, others)).toBeGreaterThan(0);
});

it('sends the same bytes with the same seed', async () => {
  expect(await fuzzTarget(7, 40)).toEqual(await fuzzTarget(7, 40));
});
