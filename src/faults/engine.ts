/**
 * Decides what happens to each frame on a wire: rules first, then chance, then the queue for the rate, which marks
 * departing frames by its length.
 *
 * Owns the compiled rules, the connection tracker they need, and the random draws; deterministic by seed. No I/O, no
 * clock, and no frame is kept: `path.ts` carries decisions out. A frame that rules drop takes no part in chance and in
 * the queue.
 */
import { Frame, type FrameStatus, type Medium, parseFrame } from '../../packets/frame.ts';
import { markCongestion } from '../ground/ecn.ts';
import { Prng } from '../ground/prng.ts';
import { type CompiledRule, compileRules } from './compile.ts';
import { ConnectionTracker, PacketContext } from './conversations.ts';
import { RateQueue } from './departures.ts';
import { checkFaultSpec, Fate, type FaultSpec } from './fault-spec.ts';
import { hasAnyField } from './fields.ts';
import { corruptibleEnd, corruptibleStart, drawBit, flip, rewrite } from './repair.ts';
import type { WireFaults, WireRule } from './rule.ts';
import { FrameAction, FrameDecision } from './verdict.ts';
import { Wire } from './wire.ts';

/** What a `FaultEngine` is made of. */
export interface FaultEngineOptions {
  /** What the frames begin with: an Ethernet header or an IP header. */
  readonly medium: Medium;
  /** In the order of `FaultEngine.rules`; default none. */
  readonly rules?: readonly WireRule[];
  /** Faults by chance, delay and rate, by direction; default none. */
  readonly faults?: WireFaults;
  /** Of everything that chance decides; default 1. */
  readonly seed?: number;
}

/**
 * Decides the fate of every frame on a wire with two ends. One engine serves both directions, each with a `FaultPath`.
 *
 * @example
 * ```ts
 * import { FaultEngine } from 'rocev2/faults';
 * import { Medium } from 'rocev2/packets';
 *
 * const rules = [{ name: 'third', on: { opcode: 'any', nth: 3 }, do: 'drop' }] as const;
 * const engine = new FaultEngine({ medium: Medium.Ethernet, rules });
 * const bytes = new Uint8Array(60);
 * const view = new DataView(bytes.buffer);
 * // The fates of four frames in the first direction, a to b.
 * const dropped = [0, 1, 2, 3].map((now) => engine.decide(now, 0, bytes, view, 0, bytes.length).dropped);
 * console.log(dropped.join(' ')); // false false true false
 * console.log(engine.rules[0]?.name, engine.rules[0]?.applied); // third 1
 * ```
 */
export class FaultEngine {
  /** As in the options. */
  readonly medium: Medium;
  /** As in the options. */
  readonly seed: number;
  /** The rules at work, with their counts. */
  readonly rules: readonly CompiledRule[];
  /** What the frames have shown of connections. @internal */
  readonly conversations = new ConnectionTracker();
  /** Whether no fault is configured. */
  readonly idle: boolean;
  /** The frame of the last `decide`, parsed; valid as long as its bytes. */
  readonly frame = new Frame();
  /** What `parseFrame` returned for it. */
  status: FrameStatus = 0;
  /** Where in its connection it is; filled again by the next `decide`. */
  readonly note = new PacketContext();
  /** What is done to it; filled again by the next `decide`. */
  readonly verdict = new FrameDecision();

  /** By direction, as `FAULT_DIRECTIONS` has them. */
  readonly #wires: readonly [Wire, Wire];
  readonly #departures: readonly [RateQueue | undefined, RateQueue | undefined];
  readonly #random: Prng;
  /** Rules that match the present frame. */
  readonly #struck: CompiledRule[] = [];
  readonly #copy = new Frame();

  /** @throws RoceError ERR_ROCE_ARGUMENT naming the rule and the field, or the fault */
  constructor(options: FaultEngineOptions) {
    const { rules = [], faults = {}, seed = 1 } = options;
    this.medium = options.medium;
    this.seed = seed;
    this.rules = compileRules(rules, seed);
    this.#random = new Prng(seed).fork('faults');
    this.#wires = [this.#wire('a-to-b', faults.aToB), this.#wire('b-to-a', faults.bToA)];
    this.#departures = [this.#queue('a-to-b', faults.aToB), this.#queue('b-to-a', faults.bToA)];
    this.idle = rules.length === 0 && !this.#wires.some((wire) => wire.active);
  }

  /** @param direction index in `FAULT_DIRECTIONS`; @returns `verdict`, valid until the next call */
  decide(now: number, direction: number, bytes: Uint8Array, view: DataView, start: number, end: number): FrameDecision {
    const { frame, verdict, note } = this;
    verdict.reset();
    this.status = parseFrame(bytes, view, start, end, this.medium, frame);
    this.conversations.observe(frame, this.status, direction, note);
    if (this.rules.length > 0) this.#applyRules(direction);
    if (!verdict.dropped) this.#askWire(now, direction);
    return verdict;
  }

  /**
   * When the frame that was decided last leaves the queue for the rate, and has taken the delay of the wire; not before
   * `now`.
   */
  exitTime(now: number, direction: number): number {
    return this.#wireOf(direction).exitTime(now, this.frame.end - this.frame.start);
  }

  /** Of the last `exitTime`: when the first byte of the frame leaves the queue for the rate. */
  startTime(direction: number): number {
    return this.#wireOf(direction).startNs;
  }

  /** Bytes that wait for the rate; 0 without one. */
  queueBytes(now: number, direction: number): number {
    return this.#wireOf(direction).backlogBytes(now);
  }

  /** Decides which frames the queue for the rate marks; undefined: none. */
  departures(direction: number): RateQueue | undefined {
    return direction === 0 ? this.#departures[0] : this.#departures[1];
  }

