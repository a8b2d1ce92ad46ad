/**
 * Completer: judges the responses of the peer. It keeps what has been acknowledged, how many retries are left and when
 * the next one is due, and places the data of READs and atomics. It returns an outcome; the queue pair applies it.
 * Rules: ref:rxe#8 (completer), ref:conformance#REQ-08..REQ-38, RNR-08..RNR-15, ACK-16, ACK-17.
 */
import { aethSyndrome } from '../packets/aeth.ts';
import { atomicAckHi, atomicAckLo } from '../packets/atomic-ack-eth.ts';
import type { Frame } from '../packets/frame.ts';
import { AETH_AT, ATOMIC_ACK_ETH_AT, Op, OpFlag, SERVICE_MASK } from '../packets/opcode.ts';
import { RNR_TIMER_NS } from '../packets/rnr-timer.ts';
import type { PortCounters } from './counters.ts';
import { EarlyNaks } from './early-naks.ts';
import { type RequesterInspection, wirePsn } from './inspection.ts';
import type { QpConfig } from './qp-config.ts';
import type { SendEntry } from './send-entry.ts';
import { extendPsn, type SendQueue } from './send-queue.ts';
import { WcStatus, WrOpcode } from './work.ts';

/** What follows from a response, after everything before `ackedTo` is acknowledged. */
export const ResponseOutcome = {
  /** Nothing new: an old or ghost response, or a reserved syndrome. */
  Ignore: 0,
  Advance: 1,
  /** Send again from `resumePsn`. */
  Retry: 2,
  /** Send again from `resumePsn`, but not before `waitNs` from now. */
  Rnr: 3,
  /** The request that holds `ackedTo` failed with `status`. */
  Fatal: 4,
} as const;
export type ResponseOutcome = (typeof ResponseOutcome)[keyof typeof ResponseOutcome];

const SYNDROME_KIND = 0xe0;
const KIND_ACK = 0x00;
const KIND_RNR = 0x20;
const KIND_NAK = 0x60;

export class Completer {
  /** Oldest extended PSN not acknowledged. */
  una = 0;
  retriesLeft = 0;
  rnrRetriesLeft = 0;
  /** When the oldest packet counts as lost, or the RNR wait ends; Infinity while nothing is outstanding. */
  deadline = Number.POSITIVE_INFINITY;
  /** After an RNR NAK: nothing is sent before `deadline`. */
  rnrWaiting = false;

  /** Results of the last `handle`. */
  ackedTo = 0;
  resumePsn = 0;
  waitNs = 0;
  status: WcStatus = WcStatus.Success;

  /** Retransmitting after a NAK, and nothing was acknowledged since: further NAKs report the same loss. */
  #retrying = false;
  /** No request before this position lacks a response; moves only forward. */
  #unansweredHint = 0;
  #retryCnt = 0;
  #rnrRetry = 0;
  /** Made with the first retransmission after a NAK. */
  #earlyNaks: EarlyNaks | undefined = undefined;
  readonly #counters: PortCounters;

  /** `counters` count responses that no honest peer sends. */
  constructor(counters: PortCounters) {
    this.#counters = counters;
  }

  reset(startingPsn: number, config: QpConfig): void {
    this.una = startingPsn;
    this.ackedTo = startingPsn;
    this.#retrying = false;
    this.#unansweredHint = 0;
    this.#earlyNaks = undefined;
    this.#retryCnt = retriesOf(config);
    this.#rnrRetry = config.rnrRetry;
    this.stopTimers();
    this.#refill();
  }

  /** Takes new retry limits, or starts the old ones again. */
  limit(config: QpConfig): void {
    this.#retryCnt = retriesOf(config);
    this.#rnrRetry = config.rnrRetry;
    this.#retrying = false;
    this.#refill();
  }

  stopTimers(): void {
    this.deadline = Number.POSITIVE_INFINITY;
    this.rnrWaiting = false;
  }

  /**
   * A packet that is to be acknowledged was sent. `timedPsn`: its PSN where it was sent for the first time and requests
   * a reply at once, else -1.
   */
  sent(now: number, timedPsn: number, config: QpConfig): void {
    if (timedPsn >= 0) this.#earlyNaks?.sent(now, timedPsn);
    if (this.deadline === Number.POSITIVE_INFINITY) this.deadline = now + config.ackTimeoutNs;
  }

  /** Packets that were sent since `sinceNs` left at `untilNs` only: a timer that one of them started starts then. */
  held(sinceNs: number, untilNs: number, { ackTimeoutNs }: QpConfig): void {
    if (this.deadline === Number.POSITIVE_INFINITY || this.rnrWaiting || this.nakWaiting) return;
    if (this.deadline - ackTimeoutNs < sinceNs) return;
    this.deadline = Math.max(this.deadline, untilNs + ackTimeoutNs);
  }

