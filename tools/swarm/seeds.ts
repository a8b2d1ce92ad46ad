/**
 * One seed of the swarm, run and judged, as a line that stands for itself, and many of them summed up. Owns the fields
 * of the line: the same seed gives the same bytes on every machine.
 */
import { z } from 'zod';
import { drawLadder } from '../ladder/index.ts';
import { runScenario } from './run.ts';
import { scenarioOf } from './scenario.ts';
import { shrink } from './shrink.ts';
import type { HuntState } from './state.ts';

const schema = z.strictObject({
  seed: z.int().min(0),
  frames: z.int(),
  virtualNs: z.number(),
  /** Names of counters that were not 0. */
  counters: z.array(z.string()),
  /** Of every frame. */
  digest: z.string(),
  /** Where there were problems: the smallest scenario found that has some, and its last frames. */
  failure: z
    .strictObject({ problems: z.array(z.string()), scenario: z.json(), ladder: z.array(z.string()) })
    .exactOptional(),
});
export type SeedResult = z.infer<typeof schema>;

export async function runSeed(seed: number): Promise<SeedResult> {
  const { problems, frames, virtualNs, counters, digest } = await runScenario(scenarioOf(seed));
  const result: SeedResult = { seed, frames, virtualNs, counters: [...counters], digest };
  return problems.length === 0 ? result : { ...result, failure: await failureOf(seed) };
}

async function failureOf(seed: number): Promise<NonNullable<SeedResult['failure']>> {
  const fails = async (candidate: ReturnType<typeof scenarioOf>): Promise<boolean> =>
    (await runScenario(candidate)).problems.length > 0;
  const scenario = await shrink(scenarioOf(seed), fails);
  const { problems, ladder } = await runScenario(scenario);
  const plain = z.json().parse(JSON.parse(JSON.stringify(scenario)));
  return { problems: [...problems], scenario: plain, ladder: drawLadder(ladder(), { left: 'a', right: 'b' }) };
}

/** @throws an Error of zod or of JSON for a line that is none */
export function parseSeedResult(line: string): SeedResult {
  return schema.parse(JSON.parse(line));
}

/** Adds a seed to the totals. */
export function addSeed(state: HuntState, { seed, frames, virtualNs, counters, failure }: SeedResult): void {
  state.next = seed + 1;
  state.seeds += 1;
  state.frames += frames;
  state.virtualSeconds += virtualNs / 1e9;
  for (const name of counters) state.counters[name] = (state.counters[name] ?? 0) + 1;
  if (failure !== undefined) state.failed.push(seed);
}
