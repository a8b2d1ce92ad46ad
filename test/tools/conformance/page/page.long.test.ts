/**
 * Goal: docs/conformance-report.md is true, and what is withheld of it too. Method: every case is run anew, against our
 * own stack and against rdma_rxe of Linux 6.1 and 6.12 in guests; a verdict other than on the page fails. What differs
 * of a real device is run once more first, alone: a busy machine is no deviation.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { InProcessDut } from '../../../../tools/conformance/duts/in-process.ts';
import { LabDut } from '../../../../tools/conformance/duts/lab.ts';
import { readResult } from '../../../../tools/conformance/page/results.ts';
import { RULES } from '../../../../tools/conformance/rules/index.ts';
import type { ConformanceRule } from '../../../../tools/conformance/rules/types.ts';
import { runSuite, type SuiteResult } from '../../../../tools/conformance/runner/suite.ts';
import type { Dut } from '../../../../tools/conformance/tester/dut.ts';
import { describeWith } from '../../../support/need.ts';

async function judged(dut: Dut, rules: readonly ConformanceRule[]): Promise<SuiteResult> {
  const folder = join('conformance-out', dut.name.replace(/[^\w.-]+/g, '-'));
  mkdirSync(folder, { recursive: true });
  const keep = (name: string, capture: Uint8Array): string => {
    writeFileSync(join(folder, name), capture);
    return join(folder, name);
  };
  return runSuite(dut, { seed: 1, rules, now: () => performance.now(), keep });
}

/** What is not as the page has it. */
function differences(result: SuiteResult): { rule: ConformanceRule; text: string }[] {
  const page = new Map(readResult(result.dut)?.rules.map((row) => [row.rule, row]));
  return result.rules.flatMap(({ rule, verdict, reason }) => {
    const before = page.get(rule.id)?.verdict;
    // A checkout without embargo/ does not know what was seen.
    return verdict === before || before === 'withheld'
      ? []
      : [{ rule, text: `${rule.id}: ${before} on the page, ${verdict} now: ${reason}` }];
  });
}

describe('our own stack', () => {
  it('has the verdicts of the page', async () => {
    const dut = new InProcessDut({ seed: 1 });
    const result = await judged(dut, RULES);
    await dut.close();
    expect(differences(result).map(({ text }) => text)).toEqual([]);
  });
});

describeWith(['lab', 'compiler'], 'rdma_rxe', () => {
  it.each(['6.1', '6.12'] as const)('of Linux %s has the verdicts of the page', async (kernel) => {
    const dut = await LabDut.open({ kernel });
    try {
      const first = differences(await judged(dut, RULES));
      if (first.length === 0) return;
      const again = differences(
        await judged(
          dut,
          first.map(({ rule }) => rule),
        ),
      );
      expect(again.map(({ text }) => text)).toEqual([]);
    } finally {
      await dut.close();
    }
  });
});
