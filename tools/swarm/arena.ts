/** Registered memory of an honest host between guard bytes, with a copy of what must not change. */
import { Access, type MemoryRegion, type Pd } from 'rocev2';

const GUARD = 64;
const GUARD_BYTE = 0xa5;

export class Arena {
  readonly #pd: Pd;
  readonly #guarded: { readonly all: Uint8Array; readonly region: MemoryRegion; readonly before: Uint8Array | null }[] =
    [];

  constructor(pd: Pd) {
    this.#pd = pd;
  }

  /**
   * A region of so many bytes, zeros or what follows from `filling`. A filled one must never change: it is a source, or
   * grants no writing, or its key is known to nobody.
   */
  region(length: number, access: number, filling?: number): MemoryRegion {
    const all = new Uint8Array(length + 2 * GUARD).fill(GUARD_BYTE);
    const inner = all.subarray(GUARD, GUARD + length);
    if (filling === undefined) inner.fill(0);
    else fill(inner, filling);
    const region = this.#pd.regMr(inner, { access: access === 0 ? Access.LocalWrite : access });
    this.#guarded.push({ all, region, before: filling === undefined ? null : inner.slice() });
    return region;
  }

  /** Whether guards and filled regions are what they were. */
  intact(): boolean {
    return this.#guarded.every(({ all, before }) => {
      for (let i = 0; i < GUARD; i++) if (all[i] !== GUARD_BYTE || all[all.length - 1 - i] !== GUARD_BYTE) return false;
      return before === null || Buffer.compare(before, all.subarray(GUARD, all.length - GUARD)) === 0;
    });
  }
}

/** Never 0: what has not come differs from what has. */
function fill(bytes: Uint8Array, seed: number): void {
  let state = seed | 1;
  for (let i = 0; i < bytes.length; i++) {
    state = (Math.imul(state, 0x0019_660d) + 0x3c6e_f35f) | 0;
    bytes[i] = (state >>> 24) | 1;
  }
}
