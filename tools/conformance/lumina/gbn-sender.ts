/**
 * Go-back-N as the requester of WRITEs and SENDs plays it: packets in order, back to a loss for a reason, and in order
 * again from there. Rules: REQ-27, REQ-28, REQ-15, REQ-24 (ref:conformance#REQ; the idea is Lumina's gbn_check, SIGCOMM
 * 2023).
 *
 * Owns the sender's state machine. It sees the requester from the bump: an answer that has left the bump is not at the
 * requester yet, so packets that follow in order after a NAK are no fault, and what is repeated although its
 * ACK is under way is none either.
 */
import { type EndPacket, endOf, endPackets, lossesOf, type TrafficConnection } from './connection.ts';
import { type CheckResult, Findings } from './findings.ts';
import type { Trace } from './trace.ts';

/** Times that a check needs. */
export interface Pace {
  /** The requester's ACK timeout, 4.096 us * 2^t; 0: it has none. */
  readonly timeoutNs: number;
  /**
   * How far times of the bump may be from those of a device: its clock ticks, and a packet is under way for a while.
   */
  readonly slackNs: number;
}

export function gbnSenderCheck(trace: Trace, connection: TrafficConnection, pace: Pace): CheckResult[] {
  const sender = new Sender(endOf(connection, 'requester'), pace);
  for (const step of endPackets(trace, connection, 'requester')) {
    if (step.way === 'got') sender.got(step);
    else if (step.kind === 'request' || step.kind === 'read-request') sender.sent(step);
  }
  return sender.end(connection.psns, lossesOf(trace, connection, 'requester'));
}

interface PendingNak {
  readonly psn: number;
  readonly timeNs: number;
}

class Sender {
  readonly #found: Findings;
  readonly #pace: Pace;
  /** What has to be sent next, if it goes on in order. */
  #next = 0;
  /** The oldest that is not acknowledged, and since when. */
  #una = 0;
  #unaAt = 0;
  #nak: PendingNak | undefined;
  #naks = 0;
  #timeouts = 0;
  #earlier = 0;
  #goesBack = 0;
  readonly #reactions: number[] = [];
  /** When a PSN was sent, all times. */
  readonly #sentAt = new Map<number, number[]>();

  constructor(end: 'a' | 'b', pace: Pace) {
    this.#found = new Findings('gbn-sender', end, ['REQ-27', 'REQ-28', 'REQ-15', 'REQ-24']);
    this.#pace = pace;
  }

  got({ kind, psn, timeNs }: EndPacket): void {
    this.#acknowledged(kind === 'ack' || kind === 'response' ? psn + 1 : psn, timeNs);
    if (kind !== 'nak' && kind !== 'rnr-nak') return;
    this.#naks++;
    this.#nak = { psn, timeNs };
  }

  sent({ psn, last, timeNs }: EndPacket): void {
    // What was acknowledged meanwhile need not be repeated: a jump over it is none.
    const skipped = psn > this.#next && psn > this.#una;
    if (skipped)
      this.#found.seen('REQ-27', `psn+${this.#next} was to be sent, and psn+${psn} was: packets were skipped`);
    else if (psn < this.#next) this.#wentBack(psn, timeNs);
    else this.#found.seen('REQ-28');
    this.#next = last + 1;
    this.#sentAt.set(psn, [...(this.#sentAt.get(psn) ?? []), timeNs]);
  }

  end(psns: number, losses: readonly EndPacket[]): CheckResult[] {
    const found = this.#found;
    for (const { psn, timeNs } of losses) {
      const again = this.#sentAt.get(psn)?.some((at) => at > timeNs) === true;
      found.seen('REQ-27', again ? undefined : `psn+${psn} was lost and not sent again`);
    }
    if (this.#nak !== undefined && this.#una <= this.#nak.psn)
      found.seen('REQ-24', `the NAK for psn+${this.#nak.psn} had no effect`);
    if (this.#una < psns) found.seen('REQ-27', `psn+${this.#una} of ${psns} was not acknowledged in the end`);
    const figures = { naksGot: this.#naks, timeouts: this.#timeouts, goesBack: this.#goesBack };
    Object.assign(found.figures, { ...figures, repeatedFromBefore: this.#earlier });
    found.spread('reactionNs', this.#reactions);
    return found.results();
  }

  #acknowledged(una: number, timeNs: number): void {
    if (una <= this.#una) return;
    this.#una = una;
    this.#unaAt = timeNs;
  }

  #wentBack(psn: number, timeNs: number): void {
    const found = this.#found;
    const nak = this.#nak;
    this.#goesBack++;
    if (nak === undefined) {
      const idle = timeNs - this.#quietSince(psn);
      if (this.#timerMayHaveRun(idle)) {
        this.#timeouts++;
        found.seen('REQ-28');
      } else found.seen('REQ-28', `it went back to psn+${psn} without a NAK, ${us(idle)} after the last event`);
      return;
    }
    this.#nak = undefined;
    const reaction = timeNs - nak.timeNs;
    found.seen('REQ-28');
    found.seen('REQ-15', psn > nak.psn ? `the NAK named psn+${nak.psn}, and it went on from psn+${psn}` : undefined);
    const late = this.#pace.timeoutNs > 0 && reaction >= this.#pace.timeoutNs - this.#pace.slackNs;
    found.seen('REQ-24');
    if (late) {
      this.#timeouts++;
      found.varied('REQ-24', `the NAK for psn+${nak.psn} was ignored, and the timer repeated it ${us(reaction)} later`);
    } else this.#reactions.push(reaction);
    if (psn < nak.psn) this.#earlier++;
  }

  /**
   * Since when the timer for this packet runs, at the latest: since it was sent last, or since it became the oldest.
   */
  #quietSince(psn: number): number {
    const sent = this.#sentAt.get(Math.max(psn, 0))?.at(-1) ?? 0;
    return psn < this.#una ? sent : Math.max(sent, this.#unaAt);
  }

  #timerMayHaveRun(idleNs: number): boolean {
    const { timeoutNs, slackNs } = this.#pace;
    return timeoutNs > 0 && idleNs >= timeoutNs - slackNs;
  }
}

/** A time for a sentence. */
export const us = (ns: number): string => `${Math.round(ns / 1e3)} us`;
