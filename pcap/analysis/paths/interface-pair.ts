/**
 * Two interfaces that belong together: puts their frames into the order of one clock, and gives them to the two paths
 * between them.
 *
 * A merged capture is ordered by time stamps. Where clocks differ by seconds, seconds of one side come before what the
 * other side saw at the same moment; so frames wait here until the other side is as far. Owns the frames that wait, a
 * bounded number, and the estimate of the clocks, which is renewed as frames are found.
 */
import type { PathReport } from '../types.ts';
import { type CapturedFrame, isSameFrame } from './captured-frame.ts';
import { type ClockEstimate, offsetAt } from './clock-estimate.ts';
import type { FoundPair } from './first-look.ts';
import { type CaptureSpan, PathMatcher } from './path-matcher.ts';
import type { Way } from './travel.ts';

/** A capture of one interface: how far it is, in corrected time. */
class LiveSpan implements CaptureSpan {
  firstNs = Infinity;
  lastNs = -Infinity;

  extend(timeNs: number): void {
    if (timeNs < this.firstNs) this.firstNs = timeNs;
    if (timeNs > this.lastNs) this.lastNs = timeNs;
  }
}

/** Compares two interfaces. */
export class InterfacePair {
  readonly #pair: FoundPair;
  readonly #spans = [new LiveSpan(), new LiveSpan()] as const;
  readonly #there: WayQueue;
  readonly #back: WayQueue;
  /** Frames between addresses of which no way is known, by key: another sighting tells it. */
  readonly #unknown = new Map<number, CapturedFrame>();
  /** Both were captured from the start to the end, by one clock: they are sides of a bump. */
  readonly #whole: boolean;
  #clock: ClockEstimate;
  #samples = 0;
  #tooLate = 0;

