/**
 * How often the analyzer is right about lost and overtaken requests, as a table.
 *
 * Owns the kinds of runs and the figures.
 */
import type { FaultSpec } from 'rocev2/faults';
import { type Judgement, judge, noJudgement, type Told, type Vantage } from './judge.ts';
import { playRun } from './run.ts';

/** What a network does in runs of one kind. */
export interface RunKind {
  readonly name: string;
  /** On the way to the responder, and back. */
  readonly faults: FaultSpec;
  readonly reverse?: FaultSpec;
}

/** The figures of one kind, seen from one place. */
export interface TruthRow {
  readonly kind: string;
  readonly vantage: Vantage;
  readonly ipVersion: 4 | 6;
  readonly judgement: Judgement;
}

/** Round trips are 6 us or more here. */
export const RUN_KINDS: readonly RunKind[] = [
  { name: '1 % lost', faults: { loss: 0.01 } },
  { name: '1 % late by 3 us', faults: { reorder: 0.01, reorderDelayNs: 3_000 } },
  { name: '1 % late by 10 us', faults: { reorder: 0.01, reorderDelayNs: 10_000 } },
  { name: '0.5 % late by 0.1 ms', faults: { reorder: 0.005, reorderDelayNs: 100_000 } },
  { name: '0.3 % late by 2 ms', faults: { reorder: 0.003, reorderDelayNs: 2_000_000 } },
  { name: '0.5 % lost, 0.5 % late by 15 us', faults: { loss: 0.005, reorder: 0.005, reorderDelayNs: 15_000 } },
  {
    name: 'the same, 2 % of ACKs lost',
    faults: { loss: 0.005, reorder: 0.005, reorderDelayNs: 15_000 },
    reverse: { loss: 0.02 },
  },
  {
    name: 'the same, 1 % doubled, no ACKs lost',
    faults: { loss: 0.005, reorder: 0.005, reorderDelayNs: 15_000, duplicate: 0.01 },
  },
];

/** Plays runs with the seeds 1 to `seeds` of every kind over IPv4 and IPv6, each seen from both hosts. */
export async function measure(seeds: number): Promise<TruthRow[]> {
  const rows: TruthRow[] = [];
  for (const { name: kind, faults, reverse = {} } of RUN_KINDS)
    for (const ipVersion of [4, 6] as const) {
      const both = VANTAGES.map((vantage) => ({ kind, vantage, ipVersion, judgement: noJudgement() }));
      for (let seed = 1; seed <= seeds; seed++) {
        const run = await playRun({ seed, ipVersion, faults, reverse });
        for (const { vantage, judgement } of both) judge(run, vantage, judgement);
      }
      rows.push(...both);
    }
  return rows;
}

/** Of what is said to be `told`, the share that is; 1 where it is never said. */
export function precision(judgement: Judgement, told: 'lost' | 'overtaken'): number {
  const all = Object.values(judgement).reduce((sum, said) => sum + said[told], 0);
  return all === 0 ? 1 : judgement[told][told] / all;
}

/** Of what is `told`, the share that is said to be; 1 where there is none. */
export function recall(judgement: Judgement, told: 'lost' | 'overtaken'): number {
  const all = total(judgement[told]);
  return all === 0 ? 1 : judgement[told][told] / all;
}

/** As Markdown. */
export function truthTable(rows: readonly TruthRow[]): string {
  const lines = rows.map(({ kind, vantage, ipVersion, judgement }) =>
    [
      kind,
      vantage,
      `IPv${ipVersion}`,
      ...(['lost', 'overtaken'] as const).flatMap((told) => [
        total(judgement[told]),
        precision(judgement, told).toFixed(3),
        recall(judgement, told).toFixed(3),
      ]),
      Object.values(judgement).reduce((sum, { undecided }) => sum + undecided, 0),
    ].join(' | '),
  );
  return [...HEAD, ...lines].map((line) => `| ${line} |`).join('\n');
}

function total(said: Record<Told, number>): number {
  return Object.values(said).reduce((sum, count) => sum + count, 0);
}

const VANTAGES: readonly Vantage[] = ['requester', 'responder'];
const HEAD = [
  'network | seen at the | | lost | precision | recall | overtaken | precision | recall | cannot be told',
  '--- | --- | --- | --- | --- | --- | --- | --- | --- | ---',
];