  /** The queue pair has accepted progress: all before `una` is acknowledged. */
  advance(now: number, una: number, anythingOutstanding: boolean, config: QpConfig): void {
    this.una = una;
    this.#earlyNaks?.acknowledged(now, una);
    this.#retrying = false;
    this.#refill();
    this.rnrWaiting = false;
    this.deadline = anythingOutstanding ? now + config.ackTimeoutNs : Number.POSITIVE_INFINITY;
    this.#awaitNak();
  }

  /**
   * Retransmission begins, which costs a retry; the timer starts again with the first packet sent. After a timeout
   * (`afterNak` false) the next NAK counts: it reports a loss among the packets sent again.
   */
  beginRetry(now: number, afterNak: boolean): void {
    this.#retrying = afterNak;
    if (afterNak) this.#earlyNaks ??= new EarlyNaks();
    this.#earlyNaks?.wentBack(now, this.resumePsn, afterNak);
    this.retriesLeft -= 1;
    this.deadline = Number.POSITIVE_INFINITY;
  }

  /** Only `rnrRetry` 7 retries infinitely. */
  beginRnrWait(now: number): void {
    this.#earlyNaks?.pause();
    if (this.#rnrRetry !== 7) this.rnrRetriesLeft -= 1;
    this.deadline = now + this.waitNs;
    this.rnrWaiting = true;
  }

  /** A NAK that came too soon waits for the deadline: it is no ACK timeout. */
  get nakWaiting(): boolean {
    return this.#earlyNaks !== undefined && this.#earlyNaks.waiting >= 0;
  }

  /**
   * The deadline has come: an RNR wait is over, a NAK that waited is acted upon, or the oldest unacknowledged packet is
   * retried or given up.
   */
  timeout(): ResponseOutcome {
    this.ackedTo = this.una;
    if (this.rnrWaiting) {
      this.stopTimers();
      return ResponseOutcome.Ignore;
    }
    return this.#retry(this.una);
  }

  /** Judges one response. `sentPsn` is the first PSN never sent: responses to it or beyond are ghosts. */
  handle(now: number, frame: Frame, queue: SendQueue, sentPsn: number, config: QpConfig): ResponseOutcome {
    this.ackedTo = this.una;
    const psn = extendPsn(frame.psn, this.una);
    if (psn < this.una || psn >= sentPsn) {
      if (psn >= sentPsn || this.una - psn > config.defences.psnWindow) this.#counters.responseOutsideWindow += 1;
      return ResponseOutcome.Ignore;
    }
    const waiting = this.#oldestUnanswered(queue);
    if ((frame.flags & OpFlag.Ack) !== 0) {
      const syndrome = aethSyndrome(frame.view, frame.bthOffset + (AETH_AT[frame.opcode] as number));
      return this.#acknowledge(now, psn, syndrome, waiting);
    }
    return this.#response(now, psn, frame, waiting, config);
  }

  /** Its part of what a queue pair shows. */
  inspect(): Pick<RequesterInspection, 'unackedPsn' | 'retriesLeft' | 'rnrRetriesLeft' | 'rnrWaiting'> {
    const { una, retriesLeft, rnrRetriesLeft, rnrWaiting } = this;
    return { unackedPsn: wirePsn(una), retriesLeft, rnrRetriesLeft, rnrWaiting };
  }

  #acknowledge(now: number, psn: number, syndrome: number, waiting: SendEntry | undefined): ResponseOutcome {
    // An ACK acknowledges nothing from here on: READs and atomics are acknowledged by their responses alone.
    const limit = waiting === undefined ? Number.POSITIVE_INFINITY : waiting.firstPsn + waiting.answered;
    switch (syndrome & SYNDROME_KIND) {
      case KIND_ACK:
        if (psn < limit) return this.#advanceTo(psn + 1);
        this.#advanceTo(limit);
        // An unsolicited ACK inside an open READ acknowledges none of its data; one beyond it implies that responses
        // were lost.
        if (waiting !== undefined && psn > waiting.lastPsn) return this.#impliedNak(now, limit);
        return this.ackedTo > this.una ? ResponseOutcome.Advance : ResponseOutcome.Ignore;
      case KIND_RNR:
        this.#advanceTo(Math.min(psn, limit));
        return psn > limit ? this.#impliedNak(now, limit) : this.#notReady(psn, syndrome & 0x1f);
      case KIND_NAK:
        return this.#nak(now, psn, syndrome, limit);
      default:
        return ResponseOutcome.Ignore;
    }
  }

