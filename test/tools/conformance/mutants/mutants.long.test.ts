/**
 * Goal: the rules catch bugs. Method: deliberate bugs are switched into a copy of the stack one at a time; every rule
 * that is said to catch one passes without it and is broken with it. Only those rules are run.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MUTANTS } from '../../../../tools/conformance/mutants/index.ts';
import { MutantFarm } from '../../../../tools/conformance/mutants/run.ts';

const caught = MUTANTS.filter(({ caughtBy }) => caughtBy.length > 0);

describe('a deliberate bug of the stack', () => {
  let farm: MutantFarm;

  beforeAll(async () => {
    farm = await MutantFarm.make();
  });
  afterAll(() => farm.remove());

  it('is none in the copy to begin with', async () => {
    const rules = [...new Set(caught.flatMap(({ caughtBy }) => caughtBy))];
    const verdicts = await farm.suite(rules.join(','));
    expect(verdicts.filter(({ verdict }) => verdict !== 'pass')).toEqual([]);
    expect(verdicts).toHaveLength(rules.length);
  });

  it.each(caught.map((mutant) => [mutant.id, mutant] as const))('%s is caught', async (_, mutant) => {
    const { failed, broken } = await farm.try(mutant, mutant.caughtBy.join(','));
    expect(broken).toBeUndefined();
    expect([...failed].sort()).toEqual([...mutant.caughtBy].sort());
  });
});
