/**
 * Goal: nothing that an attacker sends harms what honest hosts do with each other, beyond what its knowledge allows
 * (issue: hostile network, "swarm with a third party"; docs/reference/hostile.md sections 2 and 3). Method: one
 * simulated world for each seed, judged by the oracle of tools/swarm/run.ts; the first seeds, and the corpus of those
 * that raised rare counters or failed once. More of them: swarm.long.test.ts, and `npm run swarm`.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runScenario } from '../../../tools/swarm/run.ts';
import { type Scenario, scenarioOf } from '../../../tools/swarm/scenario.ts';
import { shrink } from '../../../tools/swarm/shrink.ts';
import { failuresOf } from './failures.ts';

const CORPUS: readonly number[] = JSON.parse(
  readFileSync(new URL('../../../tools/swarm/corpus.json', import.meta.url), 'utf8'),
);

it('honest hosts are safe from the attackers of 150 seeds', async () => {
  expect(await failuresOf(Array.from({ length: 150 }, (_, i) => i + 1))).toEqual([]);
});

it('honest hosts are safe from the attackers of the corpus', async () => {
  expect(await failuresOf(CORPUS)).toEqual([]);
});

it('the same seed gives the same bytes, another seed others', async () => {
  for (const seed of [3, 6, 150]) {
    const [first, second, other] = [seed, seed, seed + 1].map((n) => runScenario(scenarioOf(n)));
    const digest = (await first)?.digest;
    expect((await second)?.digest).toBe(digest);
    expect((await other)?.digest).not.toBe(digest);
  }
});

it('a failure shrinks to the axes that it needs', async () => {
  const fails = ({ services, attack }: Scenario): Promise<boolean> =>
    Promise.resolve(services.includes('rc') && attack.acts.includes('neighbours'));
  const smallest = await shrink(scenarioOf(4), fails);
  expect(smallest).toMatchObject({ services: ['rc'], work: 1, ipVersion: 4, mtu: 256, dcqcn: false, firstPsn: 0 });
  expect(smallest).toMatchObject({ stream: false, tight: false });
  expect(smallest.attack).toMatchObject({ acts: ['neighbours'], misses: [], violations: [], frames: 0 });
});
