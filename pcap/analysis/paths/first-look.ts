/**
 * What the beginning of a capture of several interfaces says: which two of them belong together, which way frames go
 * between them, and how far their clocks are apart.
 *
 * Frames that two interfaces saw once each are the evidence. Which of the two saw a frame first is known where both
 * directions are there: whatever the clocks are, the difference of the times is larger for what goes from the first
 * interface to the second. Owns the choice of pairs, each interface in one at most.
 */
import { Direction } from '../../types.ts';
import { type CapturedFrame, isSameFrame } from './captured-frame.ts';
import { type ClockEstimate, ClockEstimator, offsetAt } from './clock-estimate.ts';
import { outlierFence, type Sample, type Way, wayByOneDirection, waysByBoth } from './travel.ts';
import { type TravelSense, travelByDirection, travelByFlow } from './travel-sense.ts';

/** Two interfaces that belong together. */
export interface FoundPair {
  /** The lower index. */
  readonly first: number;
  readonly second: number;
  readonly sense: TravelSense;
  readonly clock: ClockEstimate;
  readonly estimator: ClockEstimator;
  /** The shortest corrected delays, to the second interface and back; 0 where none is known. */
  readonly floorsNs: readonly [number, number];
  /** Frames that both saw once, that is the evidence. */
  readonly samples: number;
  /** In which direction frames go is a guess: they went in one direction only, and nothing but the clocks tells it. */
  readonly guessed: boolean;
}

/** What is known of the frames so far; those of interfaces without a partner are in no pair. */
export function firstLook(frames: readonly CapturedFrame[]): FoundPair[] {
  const seen = new Map<number, CapturedFrame[]>();
  const directed = new Set<number>();
  const undirected = new Set<number>();
  for (const frame of frames) {
    (frame.direction === Direction.Unknown ? undirected : directed).add(frame.interfaceIndex);
    const same = seen.get(frame.key);
    if (same === undefined) seen.set(frame.key, [frame]);
    else if (same.length < MOST_SIGHTINGS) same.push(frame);
  }
  const candidates: { pair: readonly [number, number]; samples: Sample[]; byDirection: boolean }[] = [];
  const { shared, keys } = sightingsOf(seen);
  for (const [key, sightings] of [...shared].sort(([one], [other]) => one - other)) {
    const pair = [Math.floor(key / INTERFACES), key % INTERFACES] as const;
    const byDirection = pair.every((index) => directed.has(index) && !undirected.has(index));
    const samples = samplesOf(sightings, pair, byDirection);
    if (samples.length === 0) continue;
    // Without directions, a frame that is sent again through another member of a LAG looks the same.
    const fewer = Math.min(...pair.map((index) => keys.get(index) ?? 0));
    if (!byDirection && sightings.length / fewer < LEAST_SHARE) continue;
    candidates.push({ pair, samples, byDirection });
  }
  candidates.sort((one, other) => other.samples.length - one.samples.length);
  const taken = new Set<number>();
  const found: FoundPair[] = [];
  for (const { pair, samples, byDirection } of candidates) {
    if (pair.some((index) => taken.has(index))) continue;
    for (const index of pair) taken.add(index);
    found.push(pairFrom(pair, samples, byDirection, frames));
  }
  return found;
}

/**
 * The sightings of each frame that two interfaces saw, by pair, and how many frames each interface saw. There may be
 * many interfaces, most of which have no frame in common.
 */
function sightingsOf(seen: ReadonlyMap<number, readonly CapturedFrame[]>) {
  const shared = new Map<number, (readonly CapturedFrame[])[]>();
  const keys = new Map<number, number>();
  for (const sightings of seen.values()) {
    const interfaces = [...new Set(sightings.map(({ interfaceIndex }) => interfaceIndex))].sort((a, b) => a - b);
    for (const [at, first] of interfaces.entries()) {
      keys.set(first, (keys.get(first) ?? 0) + 1);
      for (const second of interfaces.slice(at + 1)) {
        const key = first * INTERFACES + second;
        const known = shared.get(key);
        if (known === undefined) shared.set(key, [sightings]);
        else known.push(sightings);
      }
    }
  }
  return { shared, keys };
}

