/**
 * How often the analyzer is right about lost and overtaken requests and about timeouts, as tables.
 *
 * Owns the figures.
 */
import type { Analysis } from 'rocev2/pcap';
import { renumbered } from './identifications.ts';
import { analyze, type Judgement, judge, noJudgement, type Vantage, type Verdicts } from './judge.ts';
import { faultsOf, NUMBERINGS, type Numbering, RUN_KINDS, type RunKind, vantagesOf } from './kinds.ts';
import { otherCourses, type Question } from './oracle.ts';
import { type PartRow, partsOf, sumParts } from './parts.ts';
import type { KnownRun, MissingRequest } from './recording.ts';
import { playRun, SHORTEST_TIMEOUT_NS } from './run.ts';

/** The figures of one kind, seen from one place. */
export interface TruthRow {
  readonly kind: string;
  readonly vantage: Vantage;
  readonly numbering: Numbering;
  readonly judgement: Judgement;
  /** Verdicts on what was overtaken, as far as a verdict is possible from there. */
  readonly tellable: Verdicts;
  readonly timeouts: Timeouts;
}

/** ACK timeouts of the queue pair, those that are told, and those of them that were shorter than the agreed time. */
export interface Timeouts {
  real: number;
  told: number;
  tooShort: number;
}

/** All figures. */
export interface Truth {
  readonly runs: number;
  readonly rows: readonly TruthRow[];
  readonly parts: readonly PartRow[];
}

/** Which runs: so many of every kind and numbering, with the seeds from `first` on. */
export interface Seeds {
  readonly first: number;
  readonly count: number;
}

/**
 * Plays runs of every kind and numbering, each seen from several places.
 *
 * @param others what can be told is found out by other courses of events, which takes long; or by the rule
 */
export async function measure({ first, count }: Seeds, others = true): Promise<Truth> {
  const untold = new Untold();
  const rows: TruthRow[] = [];
  const parts: PartRow[] = [];
  let runs = 0;
  for (const kind of RUN_KINDS)
    for (const numbering of NUMBERINGS) {
      const own = vantagesOf(kind).map((vantage) => newRow(kind.name, vantage, numbering));
      rows.push(...own);
      for (let seed = first; seed < first + count; seed++) {
        const options = { ...kind, seed, ipVersion: numbering === 'IPv6' ? 6 : 4 } as const;
        const run = await playRun(options);
        runs++;
        for (const row of own)
          judgeRun(
            kind,
            run,
            row,
            others ? await untold.of({ options, run, vantage: row.vantage, ...faultsOf(kind) }, kind.name) : undefined,
          );
        if (numbering === 'counted') parts.push(...partsOf(kind.name, run, seed));
      }
    }
  return { runs, rows, parts: sumParts(parts) };
}

function newRow(kind: string, vantage: Vantage, numbering: Numbering): TruthRow {
  const timeouts = { real: 0, told: 0, tooShort: 0 };
  return { kind, vantage, numbering, judgement: noJudgement(), tellable: noJudgement().decidable, timeouts };
}

/** Requests that cannot be told, by their place among those of a run: runs over IPv4 of one seed are the same. */
class Untold {
  readonly #known = new Map<string, readonly number[]>();

  async of(question: Question, kind: string): Promise<ReadonlySet<MissingRequest>> {
    const {
      options: { seed, ipVersion },
      run: { naks },
      vantage,
    } = question;
    if (vantage === 'responder') return new Set();
    const key = [kind, seed, ipVersion, vantage].join();
    const known = this.#known.get(key) ?? [...(await otherCourses(question)).keys()].map((each) => naks.indexOf(each));
    this.#known.set(key, known);
    return new Set(known.flatMap((at) => naks[at] ?? []));
  }
}

function judgeRun(
  kind: RunKind,
  run: KnownRun,
  { vantage, numbering, judgement, tellable, timeouts }: TruthRow,
  cannot: ReadonlySet<MissingRequest> | undefined,
): void {
  const own = numbering === 'zero' || numbering === 'random';
  const analysis = analyze(own ? renumbered(run[vantage], numbering) : run[vantage]);
  const judged = judge(run, { vantage, analysis, faults: faultsOf(kind), cannot }, judgement);
  for (const { was, decidable, told } of judged) if (was === 'overtaken' && decidable) tellable[told]++;
  countTimeouts(run, analysis, timeouts);
}

