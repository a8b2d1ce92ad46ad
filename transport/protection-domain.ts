/** The protection domain: queue pairs, memory and address handles reach only what belongs to the same one. */
import { RoceError } from '../packets/errors.ts';

/** Groups queue pairs, regions and windows; nothing of one domain reaches into another. */
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
