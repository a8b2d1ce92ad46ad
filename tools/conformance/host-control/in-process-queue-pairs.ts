/**
 * Calls on queue pairs: made, modified, asked, given work, attached to groups. Owns the translation between the
 * attributes of ibv_modify_qp and those of our own API, and what of the former the latter does not have: port and P_Key
 * index, of which there is one each, demanded and allowed where verbs do (linux:core/verbs.c#qp_state_table).
 */

import type { Device, ModifyAttributes, Qp } from 'rocev2';
import { IpAddress, PSN_MASK } from 'rocev2/packets';
import {
  MigState,
  QP_STATE_NAMES,
  type QpInspection,
  QpState,
  QpType,
  RcQueuePair,
  UnreliableQueuePair,
} from 'rocev2/transport';
import type { HostCalls, HostQpAttributes, PathAttributes, QpStateName, QpTypeName } from './host-control.ts';
import {
  accessBits,
  accessFlags,
  DONE,
  type Handlers,
  type MadeQp,
  type Objects,
  present,
  refused,
} from './in-process-objects.ts';
import { addressVector, receiveOf, sendOf } from './in-process-work.ts';

type QueuePairCall = Extract<keyof Handlers, `qp.${string}` | `mcast.${string}`>;

/** The calls on queue pairs. */
export function queuePairCalls(objects: Objects): Pick<Handlers, QueuePairCall> {
  const { device, qps } = objects;
  return {
    'qp.create': ({ qp, ...asked }) => ({ qpn: qps.make(qp, () => makeQp(objects, asked)).qp.qpn }),
    'qp.modify': ({ qp, ...attributes }) => modify(device, qps.get(qp), attributes),
    'qp.query': ({ qp }) => query(device, qps.get(qp).qp),
    'qp.destroy': ({ qp }) => {
      qps.remove(qp, (made) => made.qp.destroy());
      return DONE;
    },
    'qp.send': ({ qp, ...request }) => {
      const made = qps.get(qp);
      made.qp.postSend(sendOf(objects, request));
      return DONE;
    },
    'qp.recv': ({ qp, wrId, pieces }) => {
      const made = qps.get(qp);
      made.qp.postRecv(receiveOf(objects, wrId, pieces));
      return DONE;
    },
    'mcast.attach': async ({ qp, group }) => {
      await qps.get(qp).qp.attachMcast(IpAddress.parse(group));
      return DONE;
    },
    'mcast.detach': ({ qp, group }) => {
      qps.get(qp).qp.detachMcast(IpAddress.parse(group));
      return DONE;
    },
  };
}

function makeQp(objects: Objects, asked: Omit<HostCalls['qp.create']['takes'], 'qp'>): MadeQp {
  const { type, srq, msn, maxSendWr, maxRecvWr, maxSge, maxInline = 0, xrcd } = asked;
  if (xrcd !== undefined) return { qp: objects.domainOf(xrcd).createQp(), msn: undefined };
  const code = TYPES[type];
  if (code === undefined) throw refused('EINVAL', `there is no queue pair type ${type}`);
  checkMsn(type, msn);
  const qp = objects.pds.get(asked.pd).createQp({
    type: code,
    sendCq: objects.cqs.get(asked.sendCq),
    recvCq: objects.cqs.get(asked.recvCq),
    ...{ maxSendWr, maxRecvWr, maxSge, maxInlineData: maxInline },
    ...(srq === undefined ? {} : { srq: objects.srqs.get(srq) }),
  });
  return { qp, msn };
}

function checkMsn(type: QpTypeName, msn = 0): void {
  if (!Number.isInteger(msn) || msn < 0 || msn > PSN_MASK) throw refused('EINVAL', `${msn} is not a message's number`);
  if (msn !== 0 && type !== 'rc') throw refused('EINVAL', 'only reliable connections count messages');
}

