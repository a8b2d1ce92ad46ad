/**
 * The way back up that both profiles of DCQCN share: from a cut to the line rate in rounds that a timer and a byte
 * counter start.
 * Owns current and target rate, the two counts of rounds and when the timer fires next. Never decides when to cut or by
 * how much, and knows no alpha: there the profiles differ.
 *
 * A round, with F the threshold and the counts as they were before it (ref:dcqcn#1, ref:dcqcn#3):
 *   fast      both counts below F                  R_C = (R_C + R_T) / 2
 *   additive  otherwise                            R_T += R_AI, then as above
 *   hyper     both counts above F                  R_T += R_HAI, then as above
 * R_T stops at the ceiling. A rate within one bit a second of the ceiling is the ceiling: the flow is released, timer
 * and byte counter rest until the next cut, for all a round could do is nothing.
 *
 * Nothing is done when the timer fires, only when the controller is called. However many rounds are due then, they are
 * at most three stretches of equal rounds, and each stretch is one closed form: n rounds with growth a take the gap d =
 * R_T - R_C to a + (d - a) / 2^n. There is no loop in this file, so an hour of silence costs what one round costs.
 * Rates are computed from the last cut or round of the byte counter on, not from the last call: how often it is called
 * changes no bit of the result.
 */

/** What bounds and drives a recovery. Rates in bits a second. */
export interface RecoverySettings {
  readonly floorBps: number;
  readonly ceilingBps: number;
  /** Rounds of fast recovery. */
  readonly threshold: number;
  readonly aiRateBps: number;
  readonly haiRateBps: number;
  /** Time between rounds of the timer, in whole ns; Infinity: no timer. */
  readonly timerNs: number;
  /** Bytes between rounds of the byte counter; Infinity: none. */
  readonly byteCounterBytes: number;
  /** True: the timer's count alone decides on hyper increase (there is no byte counter to wait for). */
  readonly hyperByTimeAlone: boolean;
}

/** Current and target rate of one flow on their way from the last cut to the ceiling. */
export class DcqcnRecovery {
  /** R_C, in bits a second: from floor to ceiling. */
  currentBps: number;
  /** R_T, in bits a second: from R_C to ceiling. */
  targetBps: number;
  /** Rounds since the last cut that the timer started. */
  timeRounds = 0;
  /** Rounds since the last cut that the byte counter started. */
  byteRounds = 0;
  private readonly settings: RecoverySettings;
  /** When the timer fires next; Infinity while it rests. */
  private timerAt = Infinity;
  private counting = false;
  private bytes = 0;
  /** The rates, and the timer's count, when something else than the timer changed them last. */
  private fromCurrentBps: number;
  private fromTargetBps: number;
  private fromRounds = 0;

  /** A flow at the ceiling that has never been cut. */
  constructor(settings: RecoverySettings) {
    this.settings = settings;
    this.currentBps = settings.ceilingBps;
    this.targetBps = settings.ceilingBps;
    this.fromCurrentBps = settings.ceilingBps;
    this.fromTargetBps = settings.ceilingBps;
  }

  /** Bits a second that may be sent: Infinity at the ceiling. */
  get allowedBps(): number {
    return this.currentBps >= this.settings.ceilingBps ? Infinity : this.currentBps;
  }

  /** Both rates are this one from now on; no round starts before the next cut. */
  hold(rateBps: number): void {
    const { floorBps, ceilingBps } = this.settings;
    this.currentBps = Math.max(floorBps, Math.min(ceilingBps, rateBps));
    this.targetBps = this.currentBps;
    this.rest();
    this.mark();
  }

  /**
   * The rate is multiplied by `factor`, 0..1, and everything begins again. `clampTarget`: the target becomes the rate
   * before the cut.
   */
  cut(now: number, factor: number, clampTarget: boolean): void {
    if (clampTarget) this.targetBps = this.currentBps;
    this.currentBps = Math.max(this.settings.floorBps, this.currentBps * factor);
    this.timeRounds = 0;
    this.byteRounds = 0;
    this.bytes = 0;
    this.timerAt = now + this.settings.timerNs;
    this.counting = true;
    this.releaseAtCeiling();
    this.mark();
  }

  /** The rounds of the timer that are due at `now` or were before. */
  catchUp(now: number): void {
    if (now < this.timerAt) return;
    const { timerNs, hyperByTimeAlone, threshold } = this.settings;
    const rounds = Math.floor((now - this.timerAt) / timerNs) + 1;
    this.timerAt += rounds * timerNs;
    this.timeRounds += rounds;
    this.currentBps = this.fromCurrentBps;
    this.targetBps = this.fromTargetBps;
    const mayBeHyper = hyperByTimeAlone || this.byteRounds > threshold;
    this.raise(this.timeRounds - this.fromRounds, this.fromRounds, this.byteRounds, mayBeHyper);
  }

  /** Bytes have left: the rounds they complete. */
  sent(bytes: number): void {
    if (!this.counting) return;
    const { byteCounterBytes, threshold } = this.settings;
    this.bytes += bytes;
    if (this.bytes < byteCounterBytes) return;
    const rounds = Math.floor(this.bytes / byteCounterBytes);
    this.bytes -= rounds * byteCounterBytes;
    this.raise(rounds, this.byteRounds, this.timeRounds, this.timeRounds > threshold);
    this.byteRounds += rounds;
    this.mark();
  }

  /** `rounds` of one counter that stands at `count`, while the other stands at `other`. */
  private raise(rounds: number, count: number, other: number, mayBeHyper: boolean): void {
    const { threshold, aiRateBps, haiRateBps } = this.settings;
    const fast = other < threshold ? Math.min(rounds, Math.max(0, threshold - count)) : 0;
    if (fast > 0) this.recover(fast);
    if (fast < rounds) {
      const left = rounds - fast;
      const additive = mayBeHyper ? Math.min(left, Math.max(0, threshold + 1 - count - fast)) : left;
      if (additive > 0) this.increase(additive, aiRateBps);
      if (additive < left) this.increase(left - additive, haiRateBps);
    }
    this.releaseAtCeiling();
  }

  private recover(rounds: number): void {
    this.currentBps = this.targetBps - (this.targetBps - this.currentBps) * 2 ** -rounds;
  }

  private increase(rounds: number, growthBps: number): void {
    const { ceilingBps } = this.settings;
    // Rounds until the target would pass the ceiling; with no growth it never does.
    const free = growthBps > 0 ? Math.min(rounds, Math.floor((ceilingBps - this.targetBps) / growthBps)) : rounds;
    const gap = growthBps + (this.targetBps - this.currentBps - growthBps) * 2 ** -free;
    this.targetBps = Math.min(ceilingBps, this.targetBps + free * growthBps); // the quotient may have been rounded up
    this.currentBps = this.targetBps - gap;
    if (free === rounds) return;
    this.targetBps = ceilingBps;
    this.recover(rounds - free);
  }

  private releaseAtCeiling(): void {
    const { ceilingBps } = this.settings;
    if (ceilingBps - this.currentBps >= RELEASE_WITHIN_BPS) return;
    this.currentBps = ceilingBps;
    this.targetBps = ceilingBps;
    this.rest();
  }

  private mark(): void {
    this.fromCurrentBps = this.currentBps;
    this.fromTargetBps = this.targetBps;
    this.fromRounds = this.timeRounds;
  }

  private rest(): void {
    this.timerAt = Infinity;
    this.counting = false;
  }
}

/** Halving a gap never ends in arithmetic; it does in hardware, which counts whole units. */
const RELEASE_WITHIN_BPS = 1;