/** Frames that each of the two saw once; where there is none, those that came several times as they came first. */
function samplesOf(
  shared: readonly (readonly CapturedFrame[])[],
  [first, second]: readonly [number, number],
  byDirection: boolean,
): Sample[] {
  const samples: Sample[] = [];
  const repeated: Sample[] = [];
  for (const sightings of shared) {
    const here = sightings.filter(({ interfaceIndex }) => interfaceIndex === first);
    const there = sightings.filter(({ interfaceIndex }) => interfaceIndex === second);
    const [one, other] = [here[0], there[0]];
    if (one === undefined || other === undefined || !isSameFrame(one, other)) continue;
    if (byDirection && one.direction === other.direction) continue;
    const sample = { first: one, second: other, differenceNs: other.timeNs - one.timeNs };
    (here.length === 1 && there.length === 1 ? samples : repeated).push(sample);
  }
  const chosen = samples.length > 0 ? samples : repeated;
  return chosen.sort((a, b) => a.second.timeNs - b.second.timeNs || a.second.number - b.second.number);
}

function pairFrom(
  [first, second]: readonly [number, number],
  samples: readonly Sample[],
  byDirection: boolean,
  frames: readonly CapturedFrame[],
): FoundPair {
  const groups = groupsOf(samples, byDirection);
  const estimator = new ClockEstimator();
  const forward: Sample[] = [];
  const backward: Sample[] = [];
  const settle = (group: readonly Sample[], way: Way): void => {
    for (const sample of group) (way === 1 ? forward : backward).push(sample);
  };
  let guessed = false;
  const alone: (readonly Sample[])[] = [];
  for (const [one, other] of groups.values()) {
    if (one.length === 0 || other.length === 0) alone.push(one.length > 0 ? one : other);
    else {
      const way = waysByBoth(one, other);
      settle(one, way);
      settle(other, way === 1 ? -1 : 1);
    }
  }
  const known = forward.length > 0 ? estimateFrom(estimator, forward, backward) : undefined;
  // Frames of one direction only say nothing about those of another: they are taken to go the same way.
  const together = (): readonly Sample[] => alone.flat().sort((a, b) => a.second.timeNs - b.second.timeNs);
  for (const group of known === undefined && alone.length > 1 ? [together()] : alone) {
    const { way, sure } = wayByOneDirection(group, known, frames);
    guessed ||= !sure;
    settle(group, way);
  }
  const clock = alone.length > 0 || known === undefined ? estimateFrom(estimator, forward, backward) : known;
  const sense = byDirection
    ? travelByDirection(first, comingOf(forward, backward))
    : travelByFlow(first, forward, backward);
  const floorsNs = [shortest(within(forward, 1), clock, 1), shortest(within(backward, -1), clock, -1)] as const;
  return { first, second, sense, clock, estimator, floorsNs, samples: samples.length, guessed };
}

/** The shortest corrected delay. */
function shortest(group: readonly Sample[], clock: ClockEstimate, sign: Way): number {
  let least = Infinity;
  for (const { second, differenceNs } of group)
    least = Math.min(least, sign * (differenceNs - offsetAt(clock, second.timeNs)));
  return Number.isFinite(least) ? Math.max(0, least) : 0;
}

/** Feeds what the estimator has not had, and asks it. */
function estimateFrom(
  estimator: ClockEstimator,
  forward: readonly Sample[],
  backward: readonly Sample[],
): ClockEstimate {
  for (const { second, differenceNs } of within(forward, 1)) estimator.add(true, second.timeNs, differenceNs);
  for (const { second, differenceNs } of within(backward, -1)) estimator.add(false, second.timeNs, differenceNs);
  return estimator.estimate();
}

/** Without what was taken for the same frame and is another one: a loss, and its repetition. */
function within(group: readonly Sample[], sign: Way): Sample[] {
  const fence = outlierFence(group, sign);
  return group.filter(({ differenceNs }) => sign * differenceNs >= fence);
}

/** Samples whose ways are the same or opposite: of one pair of addresses, or all where the capture has directions. */
function groupsOf(samples: readonly Sample[], byDirection: boolean): Map<number, [Sample[], Sample[]]> {
  const groups = new Map<number, [Sample[], Sample[]]>();
  for (const sample of samples) {
    const { source, destination, direction } = sample.first;
    const key = byDirection ? 0 : (source ^ destination) >>> 0;
    let group = groups.get(key);
    if (group === undefined) {
      group = [[], []];
      groups.set(key, group);
    }
    const other = byDirection ? direction === Direction.Inbound : source < destination;
    group[other ? 1 : 0].push(sample);
  }
  return groups;
}

/** The direction in which frames come, to the interface where they come. */
function comingOf(forward: readonly Sample[], backward: readonly Sample[]): Direction {
  return forward[0]?.first.direction ?? backward[0]?.second.direction ?? Direction.Unknown;
}

/** More than a capture has: indices are of 32 bits, and pairs are exact in a double while one is below 2^21. */
const INTERFACES = 2 ** 32;
const MOST_SIGHTINGS = 8;
/** More than loss and retransmission make the same at two members of a LAG. */
const LEAST_SHARE = 0.25;
