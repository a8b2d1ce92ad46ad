/**
 * One direction of a port's wire: decides what happens to each frame and when it comes out at the other end. Owns the
 * seeded decisions, the rules, the rate and its backlog, and the order of frames: only a reordered or rule-delayed
 * frame is overtaken, jitter keeps the order. With a rate no two frames come out closer than it permits, copies and
 * late ones among them. Never touches the bytes and never delivers: `network.ts` does.
 *
 * It decides everything when a frame arrives, marks by `ecn` among it: by the queue in front of the frame. A switch
 * marks by the queue behind a frame as it leaves (ref:dcqcn#1); here the mark is older by the time in the queue, and
 * control loops oscillate more. Where that matters use `SwitchedNetwork`, or `src/faults/departures.ts` for wires in
 * real time.
 */
import { Frame, type Medium, parseFrame } from '../../packets/frame.ts';
import { markingProbability } from '../ground/ecn.ts';
import type { Prng } from '../ground/prng.ts';
import {
  type ActiveRule,
  checkFaultSpec,
  Fate,
  type FaultSpec,
  newWireCounters,
  type WireCounters,
  type WireDirection,
} from './fault-spec.ts';

const DEFAULT_SEND_QUEUE_BYTES = 0x4_00_00;
const DEFAULT_HOLD_BACK_NS = 10_000;
const NS_BITS_PER_BYTE = 8e9;
/** More than the error of sums of times, which must not move an exit by a nanosecond; less than any clock tells. */
const SUM_ERROR_NS = 1e-3;

/** One direction of a port's wire. */
export class Wire {
  /** What was done to frames so far. */
  readonly counters: WireCounters = newWireCounters();
  /**
   * Set by `decide`: the bit of the frame that is flipped when its fate is Corrupted.
   *
   * @internal
   */
  corruptBit = 0;
  /**
   * Set by `decide`: the delay of the second copy when its fate is Duplicated.
   *
   * @internal
   */
  duplicateDelayNs = 0;
  /**
   * Set by `decide`: whether the frame was dropped in front of the queue for the rate, so that it takes no time there.
   *
   * @internal
   */
  overflowed = false;
  /**
   * Set by `exitTime`: when the first byte of the frame leaves the queue for the rate; fractional.
   *
   * @internal
   */
  startNs = 0;
  /**
   * Whether any fault is possible here; when not, `decide` and `exitTime` need not be called.
   *
   * @internal
   */
  active = false;

  readonly #direction: WireDirection;
  readonly #random: Prng;
  readonly #latencyNs: number;
  readonly #rules: ActiveRule[] = [];
  #spec: FaultSpec = {};
  #queueBytes = Infinity;
  /** Nanoseconds per byte; 0 without a rate. */
  #byteNs = 0;
  /** When the last byte taken will have left; fractional, so that rounding does not add up. */
  #freeAtNs = 0;
  /** Exit of the latest frame that keeps the order; fractional. */
  #lastExitNs = 0;
  /** When frames out of their order come out: the first and the last byte of each; fractional. */
  readonly #late: { readonly fromNs: number; readonly untilNs: number }[] = [];
  #holdBackNs = 0;

  /**
   * @param latencyNs what every frame takes, before any fault
   *
   * @internal
   */
  constructor(direction: WireDirection, spec: FaultSpec, latencyNs: number, random: Prng) {
    this.#direction = direction;
    this.#latencyNs = latencyNs;
    this.#random = random;
    this.setFaults(spec);
  }

  /** The specification at work. */
  get faults(): FaultSpec {
    return this.#spec;
  }

  /** Replaces the specification; frames on their way keep their times. @throws RoceError ERR_ROCE_ARGUMENT */
  setFaults(spec: FaultSpec): void {
    checkFaultSpec(spec);
    this.#spec = spec;
    this.#byteNs = spec.rateBps === undefined ? 0 : NS_BITS_PER_BYTE / spec.rateBps;
    this.#queueBytes = spec.queueBytes ?? (this.#direction === 'send' ? DEFAULT_SEND_QUEUE_BYTES : Infinity);
    this.#updateActive();
  }

