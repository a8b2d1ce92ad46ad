/**
 * The trace of a queue pair: decisions that packets alone do not show.
 *
 * Owns the interface. Called by the queue pair, after the fact; an implementation must not call back into it. Without a
 * trace each call costs one comparison. Arguments are numbers that are there anyway, PSNs those of the wire. The time
 * is not passed.
 */
import type { RateController } from './congestion/rate-controller.ts';
import type { QpState } from './qp-state.ts';
import type { WorkCompletion } from './work.ts';

/** Why a requester sends again. */
export type RetryTrigger = 'timeout' | 'nak' | 'migration';

/** What a responder made of a request that it did not simply execute. */
export type RequestJudgement = 'duplicate' | 'out-of-sequence' | 'dropped' | 'not-ready' | 'refused';

/** Receives the decisions of the queue pairs of a device. */
export interface QpTrace {
  /** From one state of the queue pair to another. */
  stateChanged(qpn: number, from: QpState, to: QpState): void;
  /** Everything before `psn` is acknowledged; `outstanding` packets that were sent are not. */
  acknowledged(qpn: number, psn: number, outstanding: number): void;
  /** The requester retransmits from `psn` on; `retriesLeft` more retries are left. */
  retried(qpn: number, psn: number, trigger: RetryTrigger, retriesLeft: number): void;
  /** The peer was not ready for `psn`: nothing is sent for `waitNs`. */
  rnrWait(qpn: number, psn: number, waitNs: number): void;
  /** A request with this PSN was not simply executed. */
  judged(qpn: number, psn: number, judgement: RequestJudgement): void;
  /** A work request completed; the entry is valid during the call. */
  completed(completion: WorkCompletion): void;
  /** A congestion notification was acted upon. */
  notified(qpn: number): void;
  /** A data packet has left that the controller holds to a rate. */
  rate(qpn: number, controller: Readonly<RateController>): void;
}