  #nak(now: number, psn: number, syndrome: number, limit: number): ResponseOutcome {
    const status = NAK_STATUS[syndrome & 0x1f];
    if (status === undefined) return ResponseOutcome.Ignore;
    this.#advanceTo(Math.min(psn, limit));
    if (status === WcStatus.Success || psn > limit) return this.#impliedNak(now, Math.min(psn, limit));
    this.status = status;
    return ResponseOutcome.Fatal;
  }

  #notReady(psn: number, code: number): ResponseOutcome {
    if (this.rnrWaiting && this.ackedTo === this.una) return ResponseOutcome.Ignore;
    const left = this.ackedTo > this.una ? this.#rnrRetry : this.rnrRetriesLeft;
    if (left === 0) {
      this.status = WcStatus.RnrRetryExcErr;
      return ResponseOutcome.Fatal;
    }
    this.resumePsn = psn;
    this.waitNs = RNR_TIMER_NS[code] as number;
    return ResponseOutcome.Rnr;
  }

  /**
   * A sequence NAK, explicit or implied. Ignored while an earlier one is still being acted upon, and during an RNR
   * wait: rdma_rxe sends one for the packet behind the refused one (ref:conformance#RNR-06, RNR-13).
   */
  #impliedNak(now: number, from: number): ResponseOutcome {
    const acting = this.#retrying || this.rnrWaiting;
    if (acting && this.ackedTo === this.una) return ResponseOutcome.Ignore;
    if (this.#earlyNaks === undefined || now >= this.#earlyNaks.dueAt) return this.#retry(from);
    this.#counters.earlyNak += 1;
    this.#earlyNaks.waiting = from;
    this.#awaitNak();
    return this.ackedTo > this.una ? ResponseOutcome.Advance : ResponseOutcome.Ignore;
  }

  #awaitNak(): void {
    if (this.#earlyNaks !== undefined && this.#earlyNaks.waiting >= 0) this.deadline = this.#earlyNaks.dueAt;
  }

  /** Counts the failure that `status` tells of. */
  countFailure(): void {
    const { status } = this;
    const counters = this.#counters;
    if (status === WcStatus.RetryExcErr) counters.retryExceededErr += 1;
    else if (status === WcStatus.RnrRetryExcErr) counters.retryRnrExceededErr += 1;
    else if (status === WcStatus.RemInvReqErr) counters.reqRemoteInvalidRequest += 1;
    else if (status === WcStatus.RemAccessErr) counters.reqRemoteAccessErrors += 1;
    else if (status === WcStatus.RemOpErr) counters.reqRemoteOperationErrors += 1;
  }

  /** Progress refills the retry counter before this retry is taken from it (ref:conformance#REQ-23). */
  #retry(from: number): ResponseOutcome {
    const left = this.ackedTo > this.una ? this.#retryCnt : this.retriesLeft;
    if (left === 0) {
      this.status = WcStatus.RetryExcErr;
      return ResponseOutcome.Fatal;
    }
    this.resumePsn = from;
    return ResponseOutcome.Retry;
  }

  /** READ RESPONSE or ATOMIC ACKNOWLEDGE. */
  #response(now: number, psn: number, frame: Frame, waiting: SendEntry | undefined, config: QpConfig): ResponseOutcome {
    const expected = waiting === undefined ? Number.POSITIVE_INFINITY : waiting.firstPsn + waiting.answered;
    if (waiting === undefined || psn < expected) return this.#unexpectedResponse(psn);
    // A responder that answers this request has executed all requests before it (ref:conformance#RD-17).
    this.#advanceTo(expected);
    if (psn > expected) {
      const inside = psn <= waiting.lastPsn && config.profile.readGap.value === 'at-timeout';
      return inside ? this.#advanceTo(expected) : this.#impliedNak(now, expected);
    }
    this.status = placeResponse(frame, waiting, config);
    if (this.status !== WcStatus.Success) return ResponseOutcome.Fatal;
    waiting.answered += 1;
    return this.#advanceTo(expected + 1);
  }

  /**
   * Data for a SEND or WRITE: a bad response at the oldest unacknowledged PSN, else ignored (ref:conformance#REQ-31).
   */
  #unexpectedResponse(psn: number): ResponseOutcome {
    if (psn !== this.una) return ResponseOutcome.Ignore;
    this.status = WcStatus.BadRespErr;
    return ResponseOutcome.Fatal;
  }

  #advanceTo(psn: number): ResponseOutcome {
    if (psn > this.ackedTo) this.ackedTo = psn;
    return this.ackedTo > this.una ? ResponseOutcome.Advance : ResponseOutcome.Ignore;
  }

  /** The oldest started request that lacks responses. */
  #oldestUnanswered(queue: SendQueue): SendEntry | undefined {
    if (this.#unansweredHint < queue.head) this.#unansweredHint = queue.head;
    while (this.#unansweredHint < queue.tail) {
      const entry = queue.at(this.#unansweredHint);
      if (!entry.started) return undefined;
      if (entry.expectsResponse && entry.firstPsn + entry.answered <= entry.lastPsn) return entry;
      this.#unansweredHint += 1;
    }
    return undefined;
  }

  #refill(): void {
    this.retriesLeft = this.#retryCnt;
    this.rnrRetriesLeft = this.#rnrRetry;
  }
}

