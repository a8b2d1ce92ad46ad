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
  readonly #expectedNs = new RecentTimes(MOST_EXPECTED);
  /** Requests and answers since it was found. */
  #newer = 0;
  #peak: Peak = NO_PEAK;
  /** Requests that are known to have been late, and the longest time until that showed. */
  #overtaken = 0;
  #longestNs = 0;
  /** Times are full microseconds, or nanoseconds. */
  #stepNs = MICROSECOND_NS;

  constructor(roundTrips: Pick<RoundTrips, 'shortestNs' | 'isSteady'>) {
    this.#roundTrips = roundTrips;
  }

  /** A request is missing that was sent then. */
  missing(sentNs: number): void {
    this.#sentNs.add(sentNs);
    this.#noteTime(sentNs);
    this.#newer++;
  }

  /** A request came late before it was sent again: no duplicate has to tell so. It was there when this answer came. */
  overtaken(sentNs: number, timeNs: number): void {
    this.#overtaken++;
    this.#longestNs = Math.max(this.#longestNs, timeNs - sentNs);
  }

  /** A duplicate is answered, and nothing tells which. */
  answered(timeNs: number): void {
    this.#answeredNs.add(timeNs);
    this.#noteTime(timeNs);
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
   * How long after a request was sent it is answered at the latest, twice as late as usual, nanoseconds; where no
   * lateness is usual, as what was late was so before it was sent again, twice as late as any; undefined: that is not
   * known either, or round trips vary.
   */
  get latestNs(): number | undefined {
    this.#refresh();
    const { shortestNs, isSteady } = this.#roundTrips;
    if (!isSteady) return undefined;
    const { fromNs, toNs } = this.#peak;
    if (toNs >= 0) return toNs + (fromNs - shortestNs) + this.#slackNs;
    return this.#overtaken < SURE ? undefined : 2 * this.#longestNs - Math.min(shortestNs, this.#longestNs);
  }

  /** How long after it was sent one is answered that is as late as usual, nanoseconds; -1: no lateness is usual. */
  get alikeNs(): number {
    this.#refresh();
    return this.#peak.toNs;
  }

  /** Whether one that was answered so long after it was sent was late by what is usual. */
  isAlike(ns: number): boolean {
    this.#refresh();
    const { toNs } = this.#peak;
    return ns <= toNs && ns * ALIKE + this.#slackNs >= toNs;
  }

  /** Whether a duplicate was answered between these times, or may have been: too many others have come since. */
  isAnswered(fromNs: number, toNs: number): boolean {
    return this.#answeredNs.mayHave(fromNs, toNs) || this.#expectedNs.mayHave(fromNs, toNs);
  }

  /**
   * Whether a duplicate was answered when one would be that was sent then, and is as late as usual. Not where it is
   * forgotten: on a busy network that is so of all, long before a verdict.
   */
  isAnsweredAlike(sentNs: number): boolean {
    this.#refresh();
    const { fromNs, toNs, count } = this.#peak;
    if (count < SURE) return false;
    const [from, to] = [sentNs + fromNs - this.#slackNs, sentNs + toNs + this.#slackNs];
    return this.#answeredNs.has(from, to) || this.#expectedNs.has(from, to);
  }

  /** Whether one that was sent then, and is as late as usual, comes where what is sent between these times does. */
  comesBetween(sentNs: number, afterNs: number, beforeNs: number): boolean {
    this.#refresh();
    const { fromNs, toNs } = this.#peak;
    const { shortestNs } = this.#roundTrips;
    const lateNs = sentNs - shortestNs;
    if (toNs < 0) return false;
    return lateNs + toNs + this.#slackNs >= afterNs && lateNs + fromNs - shortestNs * LONGER_SHARE <= beforeNs;
  }

  /** By so much a time that is alike may be longer: packets wait for one another, and clocks have steps. */
  get #slackNs(): number {
    return this.#stepNs + this.#roundTrips.shortestNs * SLACK;
  }

  #noteTime(ns: number): void {
    if (ns % MICROSECOND_NS !== 0) this.#stepNs = 0;
  }

  #refresh(): void {
    if (this.#newer * 8 > this.#sentNs.length + this.#answeredNs.length) this.#find();
  }

  #find(): void {
    this.#newer = 0;
    this.#peak = NO_PEAK;
    const [sent, answered] = [this.#sentNs.sorted, this.#answeredNs.sorted];
    if (sent.length < FEWEST || answered.length < FEWEST) return;
    // It was missed first, and then sent again.
    const leastNs = this.#roundTrips.shortestNs * FEWEST_ROUND_TRIPS;
    const mostNs = Math.min(this.#roundTrips.shortestNs * MOST_ROUND_TRIPS, LONGEST_NS);
    const limits = { mostNs, slackNs: this.#slackNs, stepNs: this.#stepNs };
    this.#peak = rarestOf(pairsOf(sent, answered, leastNs, mostNs * AROUND), limits);
  }
}

/** Times that are alike, and of which there are so many by chance least often. */
interface Peak {
  /** The shortest and the longest of them, nanoseconds; -1: there are none. */
  readonly fromNs: number;
  readonly toNs: number;
  /** Requests, each with an answer of its own. */
  readonly count: number;
}

const NO_PEAK: Peak = { fromNs: -1, toNs: -1, count: 0 };

/** A request, an answer behind it, and the time between them. */
interface Pair {
  readonly ns: number;
  readonly request: number;
  readonly answer: number;
}

/** Nanoseconds: the longest time looked for, by how much times that are alike differ, and the step of the clock. */
interface Limits {
  readonly mostNs: number;
  readonly slackNs: number;
  readonly stepNs: number;
}

/**
 * Requests with the answers between these times behind them, the shortest time first. Of many, those of the last
 * requests.
 */
function pairsOf(sent: readonly number[], answered: readonly number[], leastNs: number, mostNs: number): Pair[] {
  const pairs: Pair[] = [];
  for (let request = sent.length - 1; request >= 0 && pairs.length < MOST_PAIRS; request--) {
    const sentNs = sent[request] as number;
    for (let answer = firstFrom(answered, sentNs + leastNs); answer < answered.length; answer++) {
      const ns = (answered[answer] as number) - sentNs;
      if (ns > mostNs) break;
      pairs.push({ ns, request, answer });
    }
  }
  return pairs.sort((one, other) => one.ns - other.ns);
}

/**
 * The times that are nearest each other for their number. How often so many are so near by chance is reckoned from how
 * many there are around: any of these may be the first of so many.
 */
function rarestOf(pairs: readonly Pair[], { mostNs, slackNs, stepNs }: Limits): Peak {
  let [peak, rarest] = [NO_PEAK, RARE];
  let [from, to] = [0, 0];
  COUNTED_REQUESTS.fill(-1);
  COUNTED_ANSWERS.fill(-1);
  for (const [at, { ns }] of pairs.entries()) {
    if (ns > mostNs) break;
    while ((pairs[from] as Pair).ns * AROUND < ns) from++;
    while (to < pairs.length && (pairs[to] as Pair).ns <= ns * AROUND) to++;
    const longestNs = ns * ALIKE + slackNs;
    if ((pairs[at + FEWEST - 1]?.ns ?? Number.POSITIVE_INFINITY) > longestNs) continue;
    let [requests, answers] = [0, 0];
    for (let end = at; end < Math.min(to, at + MOST_REQUESTS); end++) {
      const { ns: endNs, request, answer } = pairs[end] as Pair;
      if (endNs > longestNs) break;
      requests += isFirst(COUNTED_REQUESTS, request, at);
      answers += isFirst(COUNTED_ANSWERS, answer, at);
      const count = Math.min(requests, answers);
      if (count < FEWEST) continue;
      const width = Math.max((endNs + stepNs) / ns - 1, NARROWEST);
      // Answers may begin or end here: the side that has more of them counts.
      const others = Math.max((at - from) / SHORTER, (to - at - count) / LONGER, FEWEST_OTHERS);
      const rarity = Math.log(to - from) + rarityOf(count - 1, others * width);
      if (rarity >= rarest) continue;
      rarest = rarity;
      peak = { fromNs: ns, toNs: endNs, count };
    }
  }
  return peak;
}

/** 1 when it is counted for `at` the first time; 0 after that. */
function isFirst(counted: Int32Array, index: number, at: number): number {
  if (counted[index] === at) return 0;
  counted[index] = at;
  return 1;
}

/** How rare so many are by chance: the logarithm of a Poisson distribution. */
function rarityOf(count: number, usual: number): number {
  return count * Math.log(usual) - usual - (LOG_FACTORIALS[count] as number);
}

const MICROSECOND_NS = 1_000;
const MOST_REQUESTS = 64;
const MOST_ANSWERS = 256;
/** More of them are due, one for each packet behind a late one. */
const MOST_EXPECTED = 1024;
const MOST_PAIRS = 1024;
/** For which time each request, and each answer, was counted last. */
const COUNTED_REQUESTS = new Int32Array(MOST_REQUESTS);
const COUNTED_ANSWERS = new Int32Array(MOST_ANSWERS);
const LOG_FACTORIALS = new Float64Array(MOST_REQUESTS + 1);
for (let i = 2; i <= MOST_REQUESTS; i++) LOG_FACTORIALS[i] = (LOG_FACTORIALS[i - 1] as number) + Math.log(i);
/** What is later by more is not looked for, however long round trips take. */
const LONGEST_NS = 100_000_000;
/** Times that differ by no more are alike. */
const ALIKE = 1.02;
/** As a share of the time: what a clock measures alike may be so by chance. */
const NARROWEST = 0.0025;
/** Times up to so much shorter and longer are around. */
const AROUND = 4;
/** Those that are shorter, and longer, are so by up to this share of the time. */
const SHORTER = 1 - 1 / AROUND;
const LONGER = AROUND - 1;
/** There may be one, where none is around. */
const FEWEST_OTHERS = 1 / (SHORTER + LONGER);
/** One alone is like no other. */
const FEWEST = 2;
/** Two may be alike by chance. */
const SURE = 3;
/**
 * By chance it is so two times in a hundred. That is no share of what is told falsely: by what is taken for usual then,
 * one is told to be lost that came late only if it was so by more than twice that.
 */
const RARE = Math.log(2e-2);
/** What is answered sooner was not late. */
const FEWEST_ROUND_TRIPS = 1.5;
/** What is later by more is not looked for. */
const MOST_ROUND_TRIPS = 1024;
/** By so much, as a share, the round trip of a full frame is longer. */
const LONGER_SHARE = 0.25;
/** Of a round trip: the time that packets wait for one another. */
const SLACK = 0.05;
