/**
 * One search: a target and a seed, as a line that stands for itself. Owns the fields of the line. With a bound in
 * executions the same case gives the same bytes on every machine: stacks name folders of a machine and are not in it.
 */
import { z } from 'zod';
import { buildTarget } from './engine/build.ts';
import { readCorpus, writeCorpus } from './engine/corpus.ts';
import { Fuzzer, type FuzzLimits } from './engine/fuzzer.ts';

const schema = z.strictObject({
  target: z.string(),
  seed: z.int(),
  executions: z.int(),
  /** Inputs that reached something new. */
  corpus: z.int(),
  covered: z.int(),
  blocks: z.int(),
  /** Each with its input in Base64. */
  findings: z.array(z.strictObject({ signature: z.string(), input: z.string() })),
  /** How often each outcome came, the most frequent first. */
  outcomes: z.record(z.string(), z.int()),
});
export type FuzzResult = z.infer<typeof schema>;

export interface FuzzCase {
  readonly name: string;
  readonly seed: number;
}

export interface SearchOptions extends FuzzLimits {
  /** The folder of corpora. */
  readonly corpus: string;
  readonly keep: boolean;
}

export interface Search {
  readonly result: FuzzResult;
  readonly perSecond: number;
  /** Of each finding. */
  readonly stacks: readonly string[];
}

export async function search({ name, seed }: FuzzCase, { corpus, keep, ...limits }: SearchOptions): Promise<Search> {
  const built = await buildTarget(name);
  const fuzzer = new Fuzzer(built, seed);
  watch(fuzzer);
  for (const input of [...readCorpus(name, corpus), ...built.target.seeds()]) await fuzzer.add(input);
  const [before, startedAt] = [fuzzer.executions, performance.now()];
  await fuzzer.run(limits);
  const perSecond = Math.round(((fuzzer.executions - before) / (performance.now() - startedAt)) * 1000);
  const { executions, covered } = fuzzer;
  if (keep) writeCorpus(name, await fuzzer.minimized(), corpus);
  await built.target.close?.();
  const found = [...fuzzer.findings.values()];
  const findings = found.map(({ signature, input }) => ({ signature, input: Buffer.from(input).toString('base64') }));
  const outcomes = Object.fromEntries([...fuzzer.outcomes].sort((a, b) => b[1] - a[1]));
  const figures = { executions, corpus: fuzzer.corpus.length, covered, blocks: built.blocks };
  return {
    result: { target: name, seed, ...figures, findings, outcomes },
    perSecond,
    stacks: found.map(({ stack }) => stack),
  };
}

/** What escapes from promises and event handlers is a finding, too. */
export function watch(fuzzer: Fuzzer): void {
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.removeAllListeners(event);
    process.on(event, (error: unknown) => {
      fuzzer.escaped = error instanceof Error ? error : new Error(String(error));
    });
  }
}

/** @throws an Error of zod or of JSON for a line that is none */
export function parseFuzzResult(line: string): FuzzResult {
  return schema.parse(JSON.parse(line));
}
