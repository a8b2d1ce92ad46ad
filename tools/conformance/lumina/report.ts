/**
 * A run of Lumina's checks in words: verdicts by rule and by counter, times as ratios, and what could not be judged.
 */
import { formatTable } from '../../table.ts';
import { findRule } from '../rules/index.ts';
import { countVerdicts, verdictName } from '../runner/report.ts';
import type { LuminaLatency, LuminaReport, LuminaResult } from './run.ts';

/** The whole, for a terminal. `all`: plain passes as well. */
export function luminaText(report: LuminaReport, { all = true } = {}): string {
  const rows = report.results
    .filter(({ verdict }) => all || verdict !== 'pass')
    .map((one) => [nameOf(one), one.rule ?? one.check, verdictName(one), `${one.seen}`, reasonOf(one)]);
  const table = formatTable(['device', 'rule or check', 'verdict', 'seen', 'why, or what the rule says'], rows, []);
  return [...table, '', ...report.latencies.map(latencyLine), ...faultLines(report), summary(report)].join('\n');
}

/** 0: nothing failed that is not known; 1: something did; 3: nothing failed, and something was left open. */
export function luminaExitCode(report: LuminaReport): number {
  const counts = countVerdicts(report.results);
  if (counts.fail > 0) return 1;
  return counts.inconclusive > 0 || report.runs.some(({ fault }) => fault !== undefined) ? 3 : 0;
}

function reasonOf({ reason, known, rule }: LuminaResult): string {
  if (reason === '') return findRule(rule ?? '')?.says ?? '';
  return known === undefined ? reason : `${reason} (known: ${known.does})`;
}

const nameOf = ({ device, version }: { readonly device: string; readonly version: string }): string =>
  version === '' ? device : `${device} ${version}`;

function latencyLine(one: LuminaLatency): string {
  const { ackNs = 0, nakNs, reactionNs, readAtOnceNs, readByTimerNs } = one;
  const parts: string[] = [];
  const say = (what: string, ns: number | undefined): void => {
    if (ns === undefined) return;
    parts.push(`${what} ${us(ns)}${ackNs > 0 ? ` (${(ns / ackNs).toFixed(1)} ACKs)` : ''}`);
  };
  say('a NAK', nakNs);
  say('going back', reactionNs);
  say('a READ again, for a gap', readAtOnceNs);
  say('a READ again, by the timer', readByTimerNs);
  return `${nameOf(one)}: an ACK takes ${us(ackNs)}${parts.length === 0 ? '' : `; ${parts.join(', ')}`}`;
}

function faultLines({ runs }: LuminaReport): string[] {
  return runs.flatMap(({ fault, scenario, requester }) =>
    fault === undefined ? [] : [`not judged: ${scenario}, end ${requester} asking: ${fault}`],
  );
}

function summary({ dut, runs, results }: LuminaReport): string {
  const counts = countVerdicts(results);
  const parts = [`${counts.pass} pass`, `${counts.variation} allowed variations`, `${counts.fail} fail`];
  parts.push(`${counts.known} fail as known`, `${counts.inconclusive} inconclusive`);
  return `${dut}, ${runs.length} runs: ${parts.join(', ')}, ${counts['not-applicable']} not applicable`;
}

const us = (ns: number): string => `${Math.round(ns / 1e3)} us`;
