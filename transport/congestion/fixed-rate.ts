/**
 * A controller that never changes its mind: one rate, whatever the network says. Proof that the seam holds anything,
 * and a limit for experiments. Owns the rate; counts nothing.
 */
import { RoceError } from '../../packets/errors.ts';
import type { RateController } from './rate-controller.ts';

/** Sends at one rate; at the line rate or above it is no limit at all. */
export class FixedRate implements RateController {
  readonly currentRateBps: number;
  readonly targetRateBps: number;
  readonly alpha = 0;
  private readonly allowedBps: number;

  /** `rateBps`: bits a second, from 1. @throws RoceError ERR_ROCE_ARGUMENT for less, or what is no number */
  constructor(rateBps: number, lineRateBps: number) {
    if (!(typeof rateBps === 'number' && rateBps >= 1))
      throw new RoceError('ERR_ROCE_ARGUMENT', `rateBps of a fixed rate is 1 or more, not ${String(rateBps)}`);
    this.currentRateBps = Math.min(rateBps, lineRateBps);
    this.targetRateBps = this.currentRateBps;
    this.allowedBps = rateBps < lineRateBps ? rateBps : Infinity;
  }

  rateBps(): number {
    return this.allowedBps;
  }

  sent(): void {}

  notified(): void {}
}
