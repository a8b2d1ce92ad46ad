/**
 * How far the clocks of two interfaces are apart, from frames that both saw.
 *
 * A frame that goes from the first interface to the second cannot arrive before it left: the clock of the second is
 * ahead by at most the difference of the two times. A frame that goes back says by how much at least. The smallest
 * delays of both directions leave an interval, whose middle is the estimate: half of their asymmetry is taken for the
 * offset, and half of their sum is the uncertainty. With drift the interval is a strip between two lines, of the slope
 * for which it is widest. Clocks that may be the same are taken to be the same.
 *
 * Owns the smallest delays, a bounded number: one for each direction and stretch of time.
 */

/** A line: how much the second clock is ahead, and how sure that is. */
export interface ClockEstimate {
  /** By how much the second clock is ahead at `atNs`; negative: it is behind. */
  readonly offsetNs: number;
  /** Time by the second clock. */
  readonly atNs: number;
  /** How much faster the second clock runs, ns in each ns. */
  readonly slope: number;
  /** The true offset differs by no more than this, anywhere in the capture; Infinity: only a bound is known. */
  readonly uncertaintyNs: number;
  /** Frames of both directions: `both`, or of the one only: the offset is a bound. */
  readonly from: 'both' | 'one-direction';
}

/** Clocks of which nothing says that they differ. */
export const SAME_CLOCK: ClockEstimate = { offsetNs: 0, atNs: 0, slope: 0, uncertaintyNs: Infinity, from: 'both' };

/** By how much the second clock is ahead at this time of it. */
export function offsetAt({ offsetNs, atNs, slope }: ClockEstimate, timeNs: number): number {
  return offsetNs + slope * (timeNs - atNs);
}

/** Collects differences of times. */
export class ClockEstimator {
  readonly #forward = new Extremes(1);
  readonly #backward = new Extremes(-1);

  /**
   * Takes a frame that both saw.
   *
   * @param forward it went from the first interface to the second
   * @param timeNs when the second interface saw it, by the clock of that
   * @param differenceNs that time, less the time when the first interface saw it
   */
  add(forward: boolean, timeNs: number, differenceNs: number): void {
    (forward ? this.#forward : this.#backward).add(timeNs, differenceNs);
  }

  /** What is known so far. */
  estimate(): ClockEstimate {
    const forward = this.#forward.points();
    const backward = this.#backward.points();
    if (forward.length === 0 && backward.length === 0) return SAME_CLOCK;
    if (forward.length === 0 || backward.length === 0) return oneWay(forward, backward);
    const whole = new Strip(forward, backward);
    if (whole.widest >= -RESOLUTION_NS) return whole.estimate();
    // The drift itself has changed: the latest part of the capture counts for what comes.
    const [from, to] = [whole.firstNs, whole.lastNs];
    const isLate = ({ timeNs }: Point): boolean => timeNs >= to - (to - from) / 8;
    const [upper, lower] = [forward.filter(isLate), backward.filter(isLate)];
    return (upper.length > 0 && lower.length > 0 ? new Strip(upper, lower) : whole).estimate();
  }
}

interface Point {
  readonly timeNs: number;
  readonly differenceNs: number;
}

/** The smallest differences, or with sign -1 the largest, of up to 128 stretches of time. */
class Extremes {
  readonly #sign: 1 | -1;
  #points: (Point | undefined)[] = [];
  #startNs = 0;
  #stretchNs = 1_000;

  constructor(sign: 1 | -1) {
    this.#sign = sign;
  }

