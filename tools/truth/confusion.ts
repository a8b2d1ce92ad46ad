/**
 * What the rule for runs between guests says can be told, checked against other courses of events: runs on the
 * simulated network can be played again, those between guests cannot.
 *
 * Owns the sample and its table: networks that lose packets and delay others, from the places that do not see it.
 */
import { judgeRequests, type Vantage } from './judge.ts';
import { faultsOf, RUN_KINDS, type RunKind, vantagesOf } from './kinds.ts';
import { type Besides, otherCourse } from './oracle.ts';
import { playRun } from './run.ts';
import { markdown, type Seeds } from './table.ts';

/** Requests of one network that were lost, or that were overtaken, seen from one place. */
export interface ConfusionRow {
  readonly kind: string;
  readonly vantage: Vantage;
  readonly was: 'lost' | 'overtaken';
  /** By what the rule says, and whether another course of events with the same capture was found. */
  bothCan: number;
  onlyRuleCan: number;
  onlyRunsCan: number;
  bothCannot: number;
  /** What was different in the courses that were found, beside the request, by how often. */
  readonly besides: Map<Besides, number>;
}

/** Networks of which the rule has something to decide. */
export const UNSURE_KINDS: readonly RunKind[] = RUN_KINDS.filter(
  ({ faults, behindMiddle }) =>
    faults.reorder !== undefined && (faults.loss !== undefined || behindMiddle !== undefined),
);

/** Plays runs over IPv4 of these networks, and others with the fate of one request changed. */
export async function confusion({ first, count }: Seeds, kinds = UNSURE_KINDS): Promise<ConfusionRow[]> {
  const rows: ConfusionRow[] = [];
  for (const kind of kinds)
    for (const vantage of vantagesOf(kind)) {
      if (vantage === 'responder') continue;
      const own = [newRow(kind.name, vantage, 'lost'), newRow(kind.name, vantage, 'overtaken')] as const;
      rows.push(...own);
      for (let seed = first; seed < first + count; seed++) await countRun(kind, vantage, seed, own);
    }
  return rows;
}

async function countRun(kind: RunKind, vantage: Vantage, seed: number, rows: readonly ConfusionRow[]): Promise<void> {
  const options = { ...kind, seed, ipVersion: 4 } as const;
  // The rule is not told that this network is steady: that between guests is not.
  const faults = { ...faultsOf(kind), steady: false };
  const run = await playRun(options);
  for (const { request, was, decidable } of judgeRequests(run, { vantage, analysis: { events: [] }, faults })) {
    const row = rows.find((each) => each.was === was);
    if (row === undefined || request === undefined) continue;
    const other = await otherCourse({ options, run, vantage, lateNs: faults.lateNs }, request);
    if (other === undefined) row[decidable ? 'bothCan' : 'onlyRunsCan']++;
    else row[decidable ? 'onlyRuleCan' : 'bothCannot']++;
    if (other !== undefined) row.besides.set(other, (row.besides.get(other) ?? 0) + 1);
  }
}

function newRow(kind: string, vantage: Vantage, was: 'lost' | 'overtaken'): ConfusionRow {
  return { kind, vantage, was, bothCan: 0, onlyRuleCan: 0, onlyRunsCan: 0, bothCannot: 0, besides: new Map() };
}

/** As Markdown. */
export function confusionTable(rows: readonly ConfusionRow[]): string {
  const lines = rows.map(({ kind, vantage, was, bothCan, onlyRuleCan, onlyRunsCan, bothCannot, besides }) => {
    const found = [...besides].map(([what, count]) => `${what}: ${count}`).sort();
    return [kind, vantage, was, bothCan, onlyRuleCan, onlyRunsCan, bothCannot, found.join('; ') || 'none'];
  });
  return markdown(HEAD, lines);
}

const HEAD =
  'network | seen at the | was | both: can be told | rule only | runs only | both: cannot | different besides, in the other run';
