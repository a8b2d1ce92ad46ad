/** A run in words: the table of verdicts for a terminal, and the line that sums it up. */
import { formatTable } from '../../table.ts';
import type { Case } from '../tester/case.ts';
import type { CaseVerdict } from './run-case.ts';
import type { JudgedRun, SuiteResult } from './suite.ts';

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

/**
 * The table: every rule, or only those that are no plain pass; below a rule what its cases have noted. Its head says
 * whether the run is partial.
 */
export function verdictTable(result: SuiteResult, { all = true } = {}): string {
  const rows = result.rules
    .filter(({ verdict }) => all || (verdict !== 'pass' && verdict !== 'not-applicable'))
    .flatMap((one) => [
      [one.rule.id, verdictName(one), one.reason === '' ? one.rule.says : one.reason],
      ...one.notes.map((note) => ['', '', `note: ${note}`]),
    ]);
  const head = [
    'rule',
    result.partial.length === 0 ? 'verdict' : 'verdict (partial run)',
    'why, or what the rule says',
  ];
  return formatTable(head, rows, []).join('\n');
}

/** A case that has ended, with the verdicts as the table has them. */
export function progressLine(one: Case, judged: readonly JudgedRun[], done: number, all: number): string {
  const names = [...new Set(judged.map(verdictName))];
  const title = one.title === undefined ? '' : ` (${one.title})`;
  const verdicts =
    names.length === 1
      ? `${judged.map(({ rule }) => rule.id).join(', ')}${title}: ${names[0]}`
      : `${judged.map((each) => `${each.rule.id} ${verdictName(each)}`).join(', ')}${title}`;
  return `${done}/${all} ${judged.length === 0 ? `${one.rules.join(', ')}${title}: for rules that stand on it` : verdicts}`;
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

/** One line, and one more for each reason why the run is partial. */
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
  return [line, ...result.partial.map((why) => `partial: ${why}`)].join('\n');
}

/**
 * 0: nothing failed that is not known; 1: something did; 3: nothing failed, and something was left open. `strict`: 1
 * for every breach of a `must` or `should`, known or not; what a `may` leaves open is none.
 */
export function exitCodeOf(result: SuiteResult, { strict = false } = {}): number {
  const counts = countVerdicts(result.rules);
  const varied = result.rules.some(({ rule, verdict }) => verdict === 'variation' && rule.level !== 'may');
  if (counts.fail > 0 || (strict && (counts.known > 0 || varied))) return 1;
  return counts.inconclusive > 0 ? 3 : 0;
}
