/**
 * Goal: a search of some hundred inputs beyond the corpus finds nothing. Method: `npm run fuzz` of every target that
 * needs no program, bounded by executions and seeded, so that a finding comes again.
 */
import { expect, it } from 'vitest';
import { buildTarget } from './engine/build.ts';
import { readCorpus } from './engine/corpus.ts';
import { Fuzzer } from './engine/fuzzer.ts';
import { NEEDS, TARGETS } from './targets.ts';

const SEED = 20_261_123;
const RUNS = 500;

it.each(Object.keys(TARGETS).filter((name) => !Object.hasOwn(NEEDS, name)))('%s has no finding', async (name) => {
  const fuzzer = new Fuzzer(await buildTarget(name), SEED);
  for (const input of readCorpus(name)) await fuzzer.add(input);
  await fuzzer.run({ runs: RUNS });
  expect([...fuzzer.findings.values()].map(({ stack }) => stack)).toEqual([]);
  expect(fuzzer.executions).toBeGreaterThan(RUNS);
});
