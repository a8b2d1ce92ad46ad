/**
 * DCQCN as an event-driven simulator has it: every timer is an event, also when nothing happens, and events of the same
 * nanosecond run in the order in which they were scheduled. Slow and plain on purpose: what the controllers compute on
 * demand is held against this.
 */
import type { MlxParameters, PaperParameters } from '../../../../transport/congestion/dcqcn-parameters.ts';

/** What both models show. */
export interface EagerModel {
  advance(now: number): void;
  sent(bytes: number): void;
  notified(): void;
  readonly rate: number;
  readonly target: number;
  readonly alpha: number;
}

interface Event {
  readonly at: number;
  readonly id: number;
  readonly run: () => void;
}

class EventQueue {
  now = 0;
  private nextId = 0;
  private events: Event[] = [];

  schedule(after: number, run: () => void): number {
    const id = this.nextId++;
    if (after !== Infinity) this.events.push({ at: this.now + after, id, run });
    return id;
  }

  cancel(id: number): void {
    this.events = this.events.filter((event) => event.id !== id);
  }

  runUntil(time: number): void {
    for (;;) {
      const due = this.events.filter((event) => event.at <= time).sort((a, b) => a.at - b.at || a.id - b.id)[0];
      if (due === undefined) break;
      this.cancel(due.id);
      this.now = due.at;
      due.run();
    }
    this.now = time;
  }
}

/** One flow's rates and rounds; one round at a time. */
class Rates {
  rate: number;
  target: number;
  timeStage = 0;
  byteStage = 0;
  private readonly line: number;
  private readonly threshold: number;
  private readonly ai: number;
  private readonly hai: number;
  private readonly hasBytes: boolean;
  private readonly hyperWithoutBytes: boolean;

  constructor(line: number, threshold: number, ai: number, hai: number, hasBytes: boolean, hyperWithoutBytes: boolean) {
    this.rate = line;
    this.target = line;
    this.line = line;
    this.threshold = threshold;
    this.ai = ai;
    this.hai = hai;
    this.hasBytes = hasBytes;
    this.hyperWithoutBytes = hyperWithoutBytes;
  }

  round(): void {
    const stages = this.hasBytes || !this.hyperWithoutBytes ? [this.timeStage, this.byteStage] : [this.timeStage];
    if (stages.some((stage) => stage >= this.threshold))
      this.target += stages.every((stage) => stage > this.threshold) ? this.hai : this.ai;
    this.target = Math.min(this.target, this.line);
    this.rate = (this.rate + this.target) / 2;
    this.settle();
  }

  settle(): void {
    if (this.line - this.rate < 1) this.rate = this.target = this.line;
  }
}

/** The authors' algorithm. */
export class EagerPaper implements EagerModel {
  alpha = 1;
  private readonly queue = new EventQueue();
  private readonly rates: Rates;
  private readonly parameters: PaperParameters;
  private bytes: number | undefined;
  private alphaTimer = -1;
  private rateTimer = -1;

  constructor(parameters: PaperParameters, line: number) {
    const { fastRecoveryStages, aiRateBps, haiRateBps, byteCounterBytes } = parameters;
    this.parameters = parameters;
    this.rates = new Rates(line, fastRecoveryStages, aiRateBps, haiRateBps, byteCounterBytes > 0, false);
  }

  get rate(): number {
    return this.rates.rate;
  }

  get target(): number {
    return this.rates.target;
  }

  advance(now: number): void {
    this.queue.runUntil(now);
  }

  sent(bytes: number): void {
    const { byteCounterBytes } = this.parameters;
    if (this.bytes === undefined || byteCounterBytes === 0) return;
    for (this.bytes += bytes; this.bytes >= byteCounterBytes; this.bytes -= byteCounterBytes) {
      this.rates.round();
      this.rates.byteStage++;
    }
  }

  notified(): void {
    const { rates, queue } = this;
    const { g, minRateBps } = this.parameters;
    rates.target = rates.rate;
    rates.rate = Math.max(minRateBps, rates.rate * (1 - this.alpha / 2));
    rates.settle();
    this.alpha = (1 - g) * this.alpha + g;
    queue.cancel(this.alphaTimer);
    queue.cancel(this.rateTimer);
    this.startAlphaTimer();
    this.startRateTimer();
    rates.timeStage = 0;
    rates.byteStage = 0;
    this.bytes = 0;
  }

