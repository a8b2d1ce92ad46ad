/**
 * Goal: what programs of others send to a server of verbs, changed at random, breaks no promise of it. Method: 12,000
 * executions of the target `uverbs` from a seed, from its corpus and from recordings; figures are printed. Some forty
 * seconds.
 */
import { expect, it } from 'vitest';
import { buildTarget } from './engine/build.ts';
import { readCorpus } from './engine/corpus.ts';
import { Fuzzer } from './engine/fuzzer.ts';

const SEED = 17;
const RUNS = 12_000;

it('uverbs has no finding', async () => {
  const built = await buildTarget('uverbs');
  const fuzzer = new Fuzzer(built, SEED);
  for (const input of [...readCorpus('uverbs'), ...built.target.seeds()]) await fuzzer.add(input);
  const before = fuzzer.covered;
  await fuzzer.run({ runs: RUNS });
  expect([...fuzzer.findings.values()].map(({ stack }) => stack)).toEqual([]);
  console.log(`${fuzzer.executions} executions, ${before} then ${fuzzer.covered} of ${built.blocks} blocks`);
});