function countTimeouts({ timeouts }: KnownRun, { events }: Analysis, into: Timeouts): void {
  const told = events.filter(({ kind, requester }) => kind === 'timeout' && requester === 0);
  into.real += timeouts;
  into.told += told.length;
  into.tooShort += told.filter(({ durationNs }) => durationNs < SHORTEST_TIMEOUT_NS).length;
}

/** All verdicts of some rows. */
export function sumOf(rows: readonly TruthRow[]): Judgement {
  const sum = noJudgement();
  for (const { judgement } of rows)
    for (const of of ['lost', 'overtaken', 'discarded', 'sound', 'decidable'] as const)
      for (const told of ['lost', 'overtaken', 'undecided', 'nothing'] as const) sum[of][told] += judgement[of][told];
  return sum;
}

/** Of what is said to be `told`, the share that is; undefined where it is never said. */
export function precision(judgement: Judgement, told: 'lost' | 'overtaken'): number | undefined {
  const { lost, overtaken, discarded, sound } = judgement;
  const all = [lost, overtaken, discarded, sound].reduce((sum, said) => sum + said[told], 0);
  return all === 0 ? undefined : judgement[told][told] / all;
}

/** Of these, the share that is said to be `told`; undefined where there are none. */
export function recall(verdicts: Verdicts, told: 'lost' | 'overtaken'): number | undefined {
  const all = total(verdicts);
  return all === 0 ? undefined : verdicts[told] / all;
}

/** As Markdown: lost and overtaken requests. */
export function truthTable(rows: readonly TruthRow[]): string {
  const lines = rows.map(({ kind, vantage, numbering, judgement, tellable }) => {
    const { lost, overtaken, discarded, sound, decidable } = judgement;
    const falselyLost = overtaken.lost + discarded.lost + sound.lost;
    const cells = [
      ...[total(lost), total(decidable), share(precision(judgement, 'lost'))],
      ...[share(recall(decidable, 'lost')), share(recall(lost, 'lost'))],
      ...[
        falselyLost,
        total(overtaken),
        total(tellable),
        share(precision(judgement, 'overtaken')),
        share(recall(tellable, 'overtaken')),
      ],
      lost.undecided + overtaken.undecided + discarded.undecided + sound.undecided,
    ];
    return [kind, vantage, numbering, ...cells];
  });
  return markdown(VERDICT_HEAD, lines);
}

/** As Markdown: timeouts, where there were any or were told. */
export function timeoutTable(rows: readonly TruthRow[]): string {
  const some = rows.filter(({ timeouts: { real, told } }) => real + told > 0);
  const lines = some.map(({ kind, vantage, numbering, timeouts: { real, told, tooShort } }) => [
    ...[kind, vantage, numbering, real, told, tooShort],
  ]);
  return markdown(TIMEOUT_HEAD, lines);
}

/** How many timeouts were told of all rows, and how many of them were shorter than agreed, of which none should be. */
export function tooShortLine(rows: readonly Pick<Timeouts, 'told' | 'tooShort'>[]): string {
  const told = rows.reduce((sum, row) => sum + row.told, 0);
  const tooShort = rows.reduce((sum, row) => sum + row.tooShort, 0);
  return `Timeouts told, all rows together: ${told}; shorter than agreed: ${tooShort}.`;
}

/** Rows as a table of Markdown. */
export function markdown(head: string, rows: readonly (readonly (string | number)[])[]): string {
  const columns = head.split('|').length;
  const lines = [head, Array(columns).fill('---').join(' | '), ...rows.map((cells) => cells.join(' | '))];
  return lines.map((line) => `| ${line} |`).join('\n');
}

/** A share with three digits; "n/a" where there is nothing to judge. */
export function share(value: number | undefined): string {
  return value === undefined ? 'n/a' : value.toFixed(3);
}

export function total(said: Verdicts): number {
  return Object.values(said).reduce((sum, count) => sum + count, 0);
}

const VERDICT_HEAD =
  'network | seen at the | identifications | lost | can be told | precision | recall | recall of all lost | falsely lost | overtaken | can be told | precision | recall | told "cannot be told"';
const TIMEOUT_HEAD = 'network | seen at the | identifications | timeouts | told | shorter than agreed';
