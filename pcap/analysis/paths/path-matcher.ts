/**
 * The path from one interface to another, in one direction: matches the frames that came in with those that left, and
 * reports what was done to them.
 *
 * An unchanged frame is matched by its key, a changed one by its similarity to a missing one. Owns the frames in
 * transit, a bounded number: a frame that leaves later counts as dropped.
 */
import { Ecn } from '../../../packets/traffic-class.ts';
import { IcrcState } from '../../dissection.ts';
import { PATH_EFFECTS, type PathEffect, type PathEvent, type PathReport } from '../types.ts';
import { type CapturedFrame, difference } from './captured-frame.ts';
import { differingBytes } from './frame-key.ts';
import { UsualTransit } from './usual-transit.ts';

/** What a matcher reports; what is known of the clocks is added by others. */
export type PathFindings = Omit<PathReport, 'clock'>;

/** From when to when an interface was captured, by the time that the frames have; it may still go on. */
export interface CaptureSpan {
  readonly firstNs: number;
  readonly lastNs: number;
}

/** Which path. */
export interface PathMatcherOptions {
  readonly from: number;
  readonly to: number;
  /** A frame beyond the span of the other interface cannot be there, and is not judged. */
  readonly fromSpan: CaptureSpan;
  readonly toSpan: CaptureSpan;
  readonly maxEvents: number;
  /** The shortest transit time, as far as it is known. */
  readonly floorNs: number;
  /** Both interfaces were captured from start to end by one program, which misses nothing: the sides of a bump. */
  readonly whole: boolean;
  /** By how much a frame may seem to leave before it came. */
  readonly slackNs: number;
}

/** A frame that came, and what became of it. */
interface FramePassage {
  readonly ingress: CapturedFrame | undefined;
  /** Position among those that came. */
  readonly index: number;
  readonly out: number[];
  readonly effects: Set<PathEffect>;
  heldNs: number;
  overtakenBy: number;
}

/** A frame that left, and nothing that came is the same. */
interface UnmatchedFrame {
  readonly first: CapturedFrame;
  /** Position among those that left. */
  readonly exit: number;
  /** Numbers of its copies. */
  readonly copies: number[];
}

/** Pairs what came with what left. */
export class PathMatcher {
  readonly #options: PathMatcherOptions;
  /** Came and not left yet, oldest first. */
  readonly #waiting = new Set<FramePassage>();
  /** By key: the waiting and those that left lately, of which copies may follow. */
  readonly #known = new Map<number, FramePassage[]>();
  readonly #lately: { readonly key: number; readonly passage: FramePassage }[] = [];
  /** Where in `#lately` the next one goes. */
  #next = 0;
  /** Positions, among those that came and those that left, of frames that left before one that came earlier. */
  #ahead: { readonly index: number; readonly exit: number }[] = [];
  /** Left lately. */
  readonly #recent: { readonly passage: FramePassage; readonly exit: number }[] = [];
  /** Left, and equal to nothing that came. */
  readonly #unmatched: UnmatchedFrame[] = [];
  #exits = 0;
  readonly #remarkable: FramePassage[] = [];
  readonly #noted = new Set<FramePassage>();
  readonly #transit: UsualTransit;
  #frames = 0;
  #found = 0;
  #notJudged = 0;
  #tooLate = 0;
  #omitted = 0;
  /** Left as they came, to the byte. */
  #exact = 0;
  /**
   * Left with other MAC addresses, TTL or traffic class. That is true of all frames where there is a router in between.
   */
  readonly #routed: FramePassage[] = [];

  constructor(options: PathMatcherOptions) {
    this.#options = options;
    this.#transit = new UsualTransit(options.floorNs, options.whole);
  }

  /** Frames that were found again. */
  get found(): number {
    return this.#found;
  }

  /** Frames that left when they were not waited for any more. Where these are many, the report is worthless. */
  get tooLate(): number {
    return this.#tooLate;
  }