/** At once, unless the way to a peer has to be found first. */
function modify(device: Device, { qp, msn }: MadeQp, attributes: HostQpAttributes): object | Promise<object> {
  checkPortAndPkey(qp, attributes);
  const { state, access, path, pkeyIndex, qkey, destQpn, rqPsn, mtu, maxDestRdAtomic, minRnrTimer } = attributes;
  const { sqPsn, timeout, retryCnt, rnrRetry, maxRdAtomic, flowControl, altPath, pathMigState } = attributes;
  const wanted: ModifyAttributes = {
    ...present({ qkey, destQpn, rqPsn, mtu, maxDestRdAtomic, minRnrTimer }),
    ...present({ sqPsn, timeout, retryCnt, rnrRetry, maxRdAtomic, flowControl }),
    ...(altPath === undefined ? {} : { altAv: addressVector(device, altPath) }),
    ...(pathMigState === undefined ? {} : { pathMigState: MIGRATION_STATES[pathMigState] }),
    ...(state === undefined ? {} : { state: stateOf(state) }),
    ...(access === undefined ? {} : { access: accessBits(access) }),
    ...(pkeyIndex === undefined ? {} : { pkey: DEFAULT_PKEY }),
    ...(path === undefined ? {} : { av: addressVector(device, path) }),
    // The caller names the next message; what is counted are those before it.
    ...(msn === undefined || rqPsn === undefined ? {} : { msn: (msn - 1) & PSN_MASK }),
    // Without a request there is no event when SQD is drained, as verbs have it.
    ...(state === 'SQD' && qp.stateName !== 'SQD' ? { enSqdAsyncNotify: attributes.enSqdAsyncNotify ?? false } : {}),
  };
  if (path !== undefined || altPath !== undefined) return qp.modify(wanted).then(() => DONE);
  qp.modifyNow(wanted);
  return DONE;
}

/** One port, one P_Key: both are named on the way to INIT, and the port may be again where verbs allow it. */
function checkPortAndPkey(qp: Qp, { state, port, pkeyIndex }: HostQpAttributes): void {
  const from = qp.stateName;
  const to = state ?? from;
  if (port !== undefined && port !== 1) throw refused('EINVAL', `there is no port ${port}`);
  if (pkeyIndex !== undefined && pkeyIndex !== 0) throw refused('EINVAL', `there is no P_Key ${pkeyIndex}`);
  const toInit = from === 'RESET' && to === 'INIT';
  if (toInit && (port === undefined || pkeyIndex === undefined))
    throw refused('EINVAL', 'RESET to INIT needs port and pkeyIndex');
  const sameInit = from === 'INIT' && to === 'INIT';
  const sameSqd = from === 'SQD' && to === 'SQD' && qp.type !== QpType.Ud;
  if (port !== undefined && !toInit && !sameInit && !sameSqd)
    throw refused('EINVAL', `port cannot change from ${from} to ${to}`);
}

function query(device: Device, { core }: Qp): HostCalls['qp.query']['gives'] {
  const { config } = core;
  const inspectable = core instanceof RcQueuePair || core instanceof UnreliableQueuePair;
  const { responder, requester, nextPsn }: Partial<QpInspection> = inspectable ? core.inspect() : {};
  const connected = core.type !== QpType.Ud;
  const reliable = core.type === QpType.Rc;
  const { destQpn, mtu, minRnrTimer, maxDestRdAtomic, retryCnt, rnrRetry, maxRdAtomic, qkey } = config;
  return {
    state: QP_STATE_NAMES[core.state],
    port: 1,
    pkeyIndex: 0,
    ...present({ sqPsn: requester?.nextPsn ?? nextPsn, rqPsn: responder?.expectedPsn, path: pathOf(device, core) }),
    ...(connected ? { access: accessFlags(config.access), destQpn, mtu } : { qkey }),
    ...(reliable ? { minRnrTimer, maxDestRdAtomic, retryCnt, rnrRetry, maxRdAtomic } : {}),
    ...(reliable ? { timeout: timeoutCode(config.ackTimeoutNs) } : {}),
  };
}

function pathOf(device: Device, { config: { path } }: Qp['core']): PathAttributes | undefined {
  if (path === undefined) return undefined;
  const { hopLimit, trafficClass } = path.template;
  const sgidIndex = device.addresses.findIndex(({ address }) => address.equals(path.local));
  return { destination: `${path.remote}`, sgidIndex, hopLimit, trafficClass };
}

function stateOf(name: QpStateName): QpState {
  const state = Object.values(QpState).find((value) => QP_STATE_NAMES[value] === name);
  if (state === undefined) throw refused('EINVAL', `there is no queue pair state ${name}`);
  return state;
}

/** Code of 4.096 us * 2^code; 0 is infinite. */
function timeoutCode(ns: number): number {
  return ns === Number.POSITIVE_INFINITY ? 0 : Math.round(Math.log2(ns / TIMEOUT_UNIT_NS));
}

const TYPES: Readonly<Record<QpTypeName, QpType>> = { rc: QpType.Rc, uc: QpType.Uc, ud: QpType.Ud };
const MIGRATION_STATES: Readonly<Record<NonNullable<HostQpAttributes['pathMigState']>, MigState>> = {
  MIGRATED: MigState.Migrated,
  REARM: MigState.Rearm,
  ARMED: MigState.Armed,
};
const DEFAULT_PKEY = 0xff_ff;
const TIMEOUT_UNIT_NS = 4096;
