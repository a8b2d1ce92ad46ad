/**
 * A queue pair's way from RESET to RTS with the numbers both sides of a connection agreed on, in the order rdma_cm takes:
 * the same for who connects and who accepts.
 */
import type { IpAddress } from '../packets/address.ts';
import { RoceError } from '../packets/errors.ts';
import { Access } from '../transport/memory.ts';
import { QpState } from '../transport/qp-state.ts';
import type { PathTraits } from './device-options.ts';
import { Qp } from './verbs/index.ts';

/** What the two sides have told each other. */
export interface Agreement {
  readonly local: IpAddress;
  readonly remote: IpAddress;
  readonly destQpn: number;
  /** Where the peer begins to send, which is what we told it. */
  readonly rqPsn: number;
  /** Where we begin, which is what it told us. */
  readonly sqPsn: number;
  readonly mtu: number;
  readonly initiatorDepth: number;
  readonly responderResources: number;
  readonly minRnrTimer: number;
  readonly ackTimeout: number;
  readonly retryCount: number;
  readonly rnrRetryCount: number;
  readonly traits: PathTraits;
}

/**
 * To INIT, if it is not there yet, so that receives can be posted. Access as ib_cm grants it: WRITE always, READ and atomics
 * when there are resources to answer them.
 */
export function bringToInit(qp: Qp, responderResources: number): void {
  if (!(qp instanceof Qp))
    throw new RoceError('ERR_ROCE_ARGUMENT', 'a connection is made of a queue pair of its own device');
  if (qp.state === QpState.Init) return;
  const reading = responderResources > 0 ? Access.RemoteRead | Access.RemoteAtomic : 0;
  qp.modifyNow({ state: QpState.Init, access: Access.LocalWrite | Access.RemoteWrite | reading });
}

/** From INIT over RTR to RTS. Throws ERR_ROCE_ARGUMENT when the peer named impossible numbers. */
export function bringToRts(qp: Qp, agreed: Agreement): void {
  qp.modifyNow({
    state: QpState.Rtr,
    av: { ...agreed.traits, destination: agreed.remote, source: agreed.local },
    destQpn: agreed.destQpn,
    rqPsn: agreed.rqPsn,
    mtu: agreed.mtu,
    maxDestRdAtomic: agreed.responderResources,
    minRnrTimer: agreed.minRnrTimer,
  });
  qp.modifyNow({
    state: QpState.Rts,
    sqPsn: agreed.sqPsn,
    timeout: agreed.ackTimeout,
    retryCnt: agreed.retryCount,
    rnrRetry: agreed.rnrRetryCount,
    maxRdAtomic: agreed.initiatorDepth,
  });
}

/** Anything outstanding is flushed; a queue pair that was never set up, or is there already, stays as it is. */
export function bringToError(qp: Qp): void {
  if (qp.destroyed) return;
  if (qp.state !== QpState.Reset && qp.state !== QpState.Error) qp.modifyNow({ state: QpState.Error });
}
