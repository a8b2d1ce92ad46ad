/**
 * A run once more, with other fates for some of its frames: whether a capture of it would have been the same.
 *
 * Owns the comparison. Requests get their fates by their place among all requests. An answer gets the fate of the same
 * answer of the original run; one that the original run lacks is lost, where the network loses answers. Two captures
 * are the same when they have the same frames at the same times, but for what the queues of hosts and wires make of
 * one frame more or less, or of two: two microseconds for each, in which an ACK may also wait for the next one, which
 * stands for it. Identifications and checksums over them are not compared: hosts talk to others as well. A capture ends
 * with its last frame: what is answered later may be missing.
 */
import { type Frame, Op } from 'rocev2/packets';
import { ETHERNET_BYTES } from 'rocev2/packets/network';
import { Fate } from 'rocev2/sim';
import type { Vantage } from './judge.ts';
import { AFTERMATH_NS, type RunOptions, Scene } from './run.ts';
import {
  type Fates,
  type FrameFate,
  isIpv4,
  opcodeOf,
  type PassingFrame,
  type SentFrame,
  type WireLog,
} from './wire-log.ts';

/** A run, where it is captured, and what its network does. */
export interface Original {
  readonly options: Pick<RunOptions, 'seed' | 'ipVersion'>;
  readonly log: Pick<WireLog, 'requests' | 'answers' | 'passed'>;
  readonly vantage: Vantage;
  /** Answers that may be lost beyond those that were. */
  readonly moreLostAnswers: number;
  /** Requests that fare otherwise; default 1. */
  readonly others?: number;
}

/** Whether the run with these fates of its requests has the same capture. */
export async function hasSameCapture(original: Original, fates: Fates): Promise<boolean> {
  const replay = new Replay(original, fates);
  return replay.play();
}

class Replay {
  readonly #original: Original;
  readonly #fates: Fates;
  readonly #scene: Scene;
  readonly #requests: Expected<SentFrame>;
  readonly #answers: Expected<SentFrame>;
  readonly #passed: Expected<PassingFrame>;
  readonly #toleranceNs: number;
  /** The request and the answer that are sent now. */
  #fate: FrameFate = {};
  #sent = 0;
  #moreLost = 0;
  /** Behind that the capture has no answer. */
  readonly #lastAnswerNs: number;
  /** Delays behind the middle, by serial. */
  readonly #lateBehind = new Map<number, FrameFate>();
  #differs: () => void = () => {};
  #isSame = true;

  constructor(original: Original, fates: Fates) {
    this.#original = original;
    this.#fates = fates;
    this.#scene = new Scene(original.options);
    const { log, others = 1 } = original;
    const toleranceNs = others * TOLERANCE_NS;
    this.#toleranceNs = toleranceNs;
    this.#requests = new Expected(log.requests, toleranceNs);
    this.#answers = new Expected(log.answers, toleranceNs);
    this.#lastAnswerNs = log.answers.at(-1)?.timeNs ?? 0;
    this.#passed = new Expected(log.passed, toleranceNs);
  }

