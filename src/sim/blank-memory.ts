/**
 * Memory of zeros that forgets what is written to it: for simulations that are about packets and not about what is in
 * them. Owns nothing, so that any size costs nothing.
 */
import type { CopiedMemory } from '../../transport/copied-memory.ts';

/**
 * As many bytes of 0 as one likes. Work requests and peers use it like any other memory; what they write is gone.
 *
 * @example
 * ```ts
 * import { attachDevice, World } from 'rocev2';
 * import { BlankMemory } from 'rocev2/sim';
 *
 * const device = attachDevice(new World({ seed: 1 }), 'a', { addresses: ['10.0.0.1/24'] });
 * console.log(device.allocPd().regMr(new BlankMemory(2 ** 30)).length); // 1073741824
 * ```
 */
export class BlankMemory implements CopiedMemory {
  /** Bytes. */
  readonly length: number;

  /** So many bytes. */
  constructor(length: number) {
    this.length = length;
  }

  /** Zeros; never fails. */
  read(_offset: number, to: Uint8Array, toAt: number, length: number): boolean {
    to.fill(0, toAt, toAt + length);
    return true;
  }

  /** Forgets the bytes; never fails. */
  write(): boolean {
    return true;
  }
}