  private startAlphaTimer(): void {
    this.alphaTimer = this.queue.schedule(this.parameters.alphaTimerNs, () => {
      this.alpha *= 1 - this.parameters.g;
      this.startAlphaTimer();
    });
  }

  private startRateTimer(): void {
    this.rateTimer = this.queue.schedule(this.parameters.rateTimerNs, () => {
      this.startRateTimer();
      this.rates.round();
      this.rates.timeStage++;
    });
  }
}

/** The variant of NVIDIA's adapters. */
export class EagerMlx implements EagerModel {
  alpha: number;
  private readonly queue = new EventQueue();
  private readonly rates: Rates;
  private readonly parameters: MlxParameters;
  private begun = false;
  private bytes: number | undefined;
  private alphaMark = false;
  private cutMark = false;
  private increaseTimer = -1;

  constructor(parameters: MlxParameters, line: number) {
    const { rpgThreshold, rpgAiRateBps, rpgHaiRateBps, rpgByteResetBytes, rpgMaxRateBps } = parameters;
    const top = rpgMaxRateBps > 0 ? Math.min(line, rpgMaxRateBps) : line;
    this.parameters = parameters;
    this.alpha = parameters.initialAlphaValue / 1024;
    this.rates = new Rates(top, rpgThreshold, rpgAiRateBps, rpgHaiRateBps, rpgByteResetBytes > 0, true);
  }

  get rate(): number {
    return this.rates.rate;
  }

  get target(): number {
    return this.rates.target;
  }

  advance(now: number): void {
    this.queue.runUntil(now);
  }

  sent(bytes: number): void {
    const { rpgByteResetBytes } = this.parameters;
    if (this.bytes === undefined || rpgByteResetBytes === 0) return;
    for (this.bytes += bytes; this.bytes >= rpgByteResetBytes; this.bytes -= rpgByteResetBytes) {
      this.rates.round();
      this.rates.byteStage++;
    }
  }

  notified(): void {
    this.cutMark = true;
    this.alphaMark = this.begun;
    if (this.begun) return;
    this.begun = true;
    const { rateToSetOnFirstCnpBps, rpgMinRateBps, rateReduceMonitorPeriodNs } = this.parameters;
    this.startAlphaTimer();
    this.queue.schedule(rateReduceMonitorPeriodNs + 1, () => this.checkForCut());
    if (rateToSetOnFirstCnpBps === 0) return;
    this.rates.rate = Math.max(rpgMinRateBps, Math.min(this.rates.rate, rateToSetOnFirstCnpBps));
    this.rates.target = this.rates.rate;
  }

  private startAlphaTimer(): void {
    this.queue.schedule(this.parameters.dceTcpRttNs, () => {
      const keep = this.parameters.dceTcpG / 1024;
      this.alpha = keep * this.alpha + (this.alphaMark ? 1 - keep : 0);
      this.alphaMark = false;
      this.startAlphaTimer();
    });
  }

  private checkForCut(): void {
    const { rates, parameters } = this;
    this.queue.schedule(parameters.rateReduceMonitorPeriodNs, () => this.checkForCut());
    if (!this.cutMark) return;
    this.cutMark = false;
    const raised = rates.byteStage > 0 || (rates.timeStage > 0 && parameters.clampTgtRateAfterTimeInc);
    if (raised || parameters.clampTgtRate) rates.target = rates.rate;
    const share = (this.alpha * 1024) / 2 ** parameters.rpgGd;
    rates.rate = Math.max(parameters.rpgMinRateBps, rates.rate * Math.max(1 - share, parameters.rpgMinDecFac / 100));
    rates.settle();
    rates.timeStage = 0;
    rates.byteStage = 0;
    this.bytes = 0;
    this.queue.cancel(this.increaseTimer);
    this.startIncreaseTimer();
  }

  private startIncreaseTimer(): void {
    this.increaseTimer = this.queue.schedule(this.parameters.rpgTimeResetNs, () => {
      this.startIncreaseTimer();
      this.rates.round();
      this.rates.timeStage++;
    });
  }
}
