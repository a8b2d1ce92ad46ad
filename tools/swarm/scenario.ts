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
  const harsh = wire.chance(0.5);
  const rate = (most: number): number => (harsh && wire.chance(0.5) ? wire.below(most * 1000) / 1000 : 0);
  return {
    seed,
    services: some(axis('services'), SERVICES, 3),
    work: 1 + axis('work').below(12),
    ipVersion: axis('ip').chance(0.5) ? 4 : 6,
    mtu: pick(axis('mtu'), [256, 1024, 4096]),
    firstPsn: firstPsnOf(axis('psn')),
    dcqcn: axis('dcqcn').chance(0.3),
    faults: { loss: rate(0.03), duplicate: rate(0.05), reorder: rate(0.05), corrupt: rate(0.02) },
    attack: {
      knowledge: pick(attack, KNOWLEDGE),
      psnBits: attack.below(9),
      acts: some(attack, ACTS, 4),
      frames: 20 + attack.below(180),
      everyNs: pick(attack, [500, 2000, 10_000, 50_000]),
    },
  };
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
