/**
 * Which of two interfaces a frame passed first, by what the frames of a group have in common. Pure functions.
 */
import type { CapturedFrame } from './captured-frame.ts';
import { type ClockEstimate, offsetAt } from './clock-estimate.ts';

/** A frame that both interfaces saw. */
export interface Sample {
  readonly first: CapturedFrame;
  readonly second: CapturedFrame;
  /** Time at the second less time at the first, each by its own clock. */
  readonly differenceNs: number;
}

/** 1: from the first interface to the second, -1: back. */
export type Way = 1 | -1;

/**
 * The way of the frames in `one`, which is opposite to that of those in `other`. Neighbours in time are compared, so
 * that a drift of the clocks does not matter; both in the order of time. Where all differences are the same, the order
 * in the capture decides.
 */
export function waysByBoth(one: readonly Sample[], other: readonly Sample[]): Way {
  let votes = 0;
  let at = 0;
  for (const sample of one) {
    while (at + 1 < other.length && (other[at + 1]?.second.timeNs ?? 0) <= sample.second.timeNs) at += 1;
    votes += Math.sign(sample.differenceNs - (other[at]?.differenceNs ?? 0));
  }
  if (votes !== 0) return votes > 0 ? 1 : -1;
  return votesByOrder(one) - votesByOrder(other) >= 0 ? 1 : -1;
}

/**
 * The way of frames of which none went back. By the clocks, where they are known from others; by TTLs, where there is a
 * router in between; by losses, since what is lost is seen before and not after; by the longer delays, since a delay
 * has a least and no most. Otherwise the clocks have to be taken for the same one, and `sure` is false.
 */
export function wayByOneDirection(
  group: readonly Sample[],
  clock: ClockEstimate | undefined,
  frames: readonly CapturedFrame[],
): { readonly way: Way; readonly sure: boolean } {
  const votes = (vote: (sample: Sample) => number): number =>
    group.reduce((sum, sample) => sum + Math.sign(vote(sample)), 0);
  const certain =
    (clock === undefined ? 0 : votes(({ differenceNs, second }) => differenceNs - offsetAt(clock, second.timeNs))) ||
    votes(({ first, second }) => first.hopLimit - second.hopLimit);
  if (certain !== 0) return { way: certain > 0 ? 1 : -1, sure: true };
  const likely = lossesOf(group, frames) || tailOf(group);
  if (likely !== 0) return { way: likely > 0 ? 1 : -1, sure: true };
  const assumed = votes(({ differenceNs }) => differenceNs) || votesByOrder(group);
  return { way: assumed >= 0 ? 1 : -1, sure: false };
}

/**
 * What lies beyond this, on the side of short delays, is too far from all others to be the same frame.
 *
 * @param sign of the way of the group
 */
export function outlierFence(group: readonly Sample[], sign: Way): number {
  const sorted = Float64Array.from(group, ({ differenceNs }) => sign * differenceNs).sort();
  const quarter = sorted[sorted.length >>> 2] ?? 0;
  const half = sorted[sorted.length >>> 1] ?? 0;
  return quarter - 10 * (half - quarter) - FENCE_NS;
}

function votesByOrder(group: readonly Sample[]): number {
  return group.reduce((sum, { first, second }) => sum + Math.sign(second.number - first.number), 0);
}

/** Frames of these addresses that one interface alone saw, while both saw others: positive when that is the first. */
function lossesOf(group: readonly Sample[], frames: readonly CapturedFrame[]): number {
  const [here, there] = [group[0]?.first.interfaceIndex ?? -1, group[0]?.second.interfaceIndex ?? -1];
  const spans = [spanOf(group, ({ first }) => first), spanOf(group, ({ second }) => second)] as const;
  const flows = new Set(group.map(({ first }) => first.source ^ Math.imul(first.destination, 31)));
  const keys = [new Set<number>(), new Set<number>()] as const;
  for (const { interfaceIndex, timeNs, key, source, destination } of frames) {
    if (!flows.has(source ^ Math.imul(destination, 31))) continue;
    if (interfaceIndex !== here && interfaceIndex !== there) continue;
    const side = interfaceIndex === here ? 0 : 1;
    if (timeNs >= spans[side].from && timeNs <= spans[side].to) keys[side].add(key);
  }
  const onlyHere = keys[0].size - both(keys[0], keys[1]);
  const onlyThere = keys[1].size - both(keys[0], keys[1]);
  // What was changed on the way is at both, as two different frames.
  return Math.abs(onlyHere - onlyThere) > Math.sqrt(Math.min(onlyHere, onlyThere)) ? onlyHere - onlyThere : 0;
}

function spanOf(group: readonly Sample[], of: (sample: Sample) => CapturedFrame): { from: number; to: number } {
  let [from, to] = [Infinity, -Infinity];
  for (const sample of group) {
    const { timeNs } = of(sample);
    from = Math.min(from, timeNs);
    to = Math.max(to, timeNs);
  }
  return { from, to };
}

function both(one: ReadonlySet<number>, other: ReadonlySet<number>): number {
  let count = 0;
  for (const key of one) if (other.has(key)) count += 1;
  return count;
}

/** Positive when the large differences are spread out and the small ones are not. */
function tailOf(group: readonly Sample[]): number {
  if (group.length < FEW_SAMPLES) return 0;
  const sorted = Float64Array.from(group, ({ differenceNs }) => differenceNs).sort();
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] as number;
  const above = at(0.98) - at(0.5);
  const below = at(0.5) - at(0.02);
  return Math.max(above, below) > 4 * Math.min(above, below) + TAIL_NS ? above - below : 0;
}

const FENCE_NS = 50_000;
const FEW_SAMPLES = 50;
/** A difference that the resolution of the times may make. */
const TAIL_NS = 4_000;
