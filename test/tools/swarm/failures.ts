/** Runs seeds of the swarm and keeps what failed: one line a seed, to be run again by `npm run swarm -- --seeds N`. */
import { runScenario } from '../../../tools/swarm/run.ts';
import { scenarioOf } from '../../../tools/swarm/scenario.ts';

export async function failuresOf(seeds: readonly number[]): Promise<string[]> {
  const failures: string[] = [];
  for (const seed of seeds) {
    const { problems } = await runScenario(scenarioOf(seed));
    if (problems.length > 0) failures.push(`seed ${seed}: ${problems.join('; ')}`);
  }
  return failures;
}
