/** What the regression tests share: a target's corpus is run once, and what it reaches is compared with the bounds. */
import { expect } from 'vitest';
import { buildTarget } from './engine/build.ts';
import { readCorpus } from './engine/corpus.ts';
import { Fuzzer } from './engine/fuzzer.ts';

/** What a corpus has to reach: so many blocks, and these outcomes among others. */
export interface Reach {
  readonly blocks: number;
  readonly outcomes: readonly string[];
}

/** Runs the corpus of `name` from the repository. @throws AssertionError for findings, and for what it does not reach */
export async function runCorpus(name: string, reach: Reach): Promise<void> {
  const built = await buildTarget(name);
  const fuzzer = new Fuzzer(built, 1);
  try {
    const corpus = readCorpus(name);
    expect(corpus.length).toBeGreaterThan(5);
    for (const input of corpus) await fuzzer.add(input);
    await fuzzer.settle();
  } finally {
    await built.target.close?.();
  }
  const faults = [...fuzzer.findings.values()].map(
    ({ stack, input }) => `${stack}\ninput ${Buffer.from(input).toString('base64')}`,
  );
  expect(faults).toEqual([]);
  expect([...fuzzer.outcomes.keys()]).toEqual(expect.arrayContaining([...reach.outcomes]));
  expect(fuzzer.covered).toBeGreaterThanOrEqual(reach.blocks);
}