  addIngress(ingress: CapturedFrame): void {
    const passage = {
      ingress,
      index: this.#frames++,
      out: [],
      effects: new Set<PathEffect>(),
      heldNs: 0,
      overtakenBy: 0,
    };
    this.#waiting.add(passage);
    this.#remember(ingress.key, passage);
    if (this.#waiting.size > MOST_WAITING) this.#dropOldest();
  }

  /** Returns the frame that it is, where that is beyond doubt: one that came once, and has not left before. */
  addEgress(egress: CapturedFrame): CapturedFrame | undefined {
    this.#exits += 1;
    const known = this.#known.get(egress.key) ?? [];
    const passage = this.#bestMatch(known, egress.timeNs);
    if (passage === undefined) this.#addUnmatched(egress);
    else if (this.#waiting.has(passage)) {
      this.#passed(passage, egress, this.#exits);
      return known.length === 1 ? passage.ingress : undefined;
    } else if (passage.out.length === 0) this.#tooLate += 1;
    else {
      passage.out.push(egress.number);
      this.#add(passage, 'duplicated');
    }
    return undefined;
  }

  /**
   * A frame without an equal ingress frame. Its original is found more reliably after the unchanged frames around it
   * have left.
   */
  #addUnmatched(egress: CapturedFrame): void {
    const same = this.#unmatched.find(({ first }) => first.key === egress.key);
    if (same !== undefined) same.copies.push(egress.number);
    else this.#unmatched.push({ first: egress, exit: this.#exits, copies: [] });
    const oldest = this.#unmatched[0];
    if (oldest === undefined || (this.#exits - oldest.exit < PATIENCE && this.#unmatched.length < PATIENCE)) return;
    this.#unmatched.shift();
    this.#matchChanged(oldest);
  }

  #matchChanged({ first, exit, copies }: UnmatchedFrame): void {
    const alike = this.#mostSimilar(first, exit);
    if (alike === undefined) {
      if (isWithin(first.timeNs - this.#transit.floorNs, this.#options.fromSpan))
        for (const number of [first.number, ...copies]) this.#inserted(number);
      return;
    }
    this.#passed(alike, first, exit);
    alike.out.push(...copies);
    if (copies.length > 0) this.#add(alike, 'duplicated');
    this.#remember(first.key, alike);
  }

  report(): PathFindings {
    for (const unmatched of this.#unmatched.splice(0)) this.#matchChanged(unmatched);
    for (const passage of this.#waiting) this.#dropped(passage);
    if (this.#exact > this.#routed.length) for (const passage of this.#routed) this.#add(passage, 'rewritten');
    const heldBeyondNs = this.#transit.heldBeyondNs();
    for (const passage of this.#remarkable) {
      if (passage.heldNs > heldBeyondNs || passage.overtakenBy > 0) passage.effects.add('held');
    }
    const remarkable = this.#remarkable.filter(({ effects }) => effects.size > 0);
    remarkable.sort((one, other) => numberOf(one) - numberOf(other));
    const effects = Object.fromEntries(
      PATH_EFFECTS.map((effect) => [effect, remarkable.filter((passage) => passage.effects.has(effect)).length]),
    ) as Record<PathEffect, number>;
    const events: PathEvent[] = remarkable.map(({ ingress, out, effects: did, heldNs, overtakenBy }) => ({
      in: ingress?.number ?? 0,
      out,
      effects: PATH_EFFECTS.filter((effect) => did.has(effect)),
      heldNs,
      overtakenBy,
    }));
    const { from, to } = this.#options;
    return {
      from,
      to,
      frames: this.#frames,
      notJudged: this.#notJudged,
      transit: { shortestNs: this.#transit.floorNs, medianNs: this.#transit.medianNs, heldBeyondNs },
      effects,
      events,
      eventsOmitted: this.#omitted,
    };
  }

  /** @param exit position among those that left */
  #passed(passage: FramePassage, egress: CapturedFrame, exit: number): void {
    const { ingress } = passage;
    if (ingress === undefined) return;
    this.#waiting.delete(passage);
    passage.out.push(egress.number);
    this.#found += 1;
    // Clocks that are corrected leave a rest.
    passage.heldNs = Math.max(0, Math.round(egress.timeNs - ingress.timeNs));
    this.#countAhead(passage, exit);
    this.#compare(passage, ingress, egress);
    if (passage.overtakenBy === 0) this.#transit.add(passage.heldNs);
    if (passage.overtakenBy > 0 || this.#transit.mayBeHeld(passage.heldNs)) this.#note(passage);
  }

  /** Those that came later and have left before have overtaken it. */
  #countAhead(passage: FramePassage, exit: number): void {
    const { index } = passage;
    passage.overtakenBy = this.#ahead.filter((other) => other.index > index && other.exit < exit).length;
    // A frame that left after this one, before this one was known to have left, was not counted yet.
    for (const later of this.#recent) {
      if (later.exit <= exit || later.passage.index >= index) continue;
      later.passage.overtakenBy += 1;
      this.#note(later.passage);
    }
    this.#recent.push({ passage, exit });
    if (this.#recent.length > 2 * PATIENCE) this.#recent.splice(0, PATIENCE);
    const oldest = this.#waiting.values().next().value?.index ?? Infinity;
    if (oldest < index) this.#ahead.push({ index, exit });
    else this.#ahead = this.#ahead.filter((other) => other.index > oldest);
    if (this.#ahead.length > MOST_AHEAD) this.#ahead.splice(0, this.#ahead.length - MOST_AHEAD);
  }

  #compare(passage: FramePassage, ingress: CapturedFrame, egress: CapturedFrame): void {
    if (difference(ingress, egress, 1) === 0) {
      this.#exact += 1;
      return;
    }
    const marked = isMarkOf(ingress, egress);
    if (marked) this.#add(passage, 'marked');
    if (ingress.key !== egress.key) {
      const damaged = ingress.icrc === IcrcState.Good && egress.icrc !== IcrcState.Good;
      this.#add(passage, damaged ? 'corrupted' : 'rewritten');
    } else if (differsBeyondEcn(ingress, egress, marked)) this.#routed.push(passage);
  }

  /**
   * Of several identical ingress frames, the one whose transit time is closest to the usual one; the newest while no
   * usual time is known. Among equals the oldest, and one that has not left rather than a copy of one that has.
   */
  #bestMatch(known: readonly FramePassage[], timeNs: number): FramePassage | undefined {
    const usual = this.#transit.medianNs;
    let best: FramePassage | undefined;
    let least = Infinity;
    for (const waiting of [true, false]) {
      for (const passage of known) {
        if (this.#waiting.has(passage) !== waiting) continue;
        const off = Math.abs(timeNs - (passage.ingress?.timeNs ?? 0) - usual);
        if (off >= least) continue;
        best = passage;
        least = off;
      }
    }
    return best;
  }

  /**
   * The frame that is missing and most like this one. Of several that are as much alike (without an IP identification,
   * only the PSN differs between neighbours, and that may be what was rewritten) the one in whose place this one left.
   */
  #mostSimilar(egress: CapturedFrame, exit: number): FramePassage | undefined {
    const place = this.#placeOf(exit);
    let best: FramePassage | undefined;
    let least = MOST_CHANGED_BYTES;
    let looked = 0;
    for (const passage of [...this.#waiting].reverse()) {
      if (passage.ingress === undefined || passage.ingress.timeNs > egress.timeNs + this.#options.slackNs) continue;
      if (++looked > MOST_CANDIDATES) break;
      if (!this.#options.whole && !mayBecome(passage.ingress, egress, this.#transit.heldBeyondNs())) continue;
      const differing = difference(passage.ingress, egress, least + 1);
      if (differing > least) continue;
      const nearer = Math.abs(passage.index - place) < Math.abs((best?.index ?? Infinity) - place);
      if (differing === least && !nearer) continue;
      best = passage;
      least = differing;
    }
    return best;
  }

  /** Position, among those that came, of what should have left at this position. */
  #placeOf(exit: number): number {
    let before: { readonly passage: FramePassage; readonly exit: number } | undefined;
    for (const each of this.#recent) if (each.exit < exit && each.exit > (before?.exit ?? 0)) before = each;
    return (before?.passage.index ?? -1) + 1;
  }

  #inserted(number: number): void {
    const passage: FramePassage = {
      ingress: undefined,
      index: -1,
      out: [number],
      effects: new Set(),
      heldNs: 0,
      overtakenBy: 0,
    };
    this.#add(passage, 'inserted');
  }

  #dropOldest(): void {
    const oldest = this.#waiting.values().next().value;
    if (oldest === undefined) return;
    this.#waiting.delete(oldest);
    this.#dropped(oldest);
  }

  #dropped(passage: FramePassage): void {
    const leavesNs = (passage.ingress?.timeNs ?? 0) + this.#transit.floorNs;
    if (!isWithin(leavesNs, this.#options.toSpan)) this.#notJudged += 1;
    else this.#add(passage, 'dropped');
  }

  #add(passage: FramePassage, effect: PathEffect): void {
    this.#note(passage);
    passage.effects.add(effect);
  }

  #note(passage: FramePassage): void {
    if (this.#noted.has(passage)) return;
    if (this.#remarkable.length >= this.#options.maxEvents) {
      this.#omitted += 1;
      return;
    }
    this.#noted.add(passage);
    this.#remarkable.push(passage);
  }

  #remember(key: number, passage: FramePassage): void {
    const known = this.#known.get(key);
    if (known === undefined) this.#known.set(key, [passage]);
    else known.push(passage);
    const oldest = this.#lately[this.#next];
    this.#lately[this.#next] = { key, passage };
    this.#next = (this.#next + 1) % MOST_KNOWN;
    if (oldest === undefined) return;
    const rest = this.#known.get(oldest.key)?.filter((other) => other !== oldest.passage) ?? [];
    if (rest.length > 0) this.#known.set(oldest.key, rest);
    else this.#known.delete(oldest.key);
  }
}

function isWithin(timeNs: number, { firstNs, lastNs }: CaptureSpan): boolean {
  return timeNs >= firstNs && timeNs <= lastNs;
}

function numberOf({ ingress, out }: FramePassage): number {
  return ingress?.number ?? out[0] ?? 0;
}

/**
 * Captures of two ends miss frames, and the neighbours of a missing one are much like it. What was rewritten on the way
 * and is right is there at its time; what was damaged may be there at any time.
 */
function mayBecome(ingress: CapturedFrame, egress: CapturedFrame, longestNs: number): boolean {
  if (egress.damaged && !ingress.damaged) return true;
  return egress.timeNs - ingress.timeNs <= longestNs;
}

/** A switch that marks an IPv4 packet updates its checksum; a flipped bit does not. */
function isMarkOf(ingress: CapturedFrame, egress: CapturedFrame): boolean {
  if (ingress.ecn < 0 || ingress.ecn === Ecn.Ce || egress.ecn !== Ecn.Ce) return false;
  const at = ingress.ipOffset + 10;
  return (
    ingress.ipVersion === 6 || ingress.bytes[at] !== egress.bytes[at] || ingress.bytes[at + 1] !== egress.bytes[at + 1]
  );
}

/** In what routers may change, apart from a mark and the checksum that follows it. */
function differsBeyondEcn(ingress: CapturedFrame, egress: CapturedFrame, marked: boolean): boolean {
  if (!marked) return true;
  const { ipOffset, ipVersion } = ingress;
  const copy = egress.bytes.slice();
  const at = ipOffset + 1;
  // IPv6 has the ECN bits in the upper half of its second byte.
  const mask = ipVersion === 6 ? 0x30 : 0x03;
  copy[at] = ((copy[at] ?? 0) & ~mask) | ((ingress.bytes[at] ?? 0) & mask);
  if (ipVersion === 4) copy.set(ingress.bytes.subarray(ipOffset + 10, ipOffset + 12), ipOffset + 10);
  return ingress.bodyHash !== egress.bodyHash || differingBytes(ingress.bytes, copy, 1) > 0;
}

const MOST_WAITING = 16_384;
const MOST_KNOWN = 65_536;
const MOST_AHEAD = 16_384;
const MOST_CANDIDATES = 512;
/** Frames that leave before a puzzle is solved, and puzzles at a time. */
const PATIENCE = 256;
/** A rewritten field and the checksums that follow it are fewer. */
const MOST_CHANGED_BYTES = 24;