  /** Applies the last decision to the bytes of a copy of the frame. */
  apply(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    const { verdict } = this;
    if ((verdict.did & (FrameAction.Rewritten | FrameAction.Marked | FrameAction.Corrupted)) === 0) return;
    const frame = this.#copy;
    parseFrame(bytes, view, start, end, this.medium, frame);
    for (const { rule } of verdict.rules) {
      if (rule.do === 'rewrite') rewrite(frame, rule.set ?? {}, rule.fixIcrc ?? true);
    }
    // Marks before damage: the checksum update of a mark must not hide a flipped bit.
    if ((verdict.did & FrameAction.Marked) !== 0) markCongestion(view, start, end, this.medium);
    for (let i = 0; i < verdict.rules.length; i++) {
      const bit = verdict.bits[i] ?? -1;
      if (bit >= 0) flip(frame, bit, verdict.rules[i]?.rule.fixIcrc ?? false);
    }
    if (verdict.chanceBit < 0) return;
    const at = start + (verdict.chanceBit >>> 3);
    view.setUint8(at, view.getUint8(at) ^ (0x80 >>> (verdict.chanceBit & 7)));
  }

  #wire(name: string, spec: FaultSpec = {}): Wire {
    checkFaultSpec(spec);
    // The wire would mark on arrival; `RateQueue` does later.
    const { ecn: _, ...others } = spec;
    // An unbounded queue would let a slow side take all memory.
    const bounded = spec.rateBps === undefined ? others : { queueBytes: DEFAULT_QUEUE_BYTES, ...others };
    return new Wire('receive', bounded, 0, this.#random.fork(name));
  }

  #queue(name: string, { ecn }: FaultSpec = {}): RateQueue | undefined {
    return ecn === undefined ? undefined : new RateQueue(ecn, this.#random.fork(name).fork('red'));
  }

  #wireOf(direction: number): Wire {
    return direction === 0 ? this.#wires[0] : this.#wires[1];
  }

  #applyRules(direction: number): void {
    const { frame, note } = this;
    const struck = this.#struck;
    struck.length = 0;
    let drops = false;
    // Every rule is checked, so that the counts of one do not depend on others.
    for (const rule of this.rules) {
      if (!rule.strikes(frame, direction, note)) continue;
      struck.push(rule);
      if (rule.action === 'drop') drops = true;
    }
    // Nothing else is done to a frame that is dropped.
    for (const rule of struck) if (!drops || rule.action === 'drop') this.#carryOut(rule);
  }

  #carryOut(compiled: CompiledRule): void {
    const { rule } = compiled;
    const bit = rule.do === 'corrupt' ? this.#bitFor(compiled) : -1;
    if (!this.#isPossible(compiled, bit)) {
      compiled.impossible++;
      return;
    }
    compiled.applied++;
    const { verdict } = this;
    verdict.rules.push(compiled);
    verdict.bits.push(bit);
    verdict.did |= DID_OF_ACTION[rule.do];
    if (rule.do === 'delay') verdict.delayNs += rule.delayNs ?? 0;
    if (rule.do === 'duplicate') {
      verdict.copies += rule.copies ?? 1;
      verdict.copyDelayNs = Math.max(verdict.copyDelayNs, rule.delayNs ?? 0);
    }
    if (rule.do === 'reorder') {
      verdict.behind = Math.max(verdict.behind, rule.behind ?? 1);
      verdict.holdNs = Math.max(verdict.holdNs, rule.delayNs ?? DEFAULT_HOLD_NS);
    }
  }

  #bitFor({ rule, random }: CompiledRule): number {
    return rule.bit ?? drawBit(this.frame, random);
  }

  #isPossible({ rule, fields }: CompiledRule, bit: number): boolean {
    const { frame } = this;
    if (rule.do === 'mark-ce') return isEcnCapable(frame);
    if (rule.do === 'rewrite') return hasAnyField(frame, fields);
    if (rule.do === 'corrupt') return bit < (corruptibleEnd(frame) - corruptibleStart(frame)) * 8;
    return true;
  }

  #askWire(now: number, direction: number): void {
    const { frame, verdict } = this;
    const wire = this.#wireOf(direction);
    const overflowed = wire.counters.overflowed;
    let fate = wire.decide(now, frame.bytes, frame.view, frame.start, frame.end, this.medium);
    if (wire.counters.overflowed !== overflowed) {
      verdict.refuse(FrameAction.Overflowed);
      return;
    }
    if ((fate & Fate.Marked) !== 0 && !isEcnCapable(frame)) fate &= ~Fate.Marked;
    if (fate === 0) return;
    verdict.byChance = fate;
    verdict.did |= fate;
    if ((fate & Fate.Corrupted) !== 0) verdict.chanceBit = wire.corruptBit;
    if ((fate & Fate.Duplicated) === 0) return;
    verdict.copies++;
    verdict.copyDelayNs = Math.max(verdict.copyDelayNs, wire.duplicateDelayNs);
  }
}

function isEcnCapable(frame: Frame): boolean {
  return frame.l4Offset >= 0 && (frame.trafficClass & 3) !== 0;
}

const DID_OF_ACTION = {
  drop: FrameAction.Dropped,
  duplicate: FrameAction.Duplicated,
  delay: FrameAction.Delayed,
  reorder: FrameAction.Reordered,
  corrupt: FrameAction.Corrupted,
  'mark-ce': FrameAction.Marked,
  rewrite: FrameAction.Rewritten,
} as const;

/** For a rate without `queueBytes`. */
const DEFAULT_QUEUE_BYTES = 0x4_00_00;
const DEFAULT_HOLD_NS = 100_000_000;
