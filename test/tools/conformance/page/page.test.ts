/**
 * Goal: every rule is tested, every case has a rule, and docs/conformance-report.md says what was seen. Method:
 * registry, cases, passive checks and derived rules are laid side by side; the page is made anew from the verdicts that
 * are kept. That those are true, page.long.test.ts shows.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CASES } from '../../../../tools/conformance/cases/index.ts';
import { conformancePage, withDevicesTable } from '../../../../tools/conformance/page/page.ts';
import {
  GUIDE_FILE,
  PAGE_DUTS,
  PAGE_FILE,
  readPublished,
  readResult,
} from '../../../../tools/conformance/page/results.ts';
import { published, stillWithheld } from '../../../../tools/conformance/page/withhold.ts';
import { DERIVED_RULES } from '../../../../tools/conformance/passive-checks/derived.ts';
import { makePassiveChecks } from '../../../../tools/conformance/passive-checks/index.ts';
import { findRule, RULES } from '../../../../tools/conformance/rules/index.ts';
import type { ResultFile } from '../../../../tools/conformance/runner/files.ts';

const watched = makePassiveChecks()
  .results()
  .map(({ rule }) => rule);
const covered = new Set([...CASES.flatMap(({ rules }) => rules), ...watched, ...DERIVED_RULES.map(({ id }) => id)]);

describe('the registry and its cases', () => {
  it('know each other: every id that a case, a passive check or a derivation names is a rule', () => {
    expect([...covered].filter((id) => findRule(id) === undefined)).toEqual([]);
    expect(CASES.filter(({ rules }) => rules.length === 0)).toEqual([]);
  });

  it('leave no rule of priority 1 or 2 without a test, but three that no user verb can ask for or tell', () => {
    const untested = RULES.filter(({ id, priority }) => priority < 3 && !covered.has(id)).map(({ id }) => id);
    expect(untested).toEqual(['UD-09', 'ANX-28', 'ANX-49']);
  });

  it('say of every rule without a test why it has none, and of no other', () => {
    expect(
      RULES.filter(({ id, untested }) => (untested === undefined) !== covered.has(id)).map(({ id }) => id),
    ).toEqual([]);
  });

  it('tell cases of one rule apart', () => {
    const names = CASES.map(({ rules, title }) => `${rules.join(',')} ${title ?? ''}`);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });
});

describe('docs/conformance-report.md', () => {
  const results = PAGE_DUTS.map(readPublished).filter((result) => result !== undefined);
  const whole = PAGE_DUTS.map(readResult).filter((result) => result !== undefined);

  it('has our own stack and rdma_rxe of three kernels', () => {
    expect(results.map(({ dut }) => dut)).toEqual(PAGE_DUTS);
    for (const { rules } of results) expect(rules.map(({ rule }) => rule)).toEqual(RULES.map(({ id }) => id));
  });

  it('is made from the verdicts that are kept', () => {
    expect(readFileSync(PAGE_FILE, 'utf8')).toBe(conformancePage(RULES, results));
  });

  it('has its table of devices in docs/conformance.md, too', () => {
    const page = readFileSync(GUIDE_FILE, 'utf8');
    expect(page).toBe(withDevicesTable(page, results));
    expect(() => withDevicesTable('# A page without marks', results)).toThrow('the two marks');
  });

  it('has no failure and nothing open of our own stack', () => {
    const bad = results[0]?.rules.filter(({ verdict }) => verdict === 'fail' || verdict === 'inconclusive');
    expect(bad?.map(({ rule, reason }) => `${rule}: ${reason}`)).toEqual([]);
  });

  it('knows every failure of rdma_rxe: each is a deviation of the registry', () => {
    const unknown = whole.flatMap(({ dut, rules }) =>
      rules
        .filter(({ verdict, known }) => verdict === 'fail' && known === undefined)
        .map(({ rule, reason }) => `${dut} ${rule}: ${reason}`),
    );
    expect(unknown).toEqual([]);
  });

  it('has of each device what may be published of all that this checkout knows', () => {
    expect(whole.map((result) => (result.withheldFindings === undefined ? published(result) : result))).toEqual(
      results,
    );
  });

  it('links no capture, and says nothing of a verdict that is withheld', () => {
    const lines = readFileSync(PAGE_FILE, 'utf8').split('\n');
    expect(lines.filter((line) => line.includes('](conformance-out'))).toEqual([]);
    expect(lines.filter((line) => line.includes('[withheld]'))).toEqual([]);
    expect(lines.filter((line) => line === '- withheld: 6 findings')).toHaveLength(3);
    expect(lines.filter((line) => line.includes('It died'))).toEqual([]);
  });
});

describe('a result of a checkout that does not know what is withheld', () => {
  const row = (rule: string, verdict: 'fail' | 'pass' | 'withheld', reason = '') => ({
    ...{ rule, verdict, reason, durationMs: 0 },
    captures: verdict === 'withheld' ? [] : [`${rule}.pcapng`],
  });
  const head: Omit<ResultFile, 'deaths' | 'rules'> = {
    ...{ version: 1, dut: 'lab:6.1', device: 'rxe', deviceVersion: '6.1', description: '', seed: 1 },
    ...{ partial: false, partialBecause: [], notRun: 0 },
  };

  it('still leaves out what was left out before, and every death', () => {
    const before = {
      ...head,
      deaths: [],
      withheldFindings: 2,
      rules: [row('PKT-01', 'withheld'), row('PKT-02', 'pass')],
    };
    const now = {
      ...head,
      deaths: ['PKT-01: it died'],
      rules: [row('PKT-01', 'fail', 'it died'), row('PKT-02', 'pass')],
    };
    expect(stillWithheld(now, before)).toEqual(before);
  });
});