/** Retries after a timeout or a sequence NAK, as the peer profile counts them. */
function retriesOf({ retryCnt, profile }: QpConfig): number {
  return retryCnt === 7 && profile.retryCnt7.value === 'for-ever' ? Number.POSITIVE_INFINITY : retryCnt;
}

/** NAK codes 0..31 of an AETH: Success stands for "send again", absent for reserved codes, which are ignored. */
const NAK_STATUS: readonly (WcStatus | undefined)[] = [
  WcStatus.Success,
  WcStatus.RemInvReqErr,
  WcStatus.RemAccessErr,
  WcStatus.RemOpErr,
];

/** The opcode without the bits of the service, which is the queue pair's. */
function operationOf(frame: Frame): number {
  return frame.opcode & ~SERVICE_MASK;
}

function hasGoodSyndrome(frame: Frame): boolean {
  const at = AETH_AT[frame.opcode] as number;
  return at < 0 || (aethSyndrome(frame.view, frame.bthOffset + at) & SYNDROME_KIND) === KIND_ACK;
}

/** Checks the response of `entry`, and places the data that it carries. */
function placeResponse(frame: Frame, entry: SendEntry, config: QpConfig): WcStatus {
  if (entry.isAtomic) return placeAtomic(frame, entry, config);
  return entry.returnsData ? placeRead(frame, entry, config) : checkEmptyResponse(frame);
}

/** FLUSH and ATOMIC WRITE are answered by an empty READ response (ref:conformance#MPE-02). */
function checkEmptyResponse(frame: Frame): WcStatus {
  if (operationOf(frame) !== Op.ReadResponseOnly || !hasGoodSyndrome(frame)) return WcStatus.BadRespErr;
  return frame.payloadLength === 0 ? WcStatus.Success : WcStatus.LocLenErr;
}

/** Copies one READ response into the sink; never a byte more than was requested. */
function placeRead(frame: Frame, entry: SendEntry, config: QpConfig): WcStatus {
  const done = entry.answered * config.mtu;
  const left = entry.length - done;
  const ends = left <= config.mtu;
  const opcode = operationOf(frame);
  // A resumed READ may be answered from FIRST or ONLY, or, by rxe, from MIDDLE or LAST (ref:conformance#RD-09).
  const fits = ends
    ? opcode === Op.ReadResponseLast || opcode === Op.ReadResponseOnly
    : opcode === Op.ReadResponseFirst || opcode === Op.ReadResponseMiddle;
  if (!fits || !hasGoodSyndrome(frame)) return WcStatus.BadRespErr;
  if (frame.payloadLength !== Math.min(left, config.mtu)) return WcStatus.LocLenErr;
  if (!entry.segments.accessible(config.pd, true)) return WcStatus.LocProtErr;
  const placed = entry.segments.scatter(done, frame.bytes, frame.payloadOffset, frame.payloadLength, !ends);
  return placed ? WcStatus.Success : WcStatus.LocProtErr;
}

/** Stores the original value in host order, which is little-endian here (ref:conformance#ATM-14). */
function placeAtomic(frame: Frame, entry: SendEntry, config: QpConfig): WcStatus {
  if (operationOf(frame) !== Op.AtomicAcknowledge || !hasGoodSyndrome(frame)) return WcStatus.BadRespErr;
  if (!entry.segments.accessible(config.pd, true)) return WcStatus.LocProtErr;
  const at = frame.bthOffset + (ATOMIC_ACK_ETH_AT[frame.opcode] as number);
  const placed = entry.segments.scatter64(atomicAckHi(frame.view, at), atomicAckLo(frame.view, at));
  return placed ? WcStatus.Success : WcStatus.LocProtErr;
}

/** The message bytes a completed request reports: what a READ or atomic returned. */
export function completedBytes(entry: SendEntry): number {
  return entry.opcode === WrOpcode.RdmaRead || entry.isAtomic ? entry.length : 0;
}
