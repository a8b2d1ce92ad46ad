/** Goal: table, JSON, JUnit and exit code say what a run found. Method: a run with every verdict in it. */
import { describe, expect, it } from 'vitest';
import type { ConformanceRule } from '../../../../tools/conformance/rules/types.ts';
import { junit, resultFile } from '../../../../tools/conformance/runner/files.ts';
import { exitCodeOf, summaryLine, verdictTable } from '../../../../tools/conformance/runner/report.ts';
import { Inconclusive, NotApplicable, Violation } from '../../../../tools/conformance/tester/outcome.ts';
import { caseOf, inTurn, knownOfRxe, must, ruleOf, should, suite } from './made-up-cases.ts';
import { StubDut } from './stub-dut.ts';

describe('a report', () => {
  const mixed = () =>
    suite(
      new StubDut(),
      caseOf(must, inTurn(new Violation('a < b & "c" \u0000'))),
      caseOf(knownOfRxe, inTurn(new Violation('completed'))),
      caseOf(should, inTurn(new Inconclusive('no sentinel'))),
      caseOf(ruleOf('PKT-01'), inTurn(undefined)),
      caseOf(ruleOf('PKT-02'), inTurn(new NotApplicable('no IPv4'))),
    );

  it('is a table and a line', async () => {
    const result = await mixed();
    expect(verdictTable(result)).toMatch(/RSP-PSN-04 +FAIL/);
    expect(verdictTable(result)).toMatch(/REQ-09 +fail \(known\)/);
    expect(verdictTable(result, { all: false })).not.toContain('PKT-01');
    expect(summaryLine(result)).toContain(
      '1 pass, 0 allowed variations, 1 fail, 1 fail as known, 1 inconclusive, 1 not applicable',
    );
  });

  it('is JSON that says the same', async () => {
    const { rules } = JSON.parse(JSON.stringify(resultFile(await mixed())));
    expect(rules.map((row: { rule: string; verdict: string }) => `${row.rule} ${row.verdict}`)).toEqual([
      'RSP-PSN-04 fail',
      'REQ-09 fail',
      'PKT-16 inconclusive',
      'PKT-01 pass',
      'PKT-02 not-applicable',
    ]);
  });

  it('is XML that a parser takes, whatever a reason holds', async () => {
    const xml = junit(await mixed());
    expect(xml).toContain('message="a &lt; b &amp; &quot;c&quot; \ufffd" type="violation"');
    expect(xml).toMatch(/<testsuite name="RSP-PSN"[^>]* tests="1" failures="1" errors="0" skipped="0"/);
    expect(xml.match(/<testcase /g)).toHaveLength(5);
    expect(xml.match(/<(?:failure|error|skipped) /g)).toHaveLength(4);
  });

  it('has an exit code', async () => {
    const code = async (rule: ConformanceRule, error?: Error, options = {}) =>
      exitCodeOf(await suite(new StubDut(), caseOf(rule, inTurn(error))), options);
    expect(await code(must)).toBe(0);
    expect(await code(must, new Violation('x'))).toBe(1);
    expect(await code(must, new Inconclusive('x'))).toBe(3);
    expect(await code(knownOfRxe, new Violation('x'))).toBe(0);
    expect(await code(knownOfRxe, new Violation('x'), { strict: true })).toBe(1);
  });
});