  /** @internal */
  addRule(rule: ActiveRule): void {
    this.#rules.push(rule);
    this.#updateActive();
  }

  /** @internal */
  removeRule(rule: ActiveRule): void {
    const at = this.#rules.indexOf(rule);
    if (at >= 0) this.#rules.splice(at, 1);
    this.#updateActive();
  }

  /** Whether `queueBytes` wait for the rate: a sender takes no more, a receiver drops. */
  full(now: number): boolean {
    return this.#byteNs > 0 && this.backlogBytes(now) >= this.#queueBytes;
  }

  /** When half of the queue will have drained: time to take frames again. */
  drainTime(now: number): number {
    return Math.max(now + 1, Math.ceil(this.#freeAtNs - (this.#queueBytes / 2) * this.#byteNs));
  }

  /** Bytes that wait for the rate; 0 without one. */
  backlogBytes(now: number): number {
    return this.#byteNs === 0 ? 0 : Math.max(0, this.#freeAtNs - now) / this.#byteNs;
  }

  /**
   * The fate of a frame that enters now, bits of `Fate`; counts it. The caller carries it out.
   *
   * @internal
   */
  decide(now: number, bytes: Uint8Array, view: DataView, start: number, end: number, medium: Medium): number {
    const { counters } = this;
    counters.frames++;
    counters.bytes += end - start;
    if (!this.active) return Fate.Delivered;
    this.#holdBackNs = 0;
    this.overflowed = false;
    this.duplicateDelayNs = this.#spec.duplicateDelayNs ?? 0;
    let fate = this.#rules.length > 0 ? this.#applyRules(bytes, view, start, end, medium) : 0;
    if ((fate & Fate.Dropped) === 0) fate |= this.#drawFate(now);
    if ((fate & Fate.Corrupted) !== 0) this.corruptBit = this.#random.below(Math.max(1, end - start) * 8);
    this.#count(fate);
    return fate;
  }

  /**
   * When a frame that entered now comes out, or would if it was dropped; counts on the `decide` just before.
   *
   * @internal
   */
  exitTime(now: number, frameBytes: number): number {
    let departsNs = now;
    this.startNs = now;
    if (this.#byteNs > 0) {
      this.startNs = Math.max(this.#freeAtNs, now);
      this.#freeAtNs = this.startNs + frameBytes * this.#byteNs;
      departsNs = this.#freeAtNs;
    }
    const jitterNs = this.#spec.jitterNs ?? 0;
    let delayNs = this.#latencyNs + (this.#spec.delayNs ?? 0);
    if (jitterNs > 0) delayNs += (this.#random.u32() / 0x1_00_00_00_00) * jitterNs;
    const lengthNs = frameBytes * this.#byteNs;
    const inOrderNs = Math.max(departsNs + delayNs, this.#lastExitNs + lengthNs);
    // A frame that is held back must not delay those behind it.
    if (this.#holdBackNs > 0) return wholeNs(this.#takeLate(now, inOrderNs + this.#holdBackNs, lengthNs));
    this.#lastExitNs = this.#besideLate(now, inOrderNs, lengthNs);
    // The sender waits as long, or frames would pile up between the two ends of a busy wire.
    this.#freeAtNs += this.#lastExitNs - inOrderNs;
    return wholeNs(this.#lastExitNs);
  }

  /**
   * When the copy of a frame that was doubled comes out, that long after it; counts on the `exitTime` just before.
   *
   * @internal
   */
  copyTime(now: number, exitNs: number, frameBytes: number): number {
    const lengthNs = frameBytes * this.#byteNs;
    return wholeNs(this.#takeLate(now, exitNs + Math.max(this.duplicateDelayNs, lengthNs), lengthNs));
  }

  /** Keeps a place for a frame out of its order. */
  #takeLate(now: number, exitNs: number, lengthNs: number): number {
    if (lengthNs === 0) return exitNs;
    const untilNs = this.#besideLate(now, exitNs, lengthNs);
    this.#late.push({ fromNs: untilNs - lengthNs, untilNs });
    this.#late.sort((a, b) => a.fromNs - b.fromNs);
    return untilNs;
  }

  /** The first exit, not before `exitNs`, at which a frame is in the way of none that is out of its order. */
  #besideLate(now: number, exitNs: number, lengthNs: number): number {
    const late = this.#late;
    while (late.length > 0 && (late[0]?.untilNs ?? 0) < now) late.shift();
    let untilNs = exitNs;
    for (const taken of late) {
      if (untilNs > taken.fromNs && untilNs - lengthNs < taken.untilNs) untilNs = taken.untilNs + lengthNs;
    }
    return untilNs;
  }

  #drawFate(now: number): number {
    const spec = this.#spec;
    const random = this.#random;
    if (this.#direction === 'receive' && this.full(now)) {
      this.counters.overflowed++;
      this.overflowed = true;
      return Fate.Dropped;
    }
    if (random.chance(spec.loss ?? 0)) return Fate.Dropped;
    let fate = 0;
    if (random.chance(spec.duplicate ?? 0)) fate |= Fate.Duplicated;
    if (random.chance(spec.corrupt ?? 0)) fate |= Fate.Corrupted;
    if (random.chance(spec.ceMark ?? 0) || random.chance(this.#ecnProbability(now))) fate |= Fate.Marked;
    if (random.chance(spec.reorder ?? 0)) {
      fate |= Fate.Delayed;
      this.#holdBackNs = Math.max(this.#holdBackNs, spec.reorderDelayNs ?? DEFAULT_HOLD_BACK_NS);
    }
    return fate;
  }

  /** RED's ramp on the length of the queue as this frame finds it. */
  #ecnProbability(now: number): number {
    const { ecn } = this.#spec;
    return ecn === undefined ? 0 : markingProbability(ecn, this.backlogBytes(now));
  }

  #applyRules(bytes: Uint8Array, view: DataView, start: number, end: number, medium: Medium): number {
    parseFrame(bytes, view, start, end, medium, PARSED);
    let fate = 0;
    for (const active of this.#rules) {
      const { rule } = active;
      if (!rule.match(PARSED)) continue;
      active.matches++;
      if (rule.nth !== undefined && rule.nth !== active.matches) continue;
      active.applied++;
      fate |= FATE_OF_ACTION[rule.action];
      if (rule.action === 'delay') this.#holdBackNs += rule.delayNs ?? DEFAULT_HOLD_BACK_NS;
      if (rule.action === 'duplicate') this.duplicateDelayNs = rule.delayNs ?? 0;
    }
    return fate;
  }

  #count(fate: number): void {
    const { counters } = this;
    if ((fate & Fate.Dropped) !== 0) {
      counters.dropped++;
      return;
    }
    if ((fate & Fate.Duplicated) !== 0) counters.duplicated++;
    if ((fate & Fate.Corrupted) !== 0) counters.corrupted++;
    if ((fate & Fate.Delayed) !== 0) counters.reordered++;
    if ((fate & Fate.Marked) !== 0) counters.marked++;
  }

  #updateActive(): void {
    this.active =
      this.#rules.length > 0 || Object.values(this.#spec).some((value) => value !== undefined && value !== 0);
  }
}

/** Shared by all wires: a rule sees it only during the call. */
const PARSED = new Frame();

const FATE_OF_ACTION = {
  drop: Fate.Dropped,
  duplicate: Fate.Duplicated,
  corrupt: Fate.Corrupted,
  delay: Fate.Delayed,
  mark: Fate.Marked,
} as const;

/** The nanosecond in which a frame is out. 7488.0000000001 is 7488: its successor, 852 ns later, is at 8340.0. */
function wholeNs(ns: number): number {
  return Math.ceil(ns - SUM_ERROR_NS);
}