  add(timeNs: number, differenceNs: number): void {
    if (this.#points.length === 0) this.#startNs = timeNs;
    let at = Math.max(0, Math.floor((timeNs - this.#startNs) / this.#stretchNs));
    while (at >= MOST_STRETCHES) {
      this.#join();
      at = Math.floor(at / 2);
    }
    this.#points[at] = this.#better(this.#points[at], { timeNs, differenceNs });
  }

  points(): Point[] {
    return this.#points.filter((point) => point !== undefined);
  }

  #join(): void {
    const joined: (Point | undefined)[] = [];
    for (let at = 0; at < this.#points.length; at += 2)
      joined.push(this.#better(this.#points[at], this.#points[at + 1]));
    this.#points = joined;
    this.#stretchNs *= 2;
  }

  #better(one: Point | undefined, other: Point | undefined): Point | undefined {
    if (one === undefined || other === undefined) return one ?? other;
    return this.#sign * (other.differenceNs - one.differenceNs) < 0 ? other : one;
  }
}

/** All offsets between what frames of both directions allow. */
class Strip {
  readonly firstNs: number;
  readonly lastNs: number;
  /** Its width where it is widest; negative: no line lies between. */
  readonly widest: number;
  readonly #upper: readonly Point[];
  readonly #lower: readonly Point[];
  readonly #atNs: number;
  readonly #steep: number;

  constructor(upper: readonly Point[], lower: readonly Point[]) {
    this.#upper = hullOf(upper, 1);
    this.#lower = hullOf(lower, -1);
    const times = [...upper, ...lower].map(({ timeNs }) => timeNs);
    this.firstNs = Math.min(...times);
    this.lastNs = Math.max(...times);
    this.#atNs = Math.round((this.firstNs + this.lastNs) / 2);
    this.#steep = peakOf((slope) => this.#width(slope), -MOST_SLOPE, MOST_SLOPE);
    this.widest = this.#width(this.#steep);
  }

  estimate(): ClockEstimate {
    const level = this.#width(0);
    const slope = level >= 0 && level * 2 >= this.widest ? 0 : this.#steep;
    const [low, high] = [this.#low(slope), this.#high(slope)];
    const same = slope === 0 && low <= RESOLUTION_NS && high >= -RESOLUTION_NS;
    const offsetNs = same ? 0 : (low + high) / 2;
    return { offsetNs, atNs: this.#atNs, slope, uncertaintyNs: this.#uncertainty(offsetNs, slope), from: 'both' };
  }

  /** How far from the estimate a line can be that the frames allow as well. */
  #uncertainty(offsetNs: number, slope: number): number {
    if (this.widest < 0) return Math.ceil(-this.widest) + RESOLUTION_NS;
    const least = edgeOf((value) => this.#width(value), this.#steep, -MOST_SLOPE);
    const most = edgeOf((value) => this.#width(value), this.#steep, MOST_SLOPE);
    let furthest = 0;
    for (const timeNs of [this.firstNs, this.lastNs]) {
      const along = timeNs - this.#atNs;
      const top = (value: number): number => this.#high(value) + value * along;
      const bottom = (value: number): number => -(this.#low(value) + value * along);
      const here = offsetNs + slope * along;
      furthest = Math.max(furthest, top(peakOf(top, least, most)) - here, here + bottom(peakOf(bottom, least, most)));
    }
    return Math.ceil(furthest) + 1;
  }

  #width(slope: number): number {
    return this.#high(slope) - this.#low(slope);
  }

  #high(slope: number): number {
    let least = Infinity;
    for (const { timeNs, differenceNs } of this.#upper)
      least = Math.min(least, differenceNs - slope * (timeNs - this.#atNs));
    return least;
  }

  #low(slope: number): number {
    let most = -Infinity;
    for (const { timeNs, differenceNs } of this.#lower)
      most = Math.max(most, differenceNs - slope * (timeNs - this.#atNs));
    return most;
  }
}

/**
 * Frames of one direction only bound the offset. It is corrected so far that causes come before effects; the drift is
 * what makes the delays most even.
 */
function oneWay(forward: readonly Point[], backward: readonly Point[]): ClockEstimate {
  const sign = forward.length > 0 ? 1 : -1;
  const points = (forward.length > 0 ? forward : backward).map(({ timeNs, differenceNs }) => ({
    timeNs,
    differenceNs: sign * differenceNs,
  }));
  const atNs = points[points.length >>> 1]?.timeNs ?? 0;
  const bound = (slope: number): number =>
    Math.min(...points.map(({ timeNs, differenceNs }) => differenceNs - slope * (timeNs - atNs)));
  const spread = (slope: number): number =>
    points.reduce((sum, { timeNs, differenceNs }) => sum + differenceNs - slope * (timeNs - atNs), 0) / points.length -
    bound(slope);
  const steep = points.length < FEW_POINTS ? 0 : peakOf((slope) => -spread(slope), -MOST_SLOPE, MOST_SLOPE);
  const slope = spread(0) > 2 * spread(steep) + RESOLUTION_NS ? steep : 0;
  const least = bound(slope);
  const same = slope === 0 && least >= -RESOLUTION_NS;
  return {
    offsetNs: same ? 0 : sign * least,
    atNs,
    slope: sign * slope,
    uncertaintyNs: Infinity,
    from: 'one-direction',
  };
}

/** Those of the points, in the order of time, that a line below them (with sign -1: above) can touch. */
function hullOf(points: readonly Point[], sign: 1 | -1): Point[] {
  const hull: Point[] = [];
  for (const point of points.toSorted((one, other) => one.timeNs - other.timeNs)) {
    for (let last = hull.at(-1), before = hull.at(-2); last !== undefined && before !== undefined; ) {
      const way = (point.timeNs - before.timeNs) * (last.differenceNs - before.differenceNs);
      const straight = (last.timeNs - before.timeNs) * (point.differenceNs - before.differenceNs);
      if (sign * (way - straight) < 0) break;
      hull.pop();
      last = before;
      before = hull.at(-2);
    }
    hull.push(point);
  }
  return hull;
}

/** Where a concave function is largest. */
function peakOf(height: (at: number) => number, from: number, to: number): number {
  let low = from;
  let high = to;
  for (let step = 0; step < SEARCH_STEPS; step++) {
    const [left, right] = [low + (high - low) / 3, high - (high - low) / 3];
    if (height(left) < height(right)) low = left;
    else high = right;
  }
  return (low + high) / 2;
}

/** How far towards `limit` a concave function that is not negative at `from` stays so. */
function edgeOf(height: (at: number) => number, from: number, limit: number): number {
  if (height(limit) >= 0) return limit;
  let inside = from;
  let outside = limit;
  for (let step = 0; step < SEARCH_STEPS; step++) {
    const middle = (inside + outside) / 2;
    if (height(middle) >= 0) inside = middle;
    else outside = middle;
  }
  return outside;
}

const MOST_STRETCHES = 128;
/** Clocks that differ more than this, 500 ppm, are broken. */
const MOST_SLOPE = 500e-6;
/** Times of classic captures are cut to microseconds, at both ends. */
const RESOLUTION_NS = 2_000;
const SEARCH_STEPS = 60;
/** Fewer say nothing about a drift where only one direction is known. */
const FEW_POINTS = 8;
