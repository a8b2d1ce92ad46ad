/**
 * Moves a queue pair from RESET to RTS with the parameters that REQ and REP negotiated, in rdma_cm's order. The steps
 * are the same on the active and the passive side.
 */
import type { IpAddress } from '../../../packets/address.ts';
import { CmAprStatus, type CmTransportService } from '../../../packets/cm/index.ts';
import { RoceError } from '../../../packets/errors.ts';
import { Access } from '../../../transport/memory.ts';
import { MigState } from '../../../transport/qp-attributes.ts';
import { QpState } from '../../../transport/qp-state.ts';
import { QpType } from '../../../transport/qp-type.ts';
import type { RdmaDevice } from '../api.ts';
import type { PathTraits } from '../options.ts';
import { type AddressVector, Qp } from '../verbs/index.ts';

/** The parameters that REQ and REP carried. */
export interface NegotiatedParameters {
  readonly local: IpAddress;
  readonly remote: IpAddress;
  readonly destQpn: number;
  /** The peer's starting PSN, which our REQ or REP gave it. */
  readonly rqPsn: number;
  /** Our starting PSN, which the peer's REQ or REP gave us. */
  readonly sqPsn: number;
  readonly mtu: number;
  readonly initiatorDepth: number;
  readonly responderResources: number;
  readonly minRnrTimer: number;
  readonly ackTimeout: number;
  readonly retryCount: number;
  readonly rnrRetryCount: number;
  /** End-to-end credits: both sides asked for them. */
  readonly flowControl: boolean;
  readonly traits: PathTraits;
}

/** Which end of a connection a queue pair can be. */
export type ConnectionSide = 'active' | 'passive';

/**
 * The service of the connection that a queue pair can be an end of. Changes nothing, so a refused call has no effect.
 * @throws RoceError ERR_ROCE_ARGUMENT for no queue pair of this device or one of a type that is not connected so,
 * ERR_ROCE_CLOSED for one that is destroyed, ERR_ROCE_STATE for one that is already being connected
 */
export function demandConnectable(device: RdmaDevice, qp: Qp, side: ConnectionSide): CmTransportService {
  if (!(qp instanceof Qp) || qp.pd.device !== device)
    throw new RoceError('ERR_ROCE_ARGUMENT', 'a connection is made of a queue pair of its own device');
  if (qp.destroyed) throw new RoceError('ERR_ROCE_CLOSED', 'the queue pair is destroyed');
  const service = SERVICES[side][qp.core.type];
  if (service === undefined) {
    const which = side === 'active' ? 'begin' : 'take';
    throw new RoceError('ERR_ROCE_ARGUMENT', `a queue pair of type ${qp.core.type} does not ${which} a connection`);
  }
  if (qp.state !== QpState.Reset && qp.state !== QpState.Init)
    throw new RoceError('ERR_ROCE_STATE', `the queue pair is in ${qp.stateName}: it is connected from RESET or INIT`);
  return service;
}

/**
 * To INIT, if it is not there yet, so that receives can be posted. Access as ib_cm grants it: WRITE always, READ and
 * atomics when there are resources to answer them, and FLUSH with them (ib_cm:cm.c#cm_init_qp_init_attr).
 */
export function bringToInit(qp: Qp, responderResources: number): void {
  if (qp.state === QpState.Init) return;
  const reading = responderResources > 0 ? ANSWERED : 0;
  qp.modifyNow({ state: QpState.Init, access: Access.LocalWrite | Access.RemoteWrite | reading });
}

/**
 * From INIT over RTR to RTS, with the attributes its type has. Throws ERR_ROCE_ARGUMENT when the peer's values are out
 * of range.
 */
export function bringToRts(qp: Qp, agreed: NegotiatedParameters): void {
  const answers = ANSWERING.includes(qp.core.type);
  const asks = ASKING.includes(qp.core.type);
  qp.modifyNow({
    state: QpState.Rtr,
    av: { ...agreed.traits, destination: agreed.remote, source: agreed.local },
    destQpn: agreed.destQpn,
    rqPsn: agreed.rqPsn,
    mtu: agreed.mtu,
    ...(agreed.flowControl ? { flowControl: true } : {}),
    ...(answers ? { maxDestRdAtomic: agreed.responderResources, minRnrTimer: agreed.minRnrTimer } : {}),
  });
  qp.modifyNow({
    state: QpState.Rts,
    sqPsn: agreed.sqPsn,
    ...(answers || asks ? { timeout: agreed.ackTimeout } : {}),
    ...(asks
      ? { retryCnt: agreed.retryCount, rnrRetry: agreed.rnrRetryCount, maxRdAtomic: agreed.initiatorDepth }
      : {}),
  });
}

/** Whether ACKs of this queue pair carry end-to-end credits: it has a receive queue of its own and `wanted` is set. */
export function givesCredits(qp: Qp, wanted: boolean): boolean {
  return wanted && qp.core.type === QpType.Rc && qp.core.srq === undefined && qp.core.config.profile.credits.value;
}

/** A datagram queue pair from RESET to RTS with this Q_Key; one in RTS or later is not changed. */
export function bringDatagramsToRts(qp: Qp, qkey: number): void {
  if (qp.state === QpState.Reset) qp.modifyNow({ state: QpState.Init, qkey });
  if (qp.state === QpState.Init) qp.modifyNow({ state: QpState.Rtr });
  if (qp.state === QpState.Rtr) qp.modifyNow({ state: QpState.Rts, sqPsn: 0 });
}

/** Gives a connected queue pair an alternate path, which packets of both sides arm. Returns a `CmAprStatus`. */
export function loadAlternate(qp: Qp, av: AddressVector): number {
  if (qp.destroyed || qp.state !== QpState.Rts) return CmAprStatus.Reject;
  try {
    qp.modifyNow({ altAv: av, pathMigState: MigState.Rearm });
    return CmAprStatus.Success;
  } catch (error) {
    if (error instanceof RoceError) return CmAprStatus.InvalidGid;
    throw error;
  }
}

/** Moves a queue pair to ERROR, which flushes outstanding work. One in RESET or ERROR is not changed. */
export function bringToError(qp: Qp): void {
  if (qp.destroyed) return;
  if (qp.state !== QpState.Reset && qp.state !== QpState.Error) qp.modifyNow({ state: QpState.Error });
}

type Services = Readonly<Partial<Record<QpType, CmTransportService>>>;

/** An XRC connection joins a requester-only queue pair with a responder-only one. */
const SERVICES: Readonly<Record<ConnectionSide, Services>> = {
  active: { [QpType.Rc]: 'rc', [QpType.Uc]: 'uc', [QpType.XrcSend]: 'xrc' },
  passive: { [QpType.Rc]: 'rc', [QpType.Uc]: 'uc', [QpType.XrcRecv]: 'xrc' },
};

/** A responder sends ACKs and a requester waits for them: ibv_modify_qp(3), and for XRC rdma:verbs.c#qp_state_table. */
const ANSWERING: readonly QpType[] = [QpType.Rc, QpType.XrcRecv];
const ASKING: readonly QpType[] = [QpType.Rc, QpType.XrcSend];

const ANSWERED = Access.RemoteRead | Access.RemoteAtomic | Access.FlushGlobal | Access.FlushPersistent;
