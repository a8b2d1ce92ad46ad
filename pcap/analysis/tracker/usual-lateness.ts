/**
 * By how much requests come late on a network that also brings some twice, where an answer to a duplicate may be about
 * any request.
 *
 * Owns how that is found. The answer to a late request comes when it was sent, and what is late is late by about the
 * same; the answer to a second copy comes at any time. So of the times from each missing request to each answer, those
 * that come again and again, much more often than others, are the lateness. Bounded: the last requests and answers.
 */
import type { RoundTrips } from './round-trips.ts';

export class UsualLateness {
  readonly #roundTrips: Pick<RoundTrips, 'shortestNs' | 'isSteady'>;
  /** When the last missing requests were sent, and the last duplicates answered that nobody expects. */
  readonly #sentNs = new Times(MOST_REQUESTS);
  readonly #answeredNs = new Times(MOST_ANSWERS);
  /** When others were. */
  readonly #expectedNs = new Times(MOST_ANSWERS);
  /** Times from a request to an answer behind it, by their logarithm: how many requests have such, and answers. */
  readonly #requests = new Uint32Array(BINS);
  readonly #answers = new Uint32Array(BINS);
  #isCounted = true;

  constructor(roundTrips: Pick<RoundTrips, 'shortestNs' | 'isSteady'>) {
    this.#roundTrips = roundTrips;
  }

  /** A request is missing that was sent then. */
  missing(sentNs: number): void {
    this.#sentNs.add(sentNs);
    this.#isCounted = false;
  }

  /** A duplicate is answered, and nothing tells which. */
  answered(timeNs: number): void {
    this.#answeredNs.add(timeNs);
    this.#isCounted = false;
  }

  /** The same, where one was expected: it may be about another one all the same. */
  expected(timeNs: number): void {
    this.#expectedNs.add(timeNs);
  }

  /** How many requests were late by about the same, as far as their answers tell; 0: they tell nothing. */
  get count(): number {
    return this.#peak === undefined ? 0 : this.#at(this.#peak);
  }

  /**
   * How long after a request was sent it is answered at the latest, twice as late as usual, nanoseconds; undefined: no
   * lateness is usual, or round trips vary.
   */
  get latestNs(): number | undefined {
    const { shortestNs, isSteady } = this.#roundTrips;
    const peak = this.#peak;
    if (peak === undefined || !isSteady) return undefined;
    const longestNs = FIRST_NS * 2 ** ((peak + 2) / BINS_PER_OCTAVE);
    return (longestNs - Math.min(shortestNs, longestNs)) * LATER + shortestNs;
  }

  /** Whether a duplicate was answered between these times, or may have been: too many others have come since. */
  isAnswered(fromNs: number, toNs: number): boolean {
    return this.#answeredNs.mayHave(fromNs, toNs) || this.#expectedNs.mayHave(fromNs, toNs);
  }

  /** The first of two neighbouring bins that so many belong to by chance least often. */
  get #peak(): number | undefined {
    if (!this.#isCounted) this.#count();
    let best: number | undefined;
    let rarest = RARE;
    const end = Math.min(BINS - 1, binOf(this.#roundTrips.shortestNs * MOST_ROUND_TRIPS));
    for (let bin = 0; bin < end; bin++) {
      const rarity = this.#rarity(bin);
      if (rarity < rarest) [best, rarest] = [bin, rarity];
    }
    return best;
  }

  /** How rare it is by chance: the logarithm of a Poisson distribution, as the bins around are filled. */
  #rarity(bin: number): number {
    const count = this.#at(bin);
    if (count < FEWEST) return 0;
    let around = 0;
    for (let at = Math.max(bin - AROUND, 0); at < Math.min(bin + AROUND, BINS); at++)
      around += this.#requests[at] as number;
    const usual = Math.max(around - inTwo(this.#requests, bin), 1) * SHARE_OF_TWO;
    let rarity = -usual;
    for (let each = 1; each <= count; each++) rarity += Math.log(usual / each);
    return rarity;
  }

  #count(): void {
    this.#isCounted = true;
    const [sent, answered] = [this.#sentNs.all, this.#answeredNs.all];
    countEach(this.#requests, sent, answered, (sentNs, answeredNs) => answeredNs - sentNs);
    countEach(this.#answers, answered, sent, (answeredNs, sentNs) => answeredNs - sentNs);
  }

  /** Each request has an answer of its own. */
  #at(bin: number): number {
    return Math.min(inTwo(this.#requests, bin), inTwo(this.#answers, bin));
  }
}

function inTwo(bins: Uint32Array, bin: number): number {
  return (bins[bin] as number) + (bins[bin + 1] as number);
}

/** Into each bin, how many of `those` have a time to one of `others` that belongs there. */
function countEach(
  bins: Uint32Array,
  those: Float64Array,
  others: Float64Array,
  between: (one: number, other: number) => number,
): void {
  bins.fill(0);
  const own = new Uint8Array(BINS);
  for (const one of those) {
    own.fill(0);
    for (const other of others) {
      const bin = binOf(between(one, other));
      if (bin >= 0 && bin < BINS) own[bin] = 1;
    }
    for (let bin = 0; bin < BINS; bin++) bins[bin] = (bins[bin] as number) + (own[bin] as number);
  }
}

/** The last times of something. */
class Times {
  readonly #ns: Float64Array;
  #count = 0;

  constructor(most: number) {
    this.#ns = new Float64Array(most).fill(Number.NaN);
  }

  add(timeNs: number): void {
    this.#ns[this.#count++ % this.#ns.length] = timeNs;
  }

  get all(): Float64Array {
    return this.#ns;
  }

  /** Whether one is between these, or one that is forgotten may be. */
  mayHave(fromNs: number, toNs: number): boolean {
    if (this.#count > this.#ns.length && !this.#ns.some((ns) => ns < fromNs)) return true;
    return this.#ns.some((ns) => ns > fromNs && ns <= toNs);
  }
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