  async play(): Promise<boolean> {
    const { stage } = this.#scene;
    this.#giveFates();
    this.#scene.watch((now, { name }, direction, bytes, start, end, fate, serial) => {
      const isRequest = (name === this.#scene.a.name) === (direction === 'out');
      this.#frame(now, isRequest, direction, bytes.subarray(start, end), fate, serial);
    });
    const differs = new Promise<void>((resolve) => {
      this.#differs = () => {
        this.#isSame = false;
        resolve();
      };
    });
    await stage.world.run(Promise.race([this.#scene.work(() => {}), differs]));
    if (this.#isSame) stage.world.runFor(AFTERMATH_NS);
    return this.#isSame && this.#nothingMissing;
  }

  /** Rules are asked in order, each about every frame: the first one only looks. */
  #giveFates(): void {
    const { stage, a, b } = this.#scene;
    const next = (): false => {
      this.#fate = this.#fates.get(this.#sent++) ?? {};
      return false;
    };
    stage.rule({ port: a.name, match: next, action: 'drop' });
    stage.rule({ port: a.name, match: () => this.#fate.lost !== undefined, action: 'drop' });
    stage.rule({ port: a.name, match: () => this.#fate.doubled === true, action: 'duplicate' });
    for (const lateNs of new Set([...this.#fates.values()].map(latenessOf)))
      if (lateNs > 0)
        stage.rule({ port: a.name, match: () => latenessOf(this.#fate) === lateNs, action: 'delay', delayNs: lateNs });
    stage.rule({ port: b.name, match: (frame) => this.#isAnswerLost(frame), action: 'drop' });
  }

  #isAnswerLost({ bytes, start, end }: Frame): boolean {
    const { vantage, moreLostAnswers } = this.#original;
    const same = this.#answers.take(this.#scene.stage.world.now, bytes.subarray(start, end));
    if (same !== undefined) return same.fate.lost !== undefined;
    if (this.#scene.stage.world.now > this.#lastAnswerNs + this.#toleranceNs) return false;
    // It leaves behind a READ response and right before another one, which stands for it had it waited a little.
    const { now } = this.#scene.stage.world;
    const isLeft = this.#answers.has(now - TOLERANCE_NS, now, (other) => !isAck(other));
    if (isLeft && isAck(bytes.subarray(start, end)) && this.#answers.has(now, now + TOLERANCE_NS, isAck)) return true;
    // Seen where it is captured as it is sent.
    if (vantage !== 'requester' || ++this.#moreLost > moreLostAnswers) this.#differs();
    return true;
  }

  #frame(now: number, isRequest: boolean, direction: 'out' | 'in', bytes: Uint8Array, fate: number, serial: number) {
    if (!this.#isSame) return;
    if (isRequest && direction === 'out') {
      if (this.#fate.lost !== undefined || this.#fate.lateBehindNs !== undefined)
        this.#lateBehind.set(serial, this.#fate);
      if (this.#requests.take(now, bytes) === undefined) this.#differs();
    } else if (isRequest && this.#original.vantage === 'middle') {
      const { lost, lateBehindNs = 0 } = this.#lateBehind.get(serial) ?? {};
      const passes = (fate & Fate.Dropped) === 0 || lost === 'behind';
      if (passes && this.#passed.take(now - lateBehindNs, bytes) === undefined) this.#differs();
    }
    if (this.#answers.isOverdue(now, this.#mustAnswer)) this.#differs();
    if (this.#requests.isOverdue(now, () => true)) this.#differs();
  }

  readonly #mustAnswer = ({ fate }: SentFrame): boolean =>
    fate.lost === undefined || this.#original.vantage !== 'requester';

  get #nothingMissing(): boolean {
    const passed = this.#original.vantage !== 'middle' || !this.#passed.isOverdue(Infinity, () => true);
    const answered = !this.#answers.isOverdue(Infinity, this.#mustAnswer);
    return passed && answered && !this.#requests.isOverdue(Infinity, () => true);
  }
}

/** The frames of one direction, each of which comes once. */
class Expected<T extends PassingFrame> {
  readonly #frames: readonly T[];
  readonly #taken: Uint8Array;
  readonly #toleranceNs: number;
  /** Those before it are taken, or need not come. */
  #first = 0;

  constructor(frames: readonly T[], toleranceNs: number) {
    this.#frames = frames;
    this.#toleranceNs = toleranceNs;
    this.#taken = new Uint8Array(frames.length);
  }

  /** The first frame that is the same, at this time. */
  take(now: number, bytes: Uint8Array): T | undefined {
    for (let at = this.#first; at < this.#frames.length; at++) {
      const frame = this.#frames[at] as T;
      if (frame.timeNs > now + this.#toleranceNs) return undefined;
      if (this.#taken[at] === 1 || frame.timeNs < now - this.#toleranceNs || !isSameFrame(frame.bytes, bytes)) continue;
      this.#taken[at] = 1;
      return frame;
    }
    return undefined;
  }

  /** Whether such a one comes in this time. */
  has(fromNs: number, toNs: number, fits: (bytes: Uint8Array) => boolean): boolean {
    return this.#frames.some(({ timeNs, bytes }) => timeNs >= fromNs && timeNs <= toNs && fits(bytes));
  }

  /** Whether one that has to come can come no more. */
  isOverdue(now: number, must: (frame: T) => boolean): boolean {
    for (; this.#first < this.#frames.length; this.#first++) {
      const frame = this.#frames[this.#first] as T;
      if (frame.timeNs >= now - this.#toleranceNs) return false;
      if (this.#taken[this.#first] === 0 && must(frame)) return true;
    }
    return false;
  }
}

/** Whether two frames are the same but for their IPv4 identification and the checksums over it. */
function isSameFrame(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  const counted = isIpv4(one);
  const end = counted ? one.length - ICRC_BYTES : one.length;
  for (let at = 0; at < end; at++) if (one[at] !== other[at] && !(counted && NOT_COMPARED.has(at))) return false;
  return true;
}

/** An ACK or a NAK. */
function isAck(frame: Uint8Array): boolean {
  return opcodeOf(frame) === Op.Acknowledge;
}

function latenessOf({ lateNs = 0, lateBehindNs = 0 }: FrameFate): number {
  return lateNs + lateBehindNs;
}

/** Longer than two full frames take on these wires: one that is late takes its time on the wire of its sender, too. */
const TOLERANCE_NS = 2_000;
const ICRC_BYTES = 4;
/** Identification and checksum of the IPv4 header. */
const NOT_COMPARED: ReadonlySet<number> = new Set([4, 5, 10, 11].map((at) => ETHERNET_BYTES + at));
