/**
 * By how much requests come late on a network that also brings some twice, where an answer to a duplicate may be about
 * any request.
 *
 * Owns how that is found. What is late is late by about the same, so the answers to late requests come after the same
 * time; an answer to a second copy comes at any time. So of the times from each missing request to each answer behind
 * it, one that comes again and again, much more often than by chance, shows the lateness. Bounded: the last requests
 * and answers; it is found again when an eighth of them is new.
 */
import { firstFrom, RecentTimes } from './recent-times.ts';
import type { RoundTrips } from './round-trips.ts';

export class UsualLateness {
  readonly #roundTrips: Pick<RoundTrips, 'shortestNs' | 'isSteady'>;
  /** When the last missing requests were sent, and the last duplicates answered that nobody expects. */
  readonly #sentNs = new RecentTimes(MOST_REQUESTS);
  readonly #answeredNs = new RecentTimes(MOST_ANSWERS);
  /** When others were. */
  readonly #expectedNs = new RecentTimes(MOST_ANSWERS);
  /** Requests and answers since it was found. */
  #newer = 0;
  #peak: Peak = NO_PEAK;

  constructor(roundTrips: Pick<RoundTrips, 'shortestNs' | 'isSteady'>) {
    this.#roundTrips = roundTrips;
  }

  /** A request is missing that was sent then. */
  missing(sentNs: number): void {
    this.#sentNs.add(sentNs);
    this.#newer++;
  }

  /** A duplicate is answered, and nothing tells which. */
  answered(timeNs: number): void {
    this.#answeredNs.add(timeNs);
    this.#newer++;
  }

  /** The same, where one was expected: it may be about another one all the same. */
  expected(timeNs: number): void {
    this.#expectedNs.add(timeNs);
  }

  /** The capture ends: all that is known counts. */
  finish(): void {
    this.#find();
  }

  /** How many requests were late by about the same, as far as their answers tell; 0: they tell nothing. */
  get count(): number {
    this.#refresh();
    return this.#peak.count;
  }

  /**
   * How long after a request was sent it is answered at the latest, twice as late as usual, nanoseconds; undefined: no
   * lateness is usual, or round trips vary.
   */
  get latestNs(): number | undefined {
    this.#refresh();
    const { shortestNs, isSteady } = this.#roundTrips;
    const { longestNs } = this.#peak;
    if (longestNs < 0 || !isSteady) return undefined;
    return (longestNs - Math.min(shortestNs, longestNs)) * LATER + shortestNs;
  }

  /** Whether a duplicate was answered between these times, or may have been: too many others have come since. */
  isAnswered(fromNs: number, toNs: number): boolean {
    return this.#answeredNs.mayHave(fromNs, toNs) || this.#expectedNs.mayHave(fromNs, toNs);
  }

  #refresh(): void {
    if (this.#newer * 8 > this.#sentNs.length + this.#answeredNs.length) this.#find();
  }

  #find(): void {
    this.#newer = 0;
    this.#peak = NO_PEAK;
    const [sent, answered] = [this.#sentNs.sorted, this.#answeredNs.sorted];
    if (sent.length < FEWEST || answered.length < FEWEST) return;
    const end = Math.min(BINS - 1, binOf(this.#roundTrips.shortestNs * MOST_ROUND_TRIPS));
    countPairs(sent, answered, beginOf(end + AROUND + 1));
    let rarest = RARE;
    for (let bin = 0; bin < end; bin++) {
      const count = inTwo(bin);
      const rarity = count < FEWEST ? 0 : rarityOf(bin, count);
      if (rarity >= rarest) continue;
      rarest = rarity;
      this.#peak = { longestNs: beginOf(bin + 2), count };
    }
  }
}

/** The two neighbouring bins that so many belong to by chance least often. */
interface Peak {
  /** Where they end; -1: there are none. */
  readonly longestNs: number;
  /** Requests, each with an answer of its own. */
  readonly count: number;
}

const NO_PEAK: Peak = { longestNs: -1, count: 0 };

/**
 * Into each bin, how many requests have an answer behind them by as much, and how many answers a request before them.
 * @param longestNs no bin counts that has longer times
 */
function countPairs(sent: readonly number[], answered: readonly number[], longestNs: number): void {
  REQUESTS.fill(0);
  COUNTED_FOR.fill(-1);
  for (const [at, sentNs] of sent.entries())
    for (let i = firstFrom(answered, sentNs); i < answered.length; i++) {
      const ns = (answered[i] as number) - sentNs;
      if (ns > longestNs) break;
      countOnce(REQUESTS, binOf(ns), at);
    }
  ANSWERS.fill(0);
  COUNTED_FOR.fill(-1);
  for (const [at, answeredNs] of answered.entries())
    for (let i = firstFrom(sent, answeredNs - longestNs); i < sent.length; i++) {
      const ns = answeredNs - (sent[i] as number);
      if (ns < FIRST_NS) break;
      countOnce(ANSWERS, binOf(ns), at);
    }
}

function countOnce(bins: Uint32Array, bin: number, at: number): void {
  if (bin < 0 || bin >= BINS || COUNTED_FOR[bin] === at) return;
  COUNTED_FOR[bin] = at;
  bins[bin] = (bins[bin] as number) + 1;
}

/** Each request has an answer of its own. */
function inTwo(bin: number): number {
  const two = (bins: Uint32Array): number => (bins[bin] as number) + (bins[bin + 1] as number);
  return Math.min(two(REQUESTS), two(ANSWERS));
}

/** How rare it is by chance: the logarithm of a Poisson distribution, as the bins around are filled. */
function rarityOf(bin: number, count: number): number {
  let around = 0;
  for (let at = Math.max(bin - AROUND, 0); at < Math.min(bin + AROUND, BINS); at++)
    if (at !== bin && at !== bin + 1) around += REQUESTS[at] as number;
  const usual = Math.max(around, 1) * SHARE_OF_TWO;
  let rarity = -usual;
  for (let each = 1; each <= count; each++) rarity += Math.log(usual / each);
  return rarity;
}

/** The shortest time that belongs into a bin. */
function beginOf(bin: number): number {
  return FIRST_NS * 2 ** (bin / BINS_PER_OCTAVE);
}

function binOf(ns: number): number {
  return ns < FIRST_NS ? -1 : Math.floor(Math.log2(ns / FIRST_NS) * BINS_PER_OCTAVE);
}

const MOST_REQUESTS = 64;
const MOST_ANSWERS = 256;
/** From a microsecond to a tenth of a second. */
const FIRST_NS = 1_000;
const OCTAVES = 17;
const BINS_PER_OCTAVE = 64;
const BINS = OCTAVES * BINS_PER_OCTAVE;
/** Times from a request to an answer behind it, by their logarithm: how many requests have such, and answers. */
const REQUESTS = new Uint32Array(BINS);
const ANSWERS = new Uint32Array(BINS);
/** The last one that was counted in a bin. */
const COUNTED_FOR = new Int32Array(BINS);
/** Two octaves to each side. */
const AROUND = 2 * BINS_PER_OCTAVE;
/** The share that two bins are of these, as wide as they are. */
const SHARE_OF_TWO = (2 ** (2 / BINS_PER_OCTAVE) - 1) / (4 - 1 / 4);
/** Fewer are never rare enough. */
const FEWEST = 3;
/** By chance it is so once in a hundred thousand times. */
const RARE = Math.log(1e-5);
/** What is later by more is not looked for. */
const MOST_ROUND_TRIPS = 32;
/** Of the longest time by which one is usually late. */
const LATER = 2;
