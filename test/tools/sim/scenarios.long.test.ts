/**
 * Goal: every scenario that is built in shows what it says. Method: each is run with its own seed, and every verdict
 * has to pass; the
 * training step has fewer hosts. Most of the time goes to the three with endless flows over a tenth of a second and more.
 */
import { describe, expect, it } from 'vitest';
import { installBulkCrc32 } from '../../../src/node/bulk-crc32.ts';
import { execute } from '../../../tools/sim/run/execute.ts';
import { parseSetting, planRuns } from '../../../tools/sim/run/plan.ts';
import { builtInNames, readScenario } from '../../../tools/sim/scenario/load.ts';

/** Of those that take a quarter of an hour. */
const SMALLER: Readonly<Record<string, readonly string[]>> = {
  'training-step': ['topology.leaves=4', 'traffic[0].hosts=64', 'traffic[0].bytes=67108864'],
};

describe('the scenario', () => {
  it.each(builtInNames())('%s is as expected', (name) => {
    installBulkCrc32();
    const [run] = planRuns((SMALLER[name] ?? []).map(parseSetting), [], []);
    const job = {
      file: readScenario(name),
      run: run ?? { index: 0, seed: 1, settings: [] },
      runs: 1,
      version: '',
      only: [],
      details: false,
    };
    const { record } = execute(job, () => {});
    expect(record.error).toBeUndefined();
    expect(record.verdicts.length).toBeGreaterThan(0);
    expect(record.verdicts.filter(({ passed }) => !passed)).toEqual([]);
  });
});
