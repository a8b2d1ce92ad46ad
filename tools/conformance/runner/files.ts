/** A run as files for other programs: JSON, and JUnit XML as continuous integration reads it. */

import { countVerdicts } from './report.ts';
import type { CaseVerdict } from './run-case.ts';
import type { RuleResult, SuiteResult } from './suite.ts';

/** A run as plain data: what `roce conformance --json` writes, and docs/conformance-report.md is made from. */
export interface ResultFile {
  readonly version: 1;
  readonly dut: string;
  readonly device: string;
  readonly deviceVersion: string;
  readonly description: string;
  readonly seed: number;
  readonly deaths: readonly string[];
  /** Not every case of every rule of the registry was run. */
  readonly partial: boolean;
  /** Why, a phrase each; empty for a whole run. */
  readonly partialBecause: readonly string[];
  /** Hazardous cases that were left out. */
  readonly notRun: number;
  /** How many findings about the device are not published yet; absent where none is kept back. */
  readonly withheldFindings?: number;
  readonly rules: readonly ResultRow[];
}

export interface ResultRow {
  readonly rule: string;
  /** `withheld`: it would show a finding that is not published yet. */
  readonly verdict: CaseVerdict | 'withheld';
  readonly reason: string;
  /** What the registry knows of the failure. */
  readonly known?: { readonly does: string; readonly evidence: string };
  /** What its cases have to say beside the verdict; absent where that is nothing. */
  readonly notes?: readonly string[];
  readonly captures: readonly string[];
  readonly durationMs: number;
}

export function resultFile(result: SuiteResult): ResultFile {
  const { dut, device, version, description, seed, deaths, notRun, partial } = result;
  return {
    version: 1,
    ...{ dut, device, deviceVersion: version, description, seed, deaths },
    ...{ partial: partial.length > 0, partialBecause: partial, notRun },
    rules: result.rules.map(({ rule, verdict, reason, known, notes, captures, durationMs }) => ({
      rule: rule.id,
      verdict,
      reason,
      ...(known === undefined ? {} : { known: { does: known.does, evidence: known.evidence } }),
      ...(notes.length === 0 ? {} : { notes }),
      captures,
      durationMs: Math.round(durationMs),
    })),
  };
}

/**
 * One test suite for each area, one test case for each rule. What is open is an error, so that nothing unproven looks
 * like a success.
 */
export function junit(result: SuiteResult): string {
  const areas = [...new Set(result.rules.map(({ rule }) => rule.area))];
  const suites = areas.map((area) =>
    suiteXml(
      area,
      result,
      result.rules.filter(({ rule }) => rule.area === area),
    ),
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="roce conformance">\n${suites.join('')}</testsuites>\n`;
}

function suiteXml(area: string, { dut, description, partial: why }: SuiteResult, rules: readonly RuleResult[]): string {
  const counts = countVerdicts(rules);
  const time = rules.reduce((sum, { durationMs }) => sum + durationMs, 0);
  const head = attributes({
    name: area,
    hostname: dut,
    tests: rules.length,
    failures: counts.fail + counts.known,
    errors: counts.inconclusive,
    skipped: counts['not-applicable'] + counts['not-run'],
    time: seconds(time),
  });
  const partial = why.length === 0 ? '' : `<property ${attributes({ name: 'partial', value: why.join('; ') })}/>`;
  const device = `<property ${attributes({ name: 'device', value: description })}/>`;
  const property = `    <properties>${device}${partial}</properties>\n`;
  return `  <testsuite ${head}>\n${property}${rules.map(caseXml).join('')}  </testsuite>\n`;
}

function caseXml(one: RuleResult): string {
  const { rule, verdict, reason, durationMs } = one;
  const head = attributes({
    classname: `roce.${rule.area}`,
    name: `${rule.id} ${rule.says}`,
    time: seconds(durationMs),
  });
  const body = bodyXml(one);
  const lines = [...one.notes.map((note) => `note: ${note}`), ...one.captures];
  const files = lines.length === 0 ? '' : `<system-out>${xml(lines.join('\n'))}</system-out>`;
  if (verdict === 'pass' && files === '' && reason === '') return `    <testcase ${head}/>\n`;
  return `    <testcase ${head}>${body}${files}</testcase>\n`;
}

function bodyXml({ verdict, reason, known }: RuleResult): string {
  switch (verdict) {
    case 'fail': {
      const type = known === undefined ? 'violation' : 'known deviation';
      return `<failure ${attributes({ message: reason, type })}>${xml(known?.does ?? '')}</failure>`;
    }
    case 'inconclusive':
      return `<error ${attributes({ message: reason, type: 'inconclusive' })}/>`;
    case 'not-applicable':
    case 'not-run':
      return `<skipped ${attributes({ message: verdict === 'not-run' ? `not run: hazardous: ${reason}` : reason })}/>`;
    case 'variation':
      return `<system-err>${xml(`allowed variation: ${reason}`)}</system-err>`;
    case 'pass':
      return '';
  }
}

const attributes = (values: Readonly<Record<string, string | number>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}="${xml(String(value))}"`)
    .join(' ');

const seconds = (ms: number): string => (ms / 1000).toFixed(3);

/** XML allows no control characters at all, escaped or not. */
function xml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/g, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
