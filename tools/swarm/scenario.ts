/**
 * Which world a seed means: honest services, wire and attacker, each axis drawn from a stream of its own, so that one
 * can be changed and the others stay (`shrink.ts`). Owns the axes and their values. Plain data that JSON can carry.
 */
import { Prng } from 'rocev2/sim';

/** What two honest hosts do with each other. */
export const SERVICES = ['rc', 'srq', 'uc', 'ud', 'multicast', 'cm'] as const;
export type SwarmService = (typeof SERVICES)[number];

/**
 * What the attacker knows, each level with all before it: addresses; queue pair numbers, Q_Keys excepted; PSNs within
 * 2^`psnBits`; every frame on the wire, and so all keys.
 */
export const KNOWLEDGE = ['addresses', 'qpns', 'psns', 'everything'] as const;
export type Knowledge = (typeof KNOWLEDGE)[number];

/** What the attacker sends. */
export const ACTS = [
  'requests',
  'acks',
  'naks',
  'read-responses',
  'cnps',
  'cm-requests',
  'cm-answers',
  'neighbours',
  'tcp',
  'groups',
  'broken',
  'replays',
  'odd-sources',
] as const;
export type Act = (typeof ACTS)[number];

/**
 * What only a known PSN, Q_Key or frame makes dangerous; all other acts must harm nobody, whatever their sender knows.
 */
const NEEDS_KNOWLEDGE: readonly Act[] = [
  ...(['requests', 'acks', 'naks', 'read-responses', 'cnps', 'broken', 'replays', 'odd-sources'] as const),
];

/** All of it right but one thing, so that nothing may come of it, whatever its sender knows (`near-misses.ts`). */
export const MISSES = [
  'address',
  'pkey',
  'service',
  'icrc',
  'old-psn',
  'far-psn',
  'answer-address',
  'cm-address',
  'cm-id',
  'cm-first',
] as const;
export type Miss = (typeof MISSES)[number];

/** At the right PSN, what the responder has to refuse; its queue pair may end, and no more (`near-misses.ts`). */
export const VIOLATIONS = ['beyond', 'before', 'no-right', 'secret', 'key', 'domain', 'length'] as const;
export type Violation = (typeof VIOLATIONS)[number];

/** One run. */
export interface Scenario {
  readonly seed: number;
  /** Each adds one queue pair, or two of them connected, to each of two hosts. */
  readonly services: readonly SwarmService[];
  /** Work requests of each queue pair. */
  readonly work: number;
  readonly ipVersion: 4 | 6;
  readonly mtu: 256 | 1024 | 4096;
  /** Starting PSN of all connections, 24 bits. */
  readonly firstPsn: number;
  readonly dcqcn: boolean;
  /** A TCP connection beside the queue pairs. */
  readonly stream: boolean;
  /** The honest hosts keep so little for strangers that a few frames fill it. */
  readonly tight: boolean;
  /** Probabilities on each honest wire. */
  readonly faults: {
    readonly loss: number;
    readonly duplicate: number;
    readonly reorder: number;
    readonly corrupt: number;
  };
  readonly attack: {
    readonly knowledge: Knowledge;
    /** 0..8; only with `psns`. */
    readonly psnBits: number;
    readonly acts: readonly Act[];
    readonly misses: readonly Miss[];
    /** Only with `everything`. */
    readonly violations: readonly Violation[];
    /** Frames in all. */
    readonly frames: number;
    /** Nanoseconds between two of them. */
    readonly everyNs: number;
  };
}

/** The world of that seed. */
export function scenarioOf(seed: number): Scenario {
  const axis = (name: string): Prng => new Prng(seed).fork(`swarm ${name}`);
  const wire = axis('wire');
  const attack = axis('attack');
  const aims = axis('aims');
  const harsh = wire.chance(0.5);
  const knowledge = pick(attack, KNOWLEDGE);
  const rate = (most: number): number => (harsh && wire.chance(0.5) ? wire.below(most * 1000) / 1000 : 0);
  return {
    seed,
    services: some(axis('services'), SERVICES, 3),
    work: 1 + axis('work').below(12),
    ipVersion: axis('ip').chance(0.5) ? 4 : 6,
    mtu: pick(axis('mtu'), [256, 1024, 4096]),
    firstPsn: firstPsnOf(axis('psn')),
    dcqcn: axis('dcqcn').chance(0.3),
    stream: axis('stream').chance(0.25),
    tight: axis('tight').chance(0.4),
    faults: { loss: rate(0.03), duplicate: rate(0.05), reorder: rate(0.05), corrupt: rate(0.02) },
    attack: {
      knowledge,
      psnBits: attack.below(9),
      acts: some(attack, ACTS, 4),
      misses: aims.chance(0.6) ? some(aims, MISSES, 3) : [],
      violations: knowledge === 'everything' && aims.chance(0.7) ? some(aims, VIOLATIONS, 3) : [],
      frames: 20 + attack.below(180),
      everyNs: pick(attack, [500, 2000, 10_000, 50_000]),
    },
  };
}

/** Whether nothing that this attacker sends may pass for a packet of a connection. */
export function isBlind({ attack: { knowledge, acts, violations } }: Scenario): boolean {
  if (violations.length > 0) return false;
  return knowledge === 'addresses' || knowledge === 'qpns' || isHarmless(acts);
}

/** Whether none of these acts depends on what the attacker knows. */
export function isHarmless(acts: readonly Act[]): boolean {
  return acts.every((act) => !NEEDS_KNOWLEDGE.includes(act));
}

/** Half of them so near to 2^24 that the PSNs of a run wrap. */
function firstPsnOf(random: Prng): number {
  return random.chance(0.5) ? 0x1_00_00_00 - 1 - random.below(40) : random.u32() >>> 8;
}

export function pick<T>(random: Prng, values: readonly T[]): T {
  const value = values[random.below(values.length)];
  if (value === undefined) throw new Error('there is nothing to pick from');
  return value;
}

/** 1 to `most` different ones, in the order of `values`. */
function some<T>(random: Prng, values: readonly T[], most: number): T[] {
  const chosen = new Set(Array.from({ length: 1 + random.below(most) }, () => pick(random, values)));
  return values.filter((value) => chosen.has(value));
}
