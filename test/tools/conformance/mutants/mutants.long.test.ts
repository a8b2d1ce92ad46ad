/**
 * Goal: the rules catch bugs. Method: deliberate bugs are switched into a copy of the transport one at a time; every
 * rule that is said to catch one passes without it and is broken with it.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MUTANTS } from '../../../../tools/conformance/mutants/index.ts';
import { MutantFarm } from '../../../../tools/conformance/mutants/run.ts';

describe('a deliberate bug of the transport', () => {
  let farm: MutantFarm;

  beforeAll(async () => {
    farm = await MutantFarm.make();
  });
  afterAll(() => farm.remove());

  it('is none in the copy to begin with', async () => {
    const rules = [...new Set(MUTANTS.flatMap(({ caughtBy }) => caughtBy))];
    const result = await farm.suite(rules.join(','));
    expect(result.rules.filter(({ verdict }) => verdict !== 'pass')).toEqual([]);
    expect(result.rules).toHaveLength(rules.length);
  });

  it.each(MUTANTS.map((mutant) => [mutant.id, mutant] as const))('%s is caught', async (_, mutant) => {
    const { failed, broken } = await farm.try(mutant);
    expect(broken).toBeUndefined();
    expect([...failed].sort()).toEqual([...mutant.caughtBy].sort());
  });
});
