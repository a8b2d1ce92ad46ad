/**
 * Goal: our responder holds its properties. Method: the device in-process, a fixed seed.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { InProcessDut } from '../../../../tools/conformance/duts/in-process.ts';
import { PROFILES } from '../../../../tools/conformance/model/profiles.ts';
import { runProperties } from '../../../../tools/conformance/properties/run-properties.ts';
import { testerSubject } from '../../../../tools/conformance/properties/tester-subject.ts';
import { fcRuns } from '../../../transport/support/peer.ts';

const dut = new InProcessDut({ seed: 7 });
afterAll(() => dut.close());
const subject = testerSubject(dut, 7);
const NAMES = ['responder-sequences', 'responder-duplicates', 'responder-faults'] as const;

describe('our responder', () => {
  it.each(NAMES)('holds %s', async (name) => {
    const options = { subject, profile: PROFILES.strict, runs: fcRuns(300), seed: 42, only: [name] };
    const [report] = await runProperties(options);
    expect(report?.counterexample?.lines).toBeUndefined();
    expect(report).toMatchObject({ property: name, runs: fcRuns(300), inconclusive: 0, astray: 0, cutShort: false });
    expect(report?.packets).toBeGreaterThan(fcRuns(300));
  });
});
