/**
 * What happened between two interfaces of one capture: finds each frame that came in on one of them again where it left
 * on the other.
 *
 * The two are the sides of a bump in the wire (in on one side, out on the other), or the ends of a wire whose captures
 * were merged (out here, in there; with clocks of their own, and often without directions). A frame is identified by
 * everything that routers and switches leave unchanged (not MAC addresses, TTL, traffic class, checksums).
 * `path-matcher.ts` matches frames that were changed. Comments in the capture are not used.
 *
 * Owns the frames at the beginning of the capture, until `first-look.ts` can tell which interfaces belong together.
 * Never looks at PSNs.
 */
import type { CaptureLimit } from '../capture-limit.ts';
import type { PathReport } from '../types.ts';
import { type CapturedFrame, FrameReader, type PathFacts } from './captured-frame.ts';
import { EarlyFrames } from './early-frames.ts';
import { type FoundPair, firstLook } from './first-look.ts';
import { InterfacePair } from './interface-pair.ts';
import { clockLimit, neverMetLimit, notComparedLimit, tooFarLimit } from './path-limits.ts';
import { SharedFrames } from './shared-frames.ts';

export interface PathComparerOptions {
  /** Events kept for each path; default 100,000. */
  readonly maxEvents?: number;
}

/** Compares interfaces of one capture. */
export class PathComparer {
  readonly #maxEvents: number;
  /** Frames until it is known which interfaces belong together. */
  #early: EarlyFrames | undefined = new EarlyFrames();
  #nextLook = FIRST_LOOK;
  #found: readonly FoundPair[] = [];
  /** By index of the interface. */
  readonly #pairs = new Map<number, InterfacePair>();
  readonly #interfaces = new Set<number>();
  #lastInterface = -1;
  readonly #shared = new SharedFrames();
  readonly #reader = new FrameReader();

  constructor(options: PathComparerOptions = {}) {
    this.#maxEvents = options.maxEvents ?? 100_000;
  }

  /** Takes the next packet. */
  packet(facts: PathFacts): void {
    const { interfaceIndex } = facts.packet;
    if (interfaceIndex !== this.#lastInterface) this.#isOf(interfaceIndex);
    this.#shared.packet(facts);
    const early = this.#early;
    if (early === undefined) {
      if (this.#pairs.size > 0) this.#pairs.get(interfaceIndex)?.add(this.#reader.record(facts));
      return;
    }
    early.add(facts);
    if (early.length < this.#nextLook) return;
    this.#nextLook *= 2;
    if (this.#interfaces.size < 2) {
      if (early.length >= MOST_ALONE) this.#settle([], []);
      return;
    }
    const records = early.records();
    const found = firstLook(records);
    const enough = found.some(({ samples }) => samples >= MANY_SAMPLES);
    if (enough || early.length >= MOST_EARLY) this.#settle(found, records);
  }

  /** One report for each way that frames were seen to go. */
  finish(): PathReport[] {
    const early = this.#early;
    const records = early === undefined || this.#interfaces.size < 2 ? [] : early.records();
    if (early !== undefined) this.#settle(firstLook(records), records);
    return [...new Set(this.#pairs.values())].flatMap((pair) => pair.finish());
  }

  /** What the comparison cannot know, after `finish`. */
  limits(): CaptureLimit[] {
    const clocks = this.#found.flatMap((pair) => clockLimit(pair, this.#pairs.get(pair.first)?.clock ?? pair.clock));
    const far = this.#found.flatMap((pair) => tooFarLimit(pair, this.#pairs.get(pair.first)?.tooLate ?? 0));
    const met = this.#found.length > 0;
    const never = met ? notComparedLimit(this.#found, [...this.#interfaces]) : this.#shared.pairs().map(neverMetLimit);
    return [...clocks, ...far, ...never];
  }

  #isOf(interfaceIndex: number): void {
    this.#lastInterface = interfaceIndex;
    if (this.#interfaces.size < MOST_INTERFACES) this.#interfaces.add(interfaceIndex);
  }

  #settle(found: readonly FoundPair[], early: readonly CapturedFrame[]): void {
    this.#early = undefined;
    this.#found = found;
    for (const pair of found) {
      const compared = new InterfacePair(pair, this.#maxEvents);
      for (const index of [pair.first, pair.second]) this.#pairs.set(index, compared);
    }
    for (const frame of early) this.#pairs.get(frame.interfaceIndex)?.add(frame);
  }
}

/** Frames after which it is first looked at what belongs together; then each time after as many again. */
const FIRST_LOOK = 8_192;
/** Found frames that settle it; with fewer, more frames are waited for, of the other direction for example. */
const MANY_SAMPLES = 512;
/** Frames after which none is waited for any more. */
const MOST_EARLY = 131_072;
/** The same while all are of one interface, as nearly all captures are. */
const MOST_ALONE = 32_768;
const MOST_INTERFACES = 1_024;
