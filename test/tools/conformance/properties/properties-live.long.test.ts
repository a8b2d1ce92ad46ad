/**
 * Goal: what rdma_rxe does otherwise than the model is known. Method: 500 sequences of every property against a guest,
 * under the profile of its kernel, whose switches are the deviations of the registry. What differs beyond them fails
 * with the shortest sequence. A sequence that proves nothing on a slow machine is counted, and one that a known
 * deviation ended early: few may be.
 */

import { expect, it } from 'vitest';
import { defined } from '../../../../packets/defined.ts';
import { LabDut } from '../../../../tools/conformance/duts/lab.ts';
import { profileOf } from '../../../../tools/conformance/properties/command.ts';
import { PROPERTIES } from '../../../../tools/conformance/properties/properties.ts';
import { runProperties } from '../../../../tools/conformance/properties/run-properties.ts';
import { testerSubject } from '../../../../tools/conformance/properties/tester-subject.ts';
import { describeWith } from '../../../support/need.ts';

const RUNS = 500;
/** Of one property: four times what the slowest takes. */
const BUDGET_MS = 500_000;

describeWith(['lab', 'compiler'], 'rdma_rxe of Linux 6.12', () => {
  it(`holds ${RUNS} sequences of every property, but for what is known`, async () => {
    const dut = await LabDut.open({ kernel: '6.12' });
    try {
      const play = (only?: readonly string[]) =>
        runProperties({
          subject: testerSubject(dut, 1),
          profile: profileOf(dut),
          ...{ runs: RUNS, seed: 1, budgetMs: BUDGET_MS },
          ...defined({ only }),
        });
      const first = await play();
      const broken = first.flatMap(({ property, counterexample }) => (counterexample === undefined ? [] : [property]));
      // A guest that was not given its processor for a while does odd things: a fresh one has to do them too.
      if (broken.length > 0) await dut.renew(broken.join(', '));
      const again = broken.length > 0 ? await play(broken) : [];
      const reports = first.map((report) => again.find(({ property }) => property === report.property) ?? report);
      const told = reports.map(({ counterexample: one }) => one && [one.ruleId, one.difference, ...one.lines]);
      expect(told).toEqual(PROPERTIES.map(() => undefined));
      expect(reports.map(({ killed }) => killed)).toEqual(PROPERTIES.map(() => undefined));
      for (const { property, runs, inconclusive, astray, packets } of reports) {
        expect(runs).toBe(RUNS);
        expect(packets).toBeGreaterThan(RUNS);
        expect(inconclusive).toBeLessThanOrEqual(RUNS / 50);
        expect(astray, property).toBeLessThanOrEqual(RUNS / 10);
      }
    } finally {
      await dut.close();
    }
  });
});
