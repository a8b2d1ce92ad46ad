/**
 * `npm run bench -- --links` and `--soak`: runs the contestants and prints their results. Owns the table and the JSON
 * rows.
 */
import { formatTable } from '../../table.ts';
import { type BenchSettings, median } from '../bench.ts';
import { report, short } from '../report.ts';
import type { Contestant } from './contestants.ts';
import { goalRows } from './goals.ts';
import { type ContestantResult, type MissingResult, runRounds } from './rounds.ts';
import { type SoakVerdict, soak } from './soak.ts';
import type { RunningContestantOptions } from './stand.ts';

export { chosen } from './contestants.ts';

export interface BenchOutput {
  readonly json: boolean;
  /** To standard output. */
  print(line: string): void;
  /** Progress, for the terminal. */
  say(line: string): void;
}

/** The results of a contestant, as `--json` prints them. Absent: it does not have that figure. */
export interface LinkRow {
  readonly name: string;
  readonly medium: string;
  readonly goodputMibPerS?: number;
  readonly messagesPerS?: number;
  readonly p50Us?: number;
  readonly p99Us?: number;
  /** Bare datagrams without a window: what arrives, and the share that does not. */
  readonly floodMibPerS?: number;
  readonly floodLostShare?: number;
  /** During goodput, of one core each. */
  readonly serverLoad: number;
  readonly clientLoad: number;
  readonly sentFrames: number;
  readonly lostFrames: number;
  readonly sentAgainFrames: number;
}

/** Whether no goal is missed and nothing failed; what cannot run here is not counted. */
export async function benchLinks(
  contestants: readonly Contestant[],
  settings: BenchSettings,
  options: RunningContestantOptions,
  output: BenchOutput,
): Promise<boolean> {
  const all = await runRounds(contestants, settings, options, output.say);
  const results = all.filter((one): one is ContestantResult => 'rounds' in one);
  const absences = all.filter((one): one is MissingResult => 'reason' in one);
  const rows = results.map(linkRow);
  const goals = goalRows(results);
  const skipped = absences.map(({ contestant: { name, medium }, reason, failed }) => {
    return { name, medium, [failed ? 'failed' : 'skipped']: reason };
  });
  if (output.json) {
    for (const row of [...rows, ...goals, ...skipped]) output.print(JSON.stringify(row));
  } else {
    for (const line of [...linkTable(rows), '', ...report(goals)]) output.print(line);
    for (const { contestant, reason, failed } of absences)
      output.print(`  ${contestant.name} (${contestant.medium}): ${failed ? 'FAILED' : 'skipped'}, ${reason}`);
  }
  return !absences.some(({ failed }) => failed) && !goals.some(({ met }) => met === false);
}

/** Whether every link kept its data right and its memory flat. */
export async function soakLinks(
  contestants: readonly Contestant[],
  seconds: number,
  output: BenchOutput,
): Promise<boolean> {
  let good = true;
  for (const contestant of contestants.filter(({ ours }) => ours)) {
    const verdict = await soak(contestant, seconds, output.say);
    output.print(output.json ? JSON.stringify(verdict) : verdictLine(verdict));
    good &&= verdict.good;
  }
  return good;
}

function linkRow({ contestant: { name, medium }, rounds, loads, losses }: ContestantResult): LinkRow {
  const of = (figure: string, divisor = 1): number | undefined => {
    const values = rounds.map((figures) => figures[figure]).filter((value) => value !== undefined);
    return values.length === 0 ? undefined : median(values) / divisor;
  };
  const optional = {
    goodputMibPerS: of('goodput', MIB),
    messagesPerS: of('rate'),
    p50Us: of('p50'),
    p99Us: of('p99'),
    floodMibPerS: of('flood.goodput', MIB),
    floodLostShare: floodLoss(of('flood.sent'), of('flood.received')),
  };
  const present = Object.entries(optional).filter(([, value]) => value !== undefined);
  return {
    name,
    medium,
    ...(Object.fromEntries(present) as Partial<LinkRow>),
    serverLoad: median(loads.map(({ server }) => server)),
    clientLoad: median(loads.map(({ client }) => client)),
    sentFrames: losses.sent,
    lostFrames: losses.lost,
    sentAgainFrames: losses.sentAgain,
  };
}

function floodLoss(sent: number | undefined, received: number | undefined): number | undefined {
  return sent === undefined || received === undefined ? undefined : 1 - received / sent;
}

function linkTable(rows: readonly LinkRow[]): string[] {
  const headings = ['link', 'medium', 'goodput MiB/s', 'messages/s', 'p50 us', 'p99 us', 'lost', 'again', 'cpu %', ''];
  const shown = (value: number | undefined): string => (value === undefined ? '' : short(value));
  const percent = (share: number): string => String(Math.round(share * 100));
  const cells = rows.map((row) => [
    row.name,
    row.medium,
    shown(row.goodputMibPerS),
    shown(row.messagesPerS),
    shown(row.p50Us),
    shown(row.p99Us),
    String(row.lostFrames),
    String(row.sentAgainFrames),
    `${percent(row.clientLoad)} > ${percent(row.serverLoad)}`,
    row.floodMibPerS === undefined
      ? ''
      : `flood ${shown(row.floodMibPerS)} MiB/s, ${percent(row.floodLostShare ?? 0)} % lost`,
  ]);
  const [left, right] = ['left', 'right'] as const;
  return formatTable(headings, cells, [left, left, right, right, right, right, right, right, right, left]);
}

function verdictLine({ name, medium, good, words }: SoakVerdict): string {
  return `  ${name} (${medium}): ${good ? 'good' : 'BAD'}; ${words.join('; ')}`;
}

const MIB = 0x10_00_00;
