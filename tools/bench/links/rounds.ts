/**
 * Measures every contestant in turn, round after round: in each round each figure of all of them, one after the other,
 * so that other load on the machine affects all. Owns the order; the first round, which warms up, does not count.
 */
import type { BenchSettings } from '../bench.ts';
import type { Contestant } from './contestants.ts';
import type { Amount, Figures, MeasuredTask } from './protocol.ts';
import {
  ContestantUnavailable,
  type PacketLosses,
  type ProcessorLoad,
  RunningContestant,
  type RunningContestantOptions,
} from './stand.ts';

export interface ContestantResult {
  readonly contestant: Contestant;
  /** The figures of each round, of all tasks together; `flood` is prefixed, `flood.goodput`. */
  readonly rounds: readonly Figures[];
  readonly loads: readonly ProcessorLoad[];
  readonly losses: PacketLosses;
}

/** A contestant without a result. */
export interface MissingResult {
  readonly contestant: Contestant;
  /** A sentence. */
  readonly reason: string;
  /** Whether it started and failed; false where this machine cannot run it. */
  readonly failed: boolean;
}

const AMOUNTS: Readonly<Record<MeasuredTask, Amount>> = {
  goodput: { seconds: 0.8, least: 8 },
  rate: { seconds: 0.5, least: 256 },
  roundTrip: { seconds: 0.5, least: 20 },
  flood: { seconds: 0.3, least: 8 },
};

/** How much longer the first round is: compiled code takes its time where other programs keep the processors busy. */
const WARM_UP = 2;

interface Standing {
  readonly stand: RunningContestant;
  readonly rounds: Record<string, number>[];
  readonly loads: ProcessorLoad[];
}

export async function runRounds(
  contestants: readonly Contestant[],
  { rounds, scale }: BenchSettings,
  options: RunningContestantOptions,
  say: (line: string) => void,
): Promise<readonly (ContestantResult | MissingResult)[]> {
  const absences: MissingResult[] = [];
  const standings: Standing[] = [];
  const drop = async ({ stand }: Standing, error: unknown): Promise<void> => {
    absences.push(absence(stand.contestant, error));
    await stand.close();
  };
  try {
    for (const contestant of contestants) {
      say(`setting up ${contestant.name} (${contestant.medium}) ...`);
      try {
        const stand = await RunningContestant.setUp(contestant, options);
        standings.push({ stand, rounds: [], loads: [] });
        stand.pause();
      } catch (error) {
        absences.push(absence(contestant, error));
      }
    }
    for (let round = 0; round <= rounds; round++) {
      say(round === 0 ? 'warming up ...' : `round ${round} of ${rounds} ...`);
      await runRound(standings, round, scale, drop);
    }
    return [...(await Promise.all(standings.map(resultOf))), ...absences];
  } finally {
    for (const { stand } of standings) await stand.close();
  }
}

/** Takes those that fail out of the list. */
async function runRound(
  standings: Standing[],
  round: number,
  scale: number,
  drop: (standing: Standing, error: unknown) => Promise<void>,
): Promise<void> {
  for (const task of ['goodput', 'rate', 'roundTrip', 'flood'] as const) {
    for (const standing of [...standings]) {
      if (!standing.stand.contestant.tasks.includes(task)) continue;
      try {
        await measure(standing, task, round, scale);
      } catch (error) {
        standings.splice(standings.indexOf(standing), 1);
        await drop(standing, error);
      }
    }
  }
  if (round === 0) for (const { stand } of standings) await begin(stand);
}

async function measure(
  { stand, rounds, loads }: Standing,
  task: MeasuredTask,
  round: number,
  scale: number,
): Promise<void> {
  const { seconds, least } = AMOUNTS[task];
  const amount = { seconds: scale < 1 ? 0 : round === 0 ? seconds * WARM_UP : seconds, least };
  stand.resume();
  const { figures, load } = await stand.measureWithLoad(task, amount);
  stand.pause();
  if (round === 0) return;
  const all = rounds[round - 1] ?? {};
  rounds[round - 1] = all;
  for (const [name, value] of Object.entries(figures)) all[task === 'flood' ? `flood.${name}` : name] = value;
  if (task === 'goodput') loads.push(load);
}

async function begin(stand: RunningContestant): Promise<void> {
  stand.resume();
  await stand.begin();
  stand.pause();
}

async function resultOf({ stand, rounds, loads }: Standing): Promise<ContestantResult> {
  stand.resume();
  return { contestant: stand.contestant, rounds, loads, losses: await stand.losses() };
}

function absence(contestant: Contestant, error: unknown): MissingResult {
  const reason = error instanceof Error ? error.message : String(error);
  return { contestant, reason, failed: !(error instanceof ContestantUnavailable) };
}
