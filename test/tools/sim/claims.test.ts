/**
 * Goal: the two claims hold in the variants they are about. Method: the scenarios that are built in, judged by what
 * they expect. All scenarios with all variants: scenarios.long.test.ts.
 */
import { describe, expect, it } from 'vitest';
import { installBulkCrc32 } from '../../../src/node/bulk-crc32.ts';
import { execute } from '../../../tools/sim/run/execute.ts';
import { planRuns } from '../../../tools/sim/run/plan.ts';
import { readScenario } from '../../../tools/sim/scenario/load.ts';

describe('the claim of', () => {
  it.each([
    ['lossy-vs-lossless', ['lossy', 'pfc-ecn'], 8],
    ['infiniband-vs-roce', ['infiniband', 'roce'], 10],
  ])('%s holds between %o', (name, only, verdicts) => {
    installBulkCrc32();
    const [run] = planRuns([], [], []);
    const job = {
      file: readScenario(name),
      run: run ?? { index: 0, seed: 1, settings: [] },
      runs: 1,
      version: '',
      only,
      details: false,
    };
    const { record } = execute(job, () => {});
    expect(record.error).toBeUndefined();
    expect(record.verdicts).toHaveLength(verdicts);
    expect(record.verdicts.filter(({ passed }) => !passed)).toEqual([]);
  });
});
