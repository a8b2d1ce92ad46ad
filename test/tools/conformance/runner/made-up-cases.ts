/** Cases of the tests' own, and runs of them. */
import { findRule } from '../../../../tools/conformance/rules/index.ts';
import type { ConformanceRule } from '../../../../tools/conformance/rules/types.ts';
import { runSuite, type SuiteResult } from '../../../../tools/conformance/runner/suite.ts';
import type { Case } from '../../../../tools/conformance/tester/case.ts';
import type { Dut } from '../../../../tools/conformance/tester/dut.ts';

export const must = ruleOf('RSP-PSN-04');
export const should = ruleOf('PKT-16');
export const knownOfRxe = ruleOf('REQ-09');

export function ruleOf(id: string): ConformanceRule {
  const rule = findRule(id);
  if (rule === undefined) throw new Error(`${id} is in the registry`);
  return rule;
}

export const caseOf = (rule: ConformanceRule, run: Case['run'], more: Partial<Case> = {}): Case => ({
  rules: [rule.id],
  run,
  ...more,
});

/** A case that ends otherwise each time: the first time with the first, ... */
export function inTurn(...errors: readonly (Error | undefined)[]): Case['run'] {
  let turn = 0;
  return async (t) => {
    t.observe();
    const error = errors[Math.min(turn++, errors.length - 1)];
    if (error !== undefined) throw error;
  };
}

export async function suite(dut: Dut, ...cases: readonly Case[]): Promise<SuiteResult> {
  const rules = [...new Set(cases.flatMap((one) => one.rules))].map(ruleOf);
  return runSuite(dut, { seed: 1, rules, cases, now: () => 0 });
}
