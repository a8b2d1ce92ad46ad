/** The protection domain: queue pairs, memory and address handles reach only what belongs to the same one. */
import { RoceError } from '../packets/errors.ts';

/**
 * Groups queue pairs, regions and windows; nothing of one domain reaches into another.
 *
 * @example
 * ```ts
 * import { Prng } from 'rocev2/sim';
 * import { KeyTable, ProtectionDomain, RoceError } from 'rocev2/transport';
 *
 * const pd = new ProtectionDomain(1);
 * new KeyTable(new Prng(1), 16).register(pd, new Uint8Array(64), { access: 0, iova: 0n });
 * try {
 *   pd.demandUnused();
 * } catch (error) {
 *   if (error instanceof RoceError) console.log(error.code, pd.users); // ERR_ROCE_IN_USE 1
 * }
 * ```
 */
export class ProtectionDomain {
  /** Number of the domain on its device. */
  readonly handle: number;
  /** Regions, windows and queue pairs that still refer to this domain. */
  users = 0;

  /** A domain without users. */
  constructor(handle: number) {
    this.handle = handle;
  }

  /** Throws ERR_ROCE_IN_USE while something refers to it. */
  demandUnused(): void {
    if (this.users > 0)
      throw new RoceError('ERR_ROCE_IN_USE', `${this.users} regions or queue pairs still use this protection domain`);
  }
}
