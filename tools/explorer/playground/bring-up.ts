/**
 * The moves of a queue pair from RESET to RTS (ibv_modify_qp), with the attributes of a scenario. Owns which attribute
 * each move has; when they are made is the caller's: at once, or as the connection manager asks for them.
 */
import type { Qp } from 'rocev2/browser';
import type { IpAddress } from 'rocev2/packets';
import { Access, QpState } from 'rocev2/transport';
import type { QpSpec } from './scenario.ts';

/** What a side has to know of its peer. */
export interface PeerFacts {
  readonly destination: IpAddress;
  readonly destQpn: number;
  /** The PSN with which the peer begins. */
  readonly rqPsn: number;
}

/** Where a side begins to send, and where it expects its peer to. */
export function firstPsns({ firstPsn, peerFirstPsn }: QpSpec, side: 0 | 1): { sqPsn: number; rqPsn: number } {
  return side === 0 ? { sqPsn: firstPsn, rqPsn: peerFirstPsn } : { sqPsn: peerFirstPsn, rqPsn: firstPsn };
}

/** From here on receives can be posted. */
export function bringToInit(qp: Qp): void {
  qp.modifyNow({ state: QpState.Init, access: ALL_ACCESS });
}

/** From INIT: it receives, then it sends. */
export function bringToRts(qp: Qp, spec: QpSpec, { destination, destQpn, rqPsn }: PeerFacts, sqPsn: number): void {
  const { maxRdAtomic, minRnrTimer, timeout, retryCnt, rnrRetry, mtu, service } = spec;
  const reliable = service === 'rc';
  qp.modifyNow({
    ...{ state: QpState.Rtr, av: { destination }, destQpn, rqPsn, mtu },
    ...(reliable ? { maxDestRdAtomic: maxRdAtomic, minRnrTimer } : {}),
  });
  qp.modifyNow({ state: QpState.Rts, sqPsn, ...(reliable ? { timeout, retryCnt, rnrRetry, maxRdAtomic } : {}) });
}

/** Nothing is sent any more, and all work is flushed. One that never began, or has ended, is left alone. */
export function bringToError(qp: Qp): void {
  if (qp.state !== QpState.Reset && qp.state !== QpState.Error) qp.modifyNow({ state: QpState.Error });
}

const ALL_ACCESS =
  Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic | Access.FlushGlobal;
