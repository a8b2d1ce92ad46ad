/**
 * DCQCN's reaction point as its authors describe it: profile `paper` (ref:dcqcn#1, column "paper" of ref:dcqcn#3). Owns
 * alpha and when it is estimated; the way back up is `dcqcn-recovery.ts`. Never mixed with `dcqcn-mlx.ts`.
 *
 *   notification  R_T = R_C; R_C = R_C (1 - alpha/2); then alpha = (1 - g) alpha + g; all timers, counters and rounds
 *   begin again
 *   tau' without  alpha = (1 - g) alpha
 *   T or B        one round up
 *
 * What is due at the moment of a call happens before the call: a timer of that very nanosecond fires first. Alpha's
 * timer and the rate timer do not see each other, so their order does not matter.
 */
import { invariant } from '../../packets/errors.ts';
import { isAbsent, type PaperParameters, paperParameters } from './dcqcn-parameters.ts';
import { DcqcnRecovery } from './dcqcn-recovery.ts';
import type { RateController } from './rate-controller.ts';

/** Reaction point of one flow, profile `paper`. */
export class PaperReactionPoint implements RateController {
  private readonly parameters: PaperParameters;
  private readonly recovery: DcqcnRecovery;
  /** Alpha when its timer began anew, at the last notification. */
  private estimate = 1;
  private estimatedAt = Infinity;
  private now = 0;

  /**
   * A flow that starts at the line rate with alpha 1. @throws RoceError ERR_ROCE_ARGUMENT naming a parameter out of
   * range
   */
  constructor(asked: Partial<PaperParameters>, lineRateBps: number) {
    const parameters = paperParameters(asked, lineRateBps);
    this.parameters = parameters;
    this.recovery = new DcqcnRecovery({
      floorBps: parameters.minRateBps,
      ceilingBps: lineRateBps,
      threshold: parameters.fastRecoveryStages,
      aiRateBps: parameters.aiRateBps,
      haiRateBps: parameters.haiRateBps,
      timerNs: parameters.rateTimerNs,
      byteCounterBytes: isAbsent(parameters.byteCounterBytes) ? Infinity : parameters.byteCounterBytes,
      hyperByTimeAlone: false, // both counters have to be past F, and one that is absent never is
    });
  }

  rateBps(now: number): number {
    this.advance(now);
    return this.recovery.allowedBps;
  }

  sent(now: number, bytes: number): void {
    this.advance(now);
    this.recovery.sent(bytes);
  }

  notified(now: number): void {
    this.advance(now);
    const { g } = this.parameters;
    const alpha = this.alpha;
    this.recovery.cut(now, 1 - alpha / 2, true);
    this.estimate = (1 - g) * alpha + g;
    this.estimatedAt = now;
  }

  get currentRateBps(): number {
    return this.recovery.currentBps;
  }

  get targetRateBps(): number {
    return this.recovery.targetBps;
  }

  get alpha(): number {
    const { alphaTimerNs, g } = this.parameters;
    const quiet = this.now - this.estimatedAt;
    return quiet < alphaTimerNs ? this.estimate : this.estimate * (1 - g) ** Math.floor(quiet / alphaTimerNs);
  }

  private advance(now: number): void {
    invariant(now >= this.now, 'the time given to a rate controller never goes back');
    this.now = now;
    this.recovery.catchUp(now);
  }
}
