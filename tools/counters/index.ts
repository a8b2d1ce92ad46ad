/** Diagnosis without a capture: what `roce analyze --counters` does. Owns the way from paths to text and exit code. */
import { SYMPTOMS } from 'rocev2/pcap';
import { findingPage, withPages } from '../analyze/finding-page.ts';
import { type CounterAnalysis, diagnose } from './diagnose.ts';
import { readSnapshots } from './read.ts';
import { counterReport } from './report.ts';

export { NoCountersError } from './read.ts';

/** What `analyzeCounters` gives back. */
export interface CounterResult {
  readonly analysis: CounterAnalysis;
  readonly text: string;
}

/** How it is printed. */
export interface CounterFlags {
  readonly json?: boolean;
  readonly verbose?: boolean;
}

/**
 * Reads, compares and judges.
 *
 * @throws NoCountersError for a path without counters, and errors of the system for one that cannot be read
 */
export function analyzeCounters(
  paths: readonly string[],
  { json = false, verbose = false }: CounterFlags,
): CounterResult {
  const analysis = diagnose(paths.flatMap(readSnapshots));
  const text = json
    ? JSON.stringify(withPages(analysis, pageOf), plain, 2)
    : counterReport(analysis, verbose).join('\n');
  return { analysis, text: `${text}\n` };
}

/** What only counters show has no symptom. */
function pageOf(id: string): string {
  return SYMPTOMS.some((symptom) => symptom.id === id) ? findingPage(id) : 'docs/counters.html';
}

/** Maps as objects. */
function plain(_: string, value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries(value) : value;
}