  constructor(pair: FoundPair, maxEvents: number) {
    this.#pair = pair;
    this.#clock = pair.clock;
    const [first, second] = this.#spans;
    const { first: from, second: to, floorsNs } = pair;
    this.#whole = pair.sense.recorded && isSame(this.#clock);
    const slackNs = isSame(this.#clock) ? 0 : Math.min(MOST_SLACK_NS, LEAST_SLACK_NS + this.#clock.uncertaintyNs);
    const make = (way: Way): WayQueue => {
      const [start, end] = way === 1 ? [first, second] : [second, first];
      const matcher = new PathMatcher({
        from: way === 1 ? from : to,
        to: way === 1 ? to : from,
        fromSpan: this.#whole ? ALWAYS : start,
        toSpan: this.#whole ? ALWAYS : end,
        maxEvents,
        floorNs: floorsNs[way === 1 ? 0 : 1],
        whole: this.#whole,
        slackNs,
      });
      return new WayQueue(matcher, start, end, slackNs, (came, left) => this.#found(way, came, left));
    };
    this.#there = make(1);
    this.#back = make(-1);
  }

  /** What is known of the clocks now. */
  get clock(): ClockEstimate {
    return this.#clock;
  }

  /** Takes the next frame of either interface. */
  add(frame: CapturedFrame): void {
    const first = frame.interfaceIndex === this.#pair.first;
    if (!first) {
      frame.offsetNs = Math.round(offsetAt(this.#clock, frame.timeNs));
      frame.timeNs -= frame.offsetNs;
    }
    this.#spans[first ? 0 : 1].extend(frame.timeNs);
    const way = this.#pair.sense.wayOf(frame);
    if (way === 0) this.#wonder(frame);
    else {
      const comes = first === (way === 1);
      const queue = way === 1 ? this.#there : this.#back;
      if (comes) queue.come(frame);
      else if (!this.#cameUnknown(frame)) queue.leave(frame);
    }
    this.#there.release();
    this.#back.release();
  }

  /** Frames of ways that have no report, since the two interfaces are too far apart; after `finish`. */
  get tooLate(): number {
    return this.#tooLate;
  }

  /** One report for each way that frames were seen to go. */
  finish(): PathReport[] {
    return [this.#there, this.#back].flatMap((queue, at) => {
      queue.finish();
      const { matcher } = queue;
      const findings = matcher.report();
      if (matcher.tooLate > findings.frames * MOST_TOO_LATE) {
        this.#tooLate += matcher.tooLate;
        return [];
      }
      // A bump may let nothing pass. Of two captures, one may lack the other direction.
      if (findings.frames === 0 || (matcher.found === 0 && !this.#whole)) return [];
      const { offsetNs, uncertaintyNs, slope } = this.#clock;
      const sign = at === 0 ? 1 : -1;
      const clock = {
        offsetNs: Math.round(sign * offsetNs) || 0,
        uncertaintyNs: Number.isFinite(uncertaintyNs) ? uncertaintyNs : -1,
        driftPpm: Math.round(sign * slope * 1e9) / 1e3 || 0,
      };
      return [{ ...findings, clock }];
    });
  }

  /** A frame that was found without doubt is evidence for the clocks. */
  #found(way: Way, came: CapturedFrame, left: CapturedFrame): void {
    const second = way === 1 ? left : came;
    const first = way === 1 ? came : left;
    const timeNs = second.timeNs + second.offsetNs;
    this.#pair.estimator.add(way === 1, timeNs, timeNs - first.timeNs);
    this.#samples += 1;
    if (this.#samples % RENEWED === 0) this.#clock = this.#pair.estimator.estimate();
  }

  /** The first frames between two addresses tell their way, and are not judged. */
  #wonder(frame: CapturedFrame): void {
    const other = this.#unknown.get(frame.key);
    if (other === undefined || other.interfaceIndex === frame.interfaceIndex || !isSameFrame(other, frame)) {
      this.#unknown.set(frame.key, frame);
      if (this.#unknown.size <= MOST_UNKNOWN) return;
      const [oldest] = this.#unknown.keys();
      if (oldest !== undefined) this.#unknown.delete(oldest);
      return;
    }
    const earlier = other.timeNs - frame.timeNs || other.number - frame.number;
    const came = earlier <= 0 ? other : frame;
    const way = came.interfaceIndex === this.#pair.first ? 1 : -1;
    for (const each of [other, frame]) this.#pair.sense.learn(each, way);
    this.#unknown.delete(frame.key);
  }

  #cameUnknown({ key, interfaceIndex }: CapturedFrame): boolean {
    const other = this.#unknown.get(key);
    if (other === undefined || other.interfaceIndex === interfaceIndex) return false;
    return this.#unknown.delete(key);
  }
}

/** The frames of one way, until both ends are known up to the same time. */
class WayQueue {
  readonly matcher: PathMatcher;
  readonly #coming = new Fifo();
  readonly #leaving = new Fifo();
  readonly #from: CaptureSpan;
  readonly #to: CaptureSpan;
  readonly #slackNs: number;
  readonly #found: (came: CapturedFrame, left: CapturedFrame) => void;

  /** @param slackNs by how much a frame may seem to leave before it came */
  constructor(
    matcher: PathMatcher,
    from: CaptureSpan,
    to: CaptureSpan,
    slackNs: number,
    found: (came: CapturedFrame, left: CapturedFrame) => void,
  ) {
    this.matcher = matcher;
    this.#from = from;
    this.#to = to;
    this.#slackNs = slackNs;
    this.#found = found;
  }

  come(frame: CapturedFrame): void {
    this.#coming.push(frame);
  }

  leave(frame: CapturedFrame): void {
    this.#leaving.push(frame);
  }

  /** Passes on what nothing earlier can come before, and in any case what is too much to keep. */
  release(): void {
    while (this.#step(this.#from.lastNs, this.#to.lastNs)) {}
    while (this.#coming.size + this.#leaving.size > MOST_WAITING) this.#step(Infinity, Infinity);
  }

  finish(): void {
    while (this.#step(Infinity, Infinity)) {}
  }

  /** @param fromNs all that came until then is known, @param toNs all that left */
  #step(fromNs: number, toNs: number): boolean {
    const came = this.#coming.head;
    const left = this.#leaving.head;
    const leftNs = (left?.timeNs ?? toNs) + this.#slackNs;
    const cameNs = came?.timeNs ?? fromNs;
    const inOrder = came === undefined || left === undefined ? 0 : came.number - left.number;
    if (came !== undefined && (cameNs < leftNs || (cameNs === leftNs && inOrder < 0))) {
      this.#coming.shift();
      this.matcher.addIngress(came);
      return true;
    }
    if (left === undefined || !(leftNs < cameNs || (leftNs === cameNs && inOrder > 0))) return false;
    this.#leaving.shift();
    const same = this.matcher.addEgress(left);
    if (same !== undefined) this.#found(same, left);
    return true;
  }
}

/** First in, first out. */
class Fifo {
  #frames: CapturedFrame[] = [];
  #at = 0;

  get size(): number {
    return this.#frames.length - this.#at;
  }

  get head(): CapturedFrame | undefined {
    return this.#frames[this.#at];
  }

  push(frame: CapturedFrame): void {
    this.#frames.push(frame);
  }

  shift(): void {
    this.#at += 1;
    if (this.#at < COMPACTED) return;
    this.#frames = this.#frames.slice(this.#at);
    this.#at = 0;
  }
}

/** Whether nothing says that there are two clocks. */
export function isSame({ offsetNs, slope }: ClockEstimate): boolean {
  return offsetNs === 0 && slope === 0;
}

const ALWAYS: CaptureSpan = { firstNs: -Infinity, lastNs: Infinity };
const MOST_SLACK_NS = 1_000_000;
const LEAST_SLACK_NS = 10_000;
/** Frames of one way that wait for the other side. */
const MOST_WAITING = 65_536;
const MOST_UNKNOWN = 4_096;
/** Share of the frames of a way. */
const MOST_TOO_LATE = 1 / 16;
/** Frames found after which the clocks are looked at again. */
const RENEWED = 2_048;
const COMPACTED = 1_024;
