/**
 * DCQCN's reaction point as NVIDIA's adapters have it: profile `mlx` (column "Mellanox variant" of ref:dcqcn#3). Owns
 * alpha, the monitor of cuts and the first notification; the way back up is `dcqcn-recovery.ts`. Never mixed with
 * `dcqcn-paper.ts`.
 *
 * A notification changes nothing by itself. It leaves two flags, and two clocks that begin with the first notification,
 * at t, look at them:
 *   t + k DCE_TCP_RTT                             alpha = (1 - g) alpha, + g if the flag is up; flag down
 *   t + k RATE_REDUCE_MONITOR_PERIOD + 1 ns       if the flag is up, one cut: R_C = R_C (1 - alpha/2); flag down;
 *   rounds begin again
 * At the first notification alpha is INITIAL_ALPHA_VALUE, both rates are RATE_TO_SET_ON_FIRST_CNP or stay, alpha's flag
 * stays down, and the timer of increases still rests: it runs from cut to cut. A cut moves the target only if the rate
 * was raised since the last one (by the timer: CLAMP_TGT_RATE_AFTER_TIME_INC), or always with CLAMP_TGT_RATE.
 *
 * Order: what is due at the moment of a call happens before the call. The nanosecond lets alpha go before the cut;
 * where the clocks meet all the same, the longer period goes first, since an event queue holds it longer, and the cut
 * before the timer of increases if they are alike.
 * Sources: hpcc:rdma-hw.cc#cnp_received_mlx, #UpdateAlphaMlx, #CheckRateDecreaseMlx, #RateIncEventTimerMlx; the byte
 * counter and its part in moving the target, which HPCC lacks: ns3-rdma:qbb-net-device.cc#rpr_cnm_received.
 */
import { invariant } from '../../packets/errors.ts';
import { isAbsent, type MlxParameters, mlxParameters } from './dcqcn-parameters.ts';
import { DcqcnRecovery } from './dcqcn-recovery.ts';
import type { RateController } from './rate-controller.ts';

/** Reaction point of one flow, profile `mlx`. */
export class MlxReactionPoint implements RateController {
  private readonly parameters: MlxParameters;
  private readonly recovery: DcqcnRecovery;
  /** 1 - g. */
  private readonly keep: number;
  /** When cuts can come: this plus whole periods. Infinity before the first notification. */
  private monitorFrom = Infinity;
  /** When the rate cut of a notification is due; Infinity: none has. */
  private cutAt = Infinity;
  private estimate: number;
  private estimatedAt = Infinity;
  private alphaFlag = false;
  private now = 0;

  /** A flow that starts at the line rate. @throws RoceError ERR_ROCE_ARGUMENT naming a parameter out of range */
  constructor(asked: Partial<MlxParameters>, lineRateBps: number) {
    const parameters = mlxParameters(asked, lineRateBps);
    const hasByteCounter = !isAbsent(parameters.rpgByteResetBytes);
    this.parameters = parameters;
    this.keep = parameters.dceTcpG / 1024;
    this.estimate = parameters.initialAlphaValue / 1024;
    this.recovery = new DcqcnRecovery({
      floorBps: parameters.rpgMinRateBps,
      ceilingBps: parameters.rpgMaxRateBps === 0 ? lineRateBps : Math.min(lineRateBps, parameters.rpgMaxRateBps),
      threshold: parameters.rpgThreshold,
      aiRateBps: parameters.rpgAiRateBps,
      haiRateBps: parameters.rpgHaiRateBps,
      timerNs: parameters.rpgTimeResetNs,
      byteCounterBytes: hasByteCounter ? parameters.rpgByteResetBytes : Infinity,
      hyperByTimeAlone: !hasByteCounter,
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
    if (this.monitorFrom === Infinity) {
      this.begin(now);
      return;
    }
    this.estimateUntil(now);
    this.alphaFlag = true;
    if (this.cutAt !== Infinity) return;
    const { rateReduceMonitorPeriodNs } = this.parameters;
    const periods = Math.floor((now - this.monitorFrom) / rateReduceMonitorPeriodNs) + 1;
    this.cutAt = this.monitorFrom + periods * rateReduceMonitorPeriodNs;
  }

  get currentRateBps(): number {
    return this.recovery.currentBps;
  }

  get targetRateBps(): number {
    return this.recovery.targetBps;
  }

  get alpha(): number {
    return this.alphaAt(this.now);
  }

  private begin(now: number): void {
    const { rateReduceMonitorPeriodNs, rateToSetOnFirstCnpBps } = this.parameters;
    this.estimatedAt = now;
    this.monitorFrom = now + rateReduceMonitorPeriodNs + 1;
    this.cutAt = this.monitorFrom;
    if (rateToSetOnFirstCnpBps > 0) this.recovery.hold(rateToSetOnFirstCnpBps);
  }

  private advance(now: number): void {
    invariant(now >= this.now, 'the time given to a rate controller never goes back');
    if (now >= this.cutAt) this.cut();
    this.now = now;
    this.recovery.catchUp(now);
  }

  private cut(): void {
    const { cutAt, parameters, recovery } = this;
    const { rateReduceMonitorPeriodNs, rpgTimeResetNs, dceTcpRttNs, rpgGd, rpgMinDecFac } = parameters;
    recovery.catchUp(rpgTimeResetNs > rateReduceMonitorPeriodNs ? cutAt : cutAt - 1);
    this.estimateUntil(dceTcpRttNs > rateReduceMonitorPeriodNs ? cutAt : cutAt - 1);
    const factor = Math.max(rpgMinDecFac / 100, 1 - (this.estimate * 1024) / 2 ** rpgGd);
    const raised = recovery.byteRounds > 0 || (parameters.clampTgtRateAfterTimeInc && recovery.timeRounds > 0);
    recovery.cut(cutAt, factor, parameters.clampTgtRate || raised);
    this.cutAt = Infinity;
  }

  private estimateUntil(time: number): void {
    const { dceTcpRttNs } = this.parameters;
    const periods = Math.floor((time - this.estimatedAt) / dceTcpRttNs);
    if (periods < 1) return;
    this.estimate = this.alphaAt(time);
    this.estimatedAt += periods * dceTcpRttNs;
    this.alphaFlag = false;
  }

  /**
   * Alpha at a time that is not before the last estimate: the first period with the flag as it is, the others without.
   */
  private alphaAt(time: number): number {
    const { dceTcpRttNs } = this.parameters;
    const sinceEstimate = time - this.estimatedAt;
    if (!(sinceEstimate >= dceTcpRttNs)) return this.estimate;
    const decayed = this.estimate * this.keep ** Math.floor(sinceEstimate / dceTcpRttNs);
    if (!this.alphaFlag) return decayed;
    return decayed + (1 - this.keep) * this.keep ** (Math.floor(sinceEstimate / dceTcpRttNs) - 1);
  }
}
