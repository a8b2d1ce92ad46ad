/**
 * Goal: 10,000 sequences of every property hold on our stack. Method: the device in-process; FC_RUNS and FC_SEED of the
 * environment change how many and which.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { InProcessDut } from '../../../../tools/conformance/duts/in-process.ts';
import { PROFILES } from '../../../../tools/conformance/model/profiles.ts';
import { PROPERTIES } from '../../../../tools/conformance/properties/properties.ts';
import { runProperties } from '../../../../tools/conformance/properties/run-properties.ts';
import { testerSubject } from '../../../../tools/conformance/properties/tester-subject.ts';
import { fcRuns } from '../../../transport/support/peer.ts';

const dut = new InProcessDut({ seed: 9 });
afterAll(() => dut.close());
const RUNS = fcRuns(10_000);
const { FC_SEED = '20' } = process.env;

describe('our stack', () => {
  it.each(PROPERTIES.map(({ name }) => name))('holds %s at length', async (name) => {
    const subject = testerSubject(dut, 9);
    const [report] = await runProperties({
      subject,
      profile: PROFILES.strict,
      runs: RUNS,
      seed: Number(FC_SEED),
      only: [name],
    });
    expect(report?.counterexample?.lines).toBeUndefined();
    expect(report).toMatchObject({ property: name, runs: RUNS, inconclusive: 0, astray: 0, cutShort: false });
  });
});
