/**
 * Goal: our own stack keeps every rule, and every case can tell. Method: each case of an area against a device of ours
 * in virtual time, once for each starting PSN it asks for. A variation needs a justification here: the rule's id and
 * why it is right.
 */

import { describe, expect, it } from 'vitest';
import { defined } from '../../../../packets/defined.ts';
import { InProcessDut } from '../../../../tools/conformance/duts/in-process.ts';
import { findRule } from '../../../../tools/conformance/rules/index.ts';
import { runCase } from '../../../../tools/conformance/runner/run-case.ts';
import { sweepPsns } from '../../../../tools/conformance/runner/sweep.ts';
import type { Case } from '../../../../tools/conformance/tester/case.ts';

/** Verdicts other than a pass that are right for our own stack, by rule: part of the reason that is given. */
export type Justified = Readonly<Record<string, string>>;

const SEED = 20_260_101;

export function describeCases(area: string, cases: readonly Case[], justified: Justified = {}): void {
  describe(`conformance of our stack: ${area}`, () => {
    it('has cases', () => expect(cases.length).toBeGreaterThan(0));
    for (const one of cases) {
      for (const psn of sweepPsns(one)) {
        const name = [
          one.rules.join(', '),
          one.title,
          psn === undefined ? undefined : `from PSN 0x${psn.toString(16)}`,
        ];
        it(name.filter((word) => word !== undefined).join(': '), async () => {
          const dut = new InProcessDut({ seed: SEED });
          const run = await runCase(dut, one, { seed: SEED, ...defined({ psn }) });
          await dut.close();
          const excuse = one.rules.map((id) => justified[id]).find((text) => text !== undefined);
          if (excuse === undefined) expect(`${run.verdict} ${run.reason}`.trim()).toBe('pass');
          else {
            // Who breaks what is no `must` has not failed (rules/types.ts); a variation of a must is a failure.
            if (one.rules.some((id) => findRule(id)?.level === 'must'))
              expect(run.verdict).not.toMatch(/fail|variation/);
            expect(run.reason).toContain(excuse);
          }
        });
      }
    }
  });
}
