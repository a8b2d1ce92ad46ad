/**
 * The goals of the links, as rows of the bench: a figure of one contestant beside that of another in the same round.
 */
import { defined } from 'rocev2/packets';
import { type BenchRow, type Goal, rowFrom } from '../bench.ts';
import type { ContestantResult } from './rounds.ts';

interface Comparison {
  readonly name: string;
  /** Name, medium. */
  readonly ours: readonly [string, string];
  readonly theirs: readonly [string, string];
  readonly figure: 'goodput' | 'rate' | 'p50';
  /** Of `theirs`, when it is another one. */
  readonly theirFigure?: string;
  readonly peer: string;
  readonly goal?: Goal;
}

const COMPARISONS: readonly Comparison[] = [
  {
    name: 'udp6 goodput',
    ours: ['udp6', 'loopback'],
    theirs: ['dgram', 'loopback'],
    figure: 'goodput',
    peer: 'bare dgram, 4112 bytes, window of 128, loopback',
    goal: { sense: '>=', ratio: 0.7 },
  },
  {
    name: 'udp6 round trip',
    ours: ['udp6', 'loopback'],
    theirs: ['dgram', 'loopback'],
    figure: 'p50',
    peer: 'bare dgram echo, 80 bytes, loopback',
    goal: { sense: '<=', ratio: 1.25 },
  },
  {
    name: 'udp6 goodput',
    ours: ['udp6', 'loopback'],
    theirs: ['dgram-connected', 'loopback'],
    figure: 'goodput',
    peer: 'the same, sockets connected to one peer',
  },
  {
    name: 'udp6 round trip',
    ours: ['udp6', 'loopback'],
    theirs: ['dgram-connected', 'loopback'],
    figure: 'p50',
    peer: 'the same, sockets connected to one peer',
  },
  {
    name: 'udp-offload round trip',
    ours: ['udp-offload', 'loopback'],
    theirs: ['dgram', 'loopback'],
    figure: 'p50',
    peer: 'bare dgram echo, 80 bytes, loopback',
    goal: { sense: '<=', ratio: 0.7 },
  },
  {
    name: 'packet-ring round trip',
    ours: ['packet-ring', 'veth'],
    theirs: ['dgram', 'veth'],
    figure: 'p50',
    peer: 'bare dgram echo, 80 bytes, veth',
    goal: { sense: '<=', ratio: 0.7 },
  },
  {
    name: 'shm round trip',
    ours: ['shm', 'shared memory'],
    theirs: ['dgram', 'loopback'],
    figure: 'p50',
    peer: 'bare dgram echo, 80 bytes, loopback',
    goal: { sense: '<=', ratio: 0.15 },
  },
  {
    name: 'packet-ring goodput',
    ours: ['packet-ring', 'veth'],
    theirs: ['udp6', 'veth'],
    figure: 'goodput',
    peer: 'udp6, veth',
    goal: { sense: '>=', ratio: 1.5 },
  },
  {
    name: 'udp-offload goodput',
    ours: ['udp-offload', 'loopback'],
    theirs: ['udp6', 'loopback'],
    figure: 'goodput',
    peer: 'udp6, loopback',
    goal: { sense: '>=', ratio: 4 },
  },
  {
    name: 'udp-offload goodput',
    ours: ['udp-offload', 'loopback'],
    theirs: ['tcp', 'loopback'],
    figure: 'goodput',
    peer: 'bare TCP stream, loopback',
    goal: { sense: '>=', ratio: 1 },
  },
];

const MIB = 0x10_00_00;

/** The comparisons of which both sides were measured, and a row of losses for every stack of ours. */
export function goalRows(results: readonly ContestantResult[]): readonly BenchRow[] {
  return [...COMPARISONS.flatMap((one) => compare(one, results)), ...results.flatMap(lossRow)];
}

function compare(one: Comparison, results: readonly ContestantResult[]): readonly BenchRow[] {
  const { name, ours, theirs, figure, theirFigure, peer, goal } = one;
  const ourRounds = roundsOf(results, ours, figure);
  const theirRounds = roundsOf(results, theirs, theirFigure ?? figure);
  if (ourRounds.length === 0 || theirRounds.length === 0) return [];
  const unit = { goodput: 'MiB/s', rate: 'messages/s', p50: 'us' }[figure];
  const sides = { unit, peer, ...defined({ goal }) };
  const divisor = figure === 'goodput' ? MIB : 1;
  const scale = (values: readonly number[]): number[] => values.map((value) => value / divisor);
  return [rowFrom(name, sides, scale(ourRounds), scale(theirRounds))];
}

function roundsOf(
  results: readonly ContestantResult[],
  [name, medium]: readonly [string, string],
  figure: string,
): number[] {
  const result = results.find(({ contestant }) => contestant.name === name && contestant.medium === medium);
  return result?.rounds.map((figures) => figures[figure] ?? Number.NaN) ?? [];
}

function lossRow({ contestant, losses }: ContestantResult): readonly BenchRow[] {
  if (!contestant.ours) return [];
  const name = `${contestant.name} lost, ${contestant.medium}`;
  const sides = { unit: 'frames', peer: 'frames sent', goal: { sense: '<=', ratio: 0 } } as const;
  return [rowFrom(name, sides, [losses.lost], [losses.sent])];
}
