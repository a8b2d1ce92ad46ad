/** A run in words: the table of verdicts for a terminal, and the line that sums it up. */
import { formatTable } from '../../table.ts';
import type { CaseVerdict } from './run-case.ts';
import type { SuiteResult } from './suite.ts';

/** What a verdict is called in reports; a failure that the registry lists has a name of its own. */
export function verdictName({
  verdict,
  known,
}: {
  readonly verdict: CaseVerdict | 'withheld';
  readonly known?: object | undefined;
}): string {
  if (verdict === 'fail') return known === undefined ? 'FAIL' : 'fail (known)';
  if (verdict === 'not-run') return 'not run: hazardous';
  return verdict === 'not-applicable' ? 'n/a' : verdict;
}

/** The table: every rule, or only those that are no plain pass. */
export function verdictTable(result: SuiteResult, { all = true } = {}): string {
  const rows = result.rules
    .filter(({ verdict }) => all || (verdict !== 'pass' && verdict !== 'not-applicable'))
    .map((one) => [one.rule.id, verdictName(one), one.reason === '' ? one.rule.says : one.reason]);
  return formatTable(['rule', 'verdict', 'why, or what the rule says'], rows, []).join('\n');
}

/** How many of each. */
export function countVerdicts(
  rules: readonly { readonly verdict: CaseVerdict | 'withheld'; readonly known?: object | undefined }[],
): Readonly<Record<CaseVerdict | 'known' | 'withheld', number>> {
  const counts = {
    ...{ pass: 0, variation: 0, fail: 0, inconclusive: 0, 'not-applicable': 0, 'not-run': 0 },
    ...{ known: 0, withheld: 0 },
  };
  for (const one of rules) {
    if (one.verdict === 'fail' && one.known !== undefined) counts.known++;
    else counts[one.verdict]++;
  }
  return counts;
}

/** One line; a run that left hazardous cases out says so. */
export function summaryLine(result: SuiteResult): string {
  const counts = countVerdicts(result.rules);
  const parts = [
    `${counts.pass} pass`,
    `${counts.variation} allowed variations`,
    `${counts.fail} fail`,
    `${counts.known} fail as known`,
    `${counts.inconclusive} inconclusive`,
    `${counts['not-applicable']} not applicable`,
  ];
  const line = `${result.dut} (${result.description}): ${parts.join(', ')}`;
  if (result.notRun === 0) return line;
  const left = `${result.notRun} hazardous cases of ${counts['not-run']} rules were not run; --hazardous runs them`;
  return `${line}\npartial: ${left}`;
}

/** 0: nothing failed that is not known; 1: something did; 3: nothing failed, and something was left open. */
export function exitCodeOf(result: SuiteResult, { strict = false } = {}): number {
  const counts = countVerdicts(result.rules);
  if (counts.fail > 0 || (strict && counts.known > 0)) return 1;
  return counts.inconclusive > 0 ? 3 : 0;
}
