/**
 * What a queue pair has been told: the attributes of ibv_qp_attr that the requester, completer and responder read per
 * packet. Only `QueuePair.modify` writes here, and an XRC target the domain of the request at hand.
 */

import { Syndrome } from '../packets/aeth.ts';
import type { Service } from '../packets/opcode.ts';
import type { CompletionQueue } from './completion-queue.ts';
import type { NotificationPoint } from './congestion/notification-point.ts';
import type { Pacer } from './congestion/pacer.ts';
import type { KeyTable } from './key-table.ts';
import type { ProtectionDomain } from './memory.ts';
import { DEFAULT_PEER_PROFILE, type PeerProfile } from './peer-profile.ts';
import { MigState, type QpAttributes } from './qp-attributes.ts';
import type { QpPath } from './qp-path.ts';
import { QpState } from './qp-state.ts';
import { type QpType, serviceOf } from './qp-type.ts';
import type { SharedReceiveQueue } from './srq.ts';
import { ackTimeoutNs } from './timers.ts';
import type { QpTrace } from './trace.ts';

/** What a queue pair is made with and keeps for life. */
export interface QpIdentity {
  /** Its number, 24 bits. */
  readonly qpn: number;
  /** Its protection domain. */
  readonly pd: ProtectionDomain;
  /** The keys that its peer may name. */
  readonly keys: KeyTable;
  /** Where sends complete. */
  readonly sendCq: CompletionQueue;
  /** Where receives complete. */
  readonly recvCq: CompletionQueue;
  /** Where receives come from; absent: from a queue of its own. */
  readonly srq?: SharedReceiveQueue;
  /** What it does about congestion; absent: nothing. */
  readonly congestion?: QpCongestion | undefined;
  /** Who watches it; absent: nobody. */
  readonly trace?: QpTrace | undefined;
}

/** What a queue pair is given to meet congestion with. */
export interface QpCongestion {
  /** Whom it tells of packets that come marked. */
  readonly notification: NotificationPoint | undefined;
  /** Makes what holds a new connection to its rate; undefined when nothing does. */
  newPacer(): Pacer | undefined;
}

/** Attributes of a queue pair as they stand. To be read; `QueuePair.modify` changes them. */
export class QpConfig {
  /** Its service. */
  readonly type: QpType;
  /** Its bits are part of every opcode. */
  readonly service: Service;
  /** Its number, 24 bits. */
  readonly qpn: number;
  /** Whose keys open memory here. Of an XRC target: the domain of the shared receive queue that the request at hand names. */
  pd: ProtectionDomain;
  /** The keys that its peer may name. */
  readonly keys: KeyTable;
  /** Where sends complete. */
  readonly sendCq: CompletionQueue;
  /** Where receives complete. */
  readonly recvCq: CompletionQueue;
  // What every packet asks for.

  /** The way to the peer, once it is known. */
  path: QpPath | undefined = undefined;
  /** Whether an alternate path is armed. */
  pathMigState: MigState = MigState.Migrated;
  /** The peer's queue pair. */
  destQpn = 0;
  /** P_Key of all packets, 16 bits. */
  pkey = 0xff_ff;
  /** The MigReq bit of packets sent. */
  migReq: 0 | 1 = 1;
  /** Path MTU in payload bytes: 256, 512, 1024, 2048 or 4096. */
  mtu = 1024;
  /** Packets that may be sent and not yet acknowledged. */
  maxUnacked = 128;
  /** At least every so many packets ask for an acknowledge. */
  ackInterval = 32;
  /** What kind of peer it is. */
  profile: PeerProfile = DEFAULT_PEER_PROFILE;
  /** End-to-end flow control: the peer gives credits, and is given some where receives are this queue pair's own. */
  flowControl = false;
  /** Syndrome of a positive acknowledge: how many receives there are, or that it does not say. */
  ackSyndrome: number = Syndrome.Ack;
  /** Remote access this queue pair allows, a bit set of `Access`. */
  access = 0;
  /** READs and atomics outstanding at most. */
  maxRdAtomic = 0;
  /** Wait for an acknowledge, in nanoseconds; Infinity for ever. */
  ackTimeoutNs = Number.POSITIVE_INFINITY;

  // What packets do not ask for: apart, for with thousands of queue pairs every line of a cache counts.

  /** The second way to the peer. */
  altPath: QpPath | undefined = undefined;
  /** UD: what datagrams must carry. */
  qkey = 0;
  /** READs and atomics of the peer at a time. */
  maxDestRdAtomic = 0;
  /** Code of the wait asked for when there is no receive, 0..31. */
  minRnrTimer = 0;
  /** Retries after a timeout or sequence NAK. */
  retryCnt = 0;
  /** 7 retries for ever. */
  rnrRetry = 0;
  /** In SQD: tell when the send queue is drained. */
  sqdNotify = true;
  /** FLUSHes leave with the ICRC that rdma_rxe demands. */
  rxeFlush = false;
  /** A FLUSH was answered, in either form. */
  flushAnswered = false;
  /** What it does about congestion. */
  readonly congestion: QpCongestion | undefined;
  /** Who watches it. */
  readonly trace: QpTrace | undefined;
  /** The flow is so slow that every packet has to ask for its acknowledge, if that is to come in time. */
  asksAlways = false;
  /** The next acknowledge carries BECN: a request came marked, where marks ride on acknowledges. */
  becnOwed = false;

  /** Of a queue pair in RESET. */
  constructor(type: QpType, identity: QpIdentity) {
    this.type = type;
    this.service = serviceOf(type);
    this.qpn = identity.qpn;
    this.pd = identity.pd;
    this.keys = identity.keys;
    this.sendCq = identity.sendCq;
    this.recvCq = identity.recvCq;
    this.congestion = identity.congestion;
    this.trace = identity.trace;
  }

  /** Takes what `checkAttributes` found good; paths that migrate are path-migration.ts's. */
  take(attributes: QpAttributes): void {
    const { access, pkey, qkey, migReq, path, destQpn, mtu, maxDestRdAtomic, minRnrTimer, maxRdAtomic } = attributes;
    if (access !== undefined) this.access = access;
    if (pkey !== undefined) this.pkey = pkey;
    if (qkey !== undefined) this.qkey = qkey;
    if (migReq !== undefined) this.migReq = migReq;
    if (attributes.state === QpState.Sqd) this.sqdNotify = attributes.enSqdAsyncNotify ?? true;
    if (attributes.flowControl !== undefined) this.flowControl = attributes.flowControl && this.profile.credits.value;
    if (path !== undefined) this.path = path;
    if (destQpn !== undefined) this.destQpn = destQpn;
    if (mtu !== undefined) this.mtu = mtu;
    if (maxDestRdAtomic !== undefined) this.maxDestRdAtomic = maxDestRdAtomic;
    if (minRnrTimer !== undefined) this.minRnrTimer = minRnrTimer;
    if (maxRdAtomic !== undefined) this.maxRdAtomic = maxRdAtomic;
    if (attributes.timeout !== undefined) this.ackTimeoutNs = ackTimeoutNs(attributes.timeout);
    if (attributes.retryCnt !== undefined) this.retryCnt = attributes.retryCnt;
    if (attributes.rnrRetry !== undefined) this.rnrRetry = attributes.rnrRetry;
  }
}
