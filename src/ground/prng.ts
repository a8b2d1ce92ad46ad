/**
 * The one source of chance in a simulated world: a seeded generator (xoroshiro128+ of pure-rand) that forks into
 * independent streams by name. Never reads a clock or the platform's random source.
 * A fork depends on the seed and the labels only, not on what was drawn before: adding a draw in one place
 * does not change what happens in another, so seeds stay useful while the code around them changes.
 */
import { xoroshiro128plusFromState } from 'pure-rand/generator/xoroshiro128plus';
import type { JumpableRandomGenerator } from 'pure-rand/types/JumpableRandomGenerator';
import { invariant } from '../../packets/errors.ts';
import type { Random } from '../../transport/random.ts';

const TWO_POW_32 = 0x1_00_00_00_00;

/**
 * A seeded generator of random numbers.
 *
 * @example
 * ```ts
 * import { Prng } from 'rocev2/sim';
 *
 * const random = new Prng(1);
 * // A fork depends on seed and label only, not on what was drawn before.
 * const first = random.fork('losses').u32();
 * random.below(6);
 * console.log(random.fork('losses').u32() === first, random.chance(1)); // true true
 * ```
 */
export class Prng implements Random {
  /** The seed it began with. */
  readonly seed: number;
  readonly #path: string;
  readonly #generator: JumpableRandomGenerator;

  /**
   * A stream of its own.
   *
   * @param seed any safe integer; equal seeds give equal streams
   * @param path labels of the forks on the way here, set by `fork`
   */
  constructor(seed: number, path = '') {
    invariant(Number.isSafeInteger(seed), 'a seed is a safe integer');
    this.seed = seed;
    this.#path = path;
    this.#generator = xoroshiro128plusFromState(stateOf(seed, path));
  }

  /** A uniform integer 0 .. 2^32 - 1. */
  u32(): number {
    return this.#generator.next() >>> 0;
  }

  /** A uniform integer 0 .. n - 1; n in 1 .. 2^32. Its bias, n / 2^32 at most, is of no consequence to a simulation. */
  below(n: number): number {
    invariant(n >= 1 && n <= TWO_POW_32, 'below takes a bound of 1 .. 2^32');
    return Math.floor((this.u32() / TWO_POW_32) * n);
  }

  /** True with probability `p`; draws nothing when p leaves no choice (<= 0 or >= 1). */
  chance(p: number): boolean {
    if (p <= 0) return false;
    return p >= 1 || this.u32() < p * TWO_POW_32;
  }

  /** An independent stream; the same label gives the same stream each time. */
  fork(label: string): Prng {
    return new Prng(this.seed, `${this.#path}/${label}`);
  }
}

/** Hashes seed and path into the 128 bits of the generator: neighbouring seeds must not give neighbouring states. */
function stateOf(seed: number, path: string): number[] {
  const state: number[] = [];
  for (let word = 1; word <= 4; word++) {
    let hash = mix(seed | 0, Math.imul(word, 0x9e_37_79_b9));
    hash = mix(Math.floor(seed / TWO_POW_32) | 0, hash);
    for (let i = 0; i < path.length; i++) hash = mix(path.charCodeAt(i), hash);
    state.push(hash);
  }
  // The one state the generator cannot leave.
  return state.some((word) => word !== 0) ? state : [1, 0, 0, 0];
}

/** Absorbs one 32-bit word with the finaliser of MurmurHash3, a bijection of (word ^ state). */
function mix(word: number, state: number): number {
  let hash = Math.imul(state, 5) + 0xe6_54_6b_64;
  hash ^= word;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35);
  return hash ^ (hash >>> 16);
}
