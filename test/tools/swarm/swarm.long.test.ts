/**
 * Goal: as swarm.test.ts, with 10,000 seeds.
 */
import { expect, it } from 'vitest';
import { failuresOf } from './failures.ts';

const COUNT = 10_000;

it('honest hosts are safe from the attackers of 10,000 seeds', async () => {
  expect(await failuresOf(Array.from({ length: COUNT }, (_, i) => 1001 + i))).toEqual([]);
}, 600_000);
