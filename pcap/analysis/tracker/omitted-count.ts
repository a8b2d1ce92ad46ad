/**
 * The number of conversations beyond those that are followed, counted by addresses and queue pairs of their first
 * packets.
 *
 * Owns the count: exact while it is well below the number of bits (a million), a lower bound from there on. It takes
 * 128 KiB once there is one.
 */
import type { Frame } from '../../../packets/frame.ts';
import { pairHash } from './flow-table.ts';

export class OmittedCount {
  count = 0;
  #bits: Uint32Array | undefined;

  /** @param sourceQpn of a datagram; -1 for connected services */
  add(frame: Frame, vantage: number, sourceQpn: number): void {
    this.#bits ??= new Uint32Array(BITS / 32);
    const parties = Math.imul(frame.destQpn, 0x9e_37_79_b1) ^ Math.imul(sourceQpn + 1, 0x85_eb_ca_6b);
    const hash = Math.imul(pairHash(frame, vantage) ^ parties, 0xc2_b2_ae_35) >>> 12;
    const word = this.#bits[hash >>> 5] ?? 0;
    const bit = 1 << (hash & 31);
    if ((word & bit) !== 0) return;
    this.#bits[hash >>> 5] = word | bit;
    this.count++;
  }
}

const BITS = 1 << 20;
