/**
 * What can go wrong on a simulated wire, as plain values: probabilities decided by seed, and rules that pick frames.
 * Owns the types (specification, rule, fate, counters) and their checks. Never touches a frame: `wire.ts` does. Source
 * of the axes: ref:hostile#6.
 */
import { RoceError } from '../../packets/errors.ts';
import type { Frame } from '../../packets/frame.ts';
import type { EcnProfile } from '../ground/ecn.ts';

export type { EcnProfile } from '../ground/ecn.ts';

/**
 * One direction of one port's wire. Everything is optional and absent means: does not happen. Probabilities are 0..1.
 */
export interface FaultSpec {
  /** Probability that a frame is lost. */
  readonly loss?: number;
  /** Probability that a second copy follows. */
  readonly duplicate?: number;
  /** How long after the first the second copy arrives, nanoseconds; long ones make ghosts of past frames. Default 0. */
  readonly duplicateDelayNs?: number;
  /** Probability that a frame is held back so that later ones overtake it. */
  readonly reorder?: number;
  /** How long a reordered frame is held back, nanoseconds. Default 10,000. */
  readonly reorderDelayNs?: number;
  /** Probability that one bit, anywhere in the frame, is flipped. */
  readonly corrupt?: number;
  /** Probability that an ECN-capable packet is marked Congestion Experienced. */
  readonly ceMark?: number;
  /** Added to the latency of every frame, nanoseconds. */
  readonly delayNs?: number;
  /** Added as well, uniform in 0 .. jitterNs; frames still keep their order. */
  readonly jitterNs?: number;
  /** Bits per second; counts the bytes of a frame and nothing around it. Absent: infinite. */
  readonly rateBps?: number;
  /**
   * Bytes that may wait for `rateBps`. Sending: `send` takes no more beyond it (default 262,144).
   * Receiving: frames beyond it are dropped at the tail, as a lossy switch does (default: no limit, nothing is lost).
   */
  readonly queueBytes?: number;
  /**
   * Marks by the backlog for `rateBps`, which it needs: of a `FaultPath` by what waits behind a frame as it leaves the
   * queue, as a switch does (ref:dcqcn#1); of a wire of `SimulatedNetwork` by what waits in front of it as it arrives.
   */
  readonly ecn?: EcnProfile;
}

/** 'send': between the port and the medium; 'receive': between the medium and the port. */
export type WireDirection = 'send' | 'receive';

/** One deterministic fault: which frames, and what happens to them. */
export interface FaultRule {
  /** Name of the port; absent: every port. */
  readonly port?: string;
  /** Default 'send'. */
  readonly direction?: WireDirection;
  /** Sees the frame parsed, whatever its status was: fields that are not there are 0 or -1. Must not keep it. */
  readonly match: (frame: Frame) => boolean;
  /** Which match, from 1; absent: every match. */
  readonly nth?: number;
  /** What happens to it; 'corrupt' flips one bit, 'mark' marks Congestion Experienced. */
  readonly action: 'drop' | 'duplicate' | 'corrupt' | 'delay' | 'mark';
  /** For 'delay' and 'duplicate', nanoseconds: how much later. Default 10,000 for 'delay', 0 for 'duplicate'. */
  readonly delayNs?: number;
}

/** A rule at work; the counts show whether the rule ever applied. */
export interface ActiveRule {
  /** The rule. */
  readonly rule: FaultRule;
  /** Frames that it matched, those before and after `nth` included. */
  matches: number;
  /** Frames to which it was applied. */
  applied: number;
}

/** What happened to a frame: bits that may come together. */
export const Fate = {
  /** Nothing happened. */
  Delivered: 0,
  /** It never arrives. */
  Dropped: 1 << 0,
  /** A second copy follows. */
  Duplicated: 1 << 1,
  /** One bit is flipped. */
  Corrupted: 1 << 2,
  /** It is held back. */
  Delayed: 1 << 3,
  /** Marked Congestion Experienced. */
  Marked: 1 << 4,
} as const;

/** 'delivered', or what happened, as text: 'corrupted, delayed'. */
export function describeFate(fate: number): string {
  const words = FATE_WORDS.filter(([bit]) => (fate & bit) !== 0).map(([, word]) => word);
  return words.length === 0 ? 'delivered' : words.join(', ');
}

/** Frames, by what was done to them on one direction of a wire. */
export interface WireCounters {
  /** Frames that entered. */
  frames: number;
  /** Bytes of the frames that entered. */
  bytes: number;
  /** Lost. */
  dropped: number;
  /** Copied. */
  duplicated: number;
  /** Damaged. */
  corrupted: number;
  /** Held back. */
  reordered: number;
  /** Marked Congestion Experienced. */
  marked: number;
  /** Dropped because the queue for the rate was full; also counted in `dropped`. */
  overflowed: number;
}

export function newWireCounters(): WireCounters {
  return { frames: 0, bytes: 0, dropped: 0, duplicated: 0, corrupted: 0, reordered: 0, marked: 0, overflowed: 0 };
}

/** @throws RoceError ERR_ROCE_ARGUMENT naming the first field that is out of range */
export function checkFaultSpec(spec: FaultSpec): void {
  for (const name of ['loss', 'duplicate', 'reorder', 'corrupt', 'ceMark'] as const) checkRange(name, spec[name], 0, 1);
  for (const name of ['duplicateDelayNs', 'reorderDelayNs', 'delayNs', 'jitterNs', 'queueBytes'] as const) {
    checkRange(name, spec[name], 0, Number.MAX_SAFE_INTEGER);
  }
  checkRange('rateBps', spec.rateBps, 1, Number.MAX_SAFE_INTEGER);
  if (spec.ecn === undefined) return;
  if (spec.rateBps === undefined)
    throw new RoceError('ERR_ROCE_ARGUMENT', 'fault ecn needs a rateBps: no rate, no queue');
  checkRange('ecn.pmax', spec.ecn.pmax, 0, 1);
  checkRange('ecn.kminBytes', spec.ecn.kminBytes, 0, Number.MAX_SAFE_INTEGER);
  checkRange('ecn.kmaxBytes', spec.ecn.kmaxBytes, spec.ecn.kminBytes, Number.MAX_SAFE_INTEGER);
}

function checkRange(name: string, value: number | undefined, min: number, max: number): void {
  if (value === undefined || (value >= min && value <= max)) return;
  throw new RoceError('ERR_ROCE_ARGUMENT', `fault ${name} is ${value}; it must be ${min} .. ${max}`);
}

const FATE_WORDS: readonly (readonly [number, string])[] = [
  [Fate.Dropped, 'dropped'],
  [Fate.Duplicated, 'duplicated'],
  [Fate.Corrupted, 'corrupted'],
  [Fate.Delayed, 'delayed'],
  [Fate.Marked, 'marked CE'],
];
