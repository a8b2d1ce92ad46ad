/**
 * A random source that makes number spaces small: its numbers lie near 0 and near 2^32, a thousand of them in all. A
 * device that draws from it reuses its queue pair numbers, key indices, communication ids and ports after hours and not
 * after years, and its starting PSNs and TCP sequence numbers wrap a few packets after they begin.
 */
import type { Random } from 'rocev2';

export class EdgeRandom implements Random {
  readonly #source: Random;

  constructor(source: Random) {
    this.#source = source;
  }

  /** Bits 8 to 14, mostly zeros, and bits 0 and 1; in half of the cases the complement. */
  u32(): number {
    const drawn = this.#source.u32();
    const index = drawn & (drawn >>> 8) & 0x7f;
    const value = (index << 8) | ((drawn >>> 16) & 3);
    return (drawn >>> 31 === 0 ? value : ~value) >>> 0;
  }
}
