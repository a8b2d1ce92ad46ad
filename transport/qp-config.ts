/**
 * Identity and attributes of a queue pair (ibv_qp_attr), which requester, completer and responder read for every
 * packet. Written by `QueuePair` alone, through the functions here and in path-migration.ts. What changes while packets
 * flow is not here: the requester has the ICRC of its FLUSHes and whether every packet requests an ACK, the reply queue
 * has what ACKs carry beside their PSN.
 */

import type { Service } from '../packets/opcode.ts';
import type { CompletionQueue } from './completion-queue.ts';
import { DEFAULT_DEFENCES, type Defences } from './defences.ts';
import type { KeyTable } from './key-table.ts';
import type { ProtectionDomain } from './memory.ts';
import { DEFAULT_PEER_PROFILE, type PeerProfile } from './peer-profile.ts';
import { MigState, type QpAttributes } from './qp-attributes.ts';
import type { QpCongestion, QpIdentity } from './qp-identity.ts';
import type { QpPath } from './qp-path.ts';
import { QpState } from './qp-state.ts';
import { type QpType, serviceOf } from './qp-type.ts';
import { ackTimeoutNs } from './timers.ts';
import type { QpTrace } from './trace.ts';

/**
 * Identity and attributes of a queue pair as they stand. A plain record, for every packet reads it. Its writers are the
 * functions below and those of path-migration.ts. Everything else sees it as a `QpConfig`.
 */
export class QpSettings {
  /** Its service. */
  readonly type: QpType;
  /** Its bits are part of every opcode. */
  readonly service: Service;
  /** Its number, 24 bits. */
  readonly qpn: number;
  /**
   * Whose keys open memory here. Of an XRC target: the domain of the shared receive queue that the current request
   * names.
   */
  pd: ProtectionDomain;
  /** The keys that its peer may name. */
  readonly keys: KeyTable;
  /** Where sends complete. */
  readonly sendCq: CompletionQueue;
  /** Where receives complete. */
  readonly recvCq: CompletionQueue;

  // Read for every packet.

  /** The path to the peer, once it is known. Written by path migration. */
  path: QpPath | undefined = undefined;
  /** Whether an alternate path is armed. Written by path migration. */
  pathMigState: MigState = MigState.Migrated;
  /** The peer's queue pair. */
  destQpn = 0;
  /** P_Key of all packets, 16 bits. */
  pkey = 0xff_ff;
  /** The MigReq bit of packets sent. Written by path migration. */
  migReq: 0 | 1 = 1;
  /** Path MTU in payload bytes: 256, 512, 1024, 2048 or 4096. Of UD: the largest payload of the port. */
  mtu: number;
  /** Packets that may be sent and not yet acknowledged. */
  maxUnacked = 128;
  /** At least every so many packets request an ACK. */
  ackInterval = 32;
  /** What kind of peer it is. */
  profile: PeerProfile = DEFAULT_PEER_PROFILE;
  /** End-to-end flow control: the peer gives credits, and is given some where receives are this queue pair's own. */
  flowControl = false;
  /** What it does about packets that no honest peer sends; shared by the queue pairs of a device. */
  readonly defences: Defences;
  /** Remote access this queue pair allows, a bit set of `Access`. */
  access = 0;
  /** READs and atomics outstanding at most. */
  maxRdAtomic = 0;
  /** ACK timeout in nanoseconds; Infinity when there is none. */
  ackTimeoutNs = Number.POSITIVE_INFINITY;

  // Not read for every packet. Apart from the others: with thousands of queue pairs every cache line counts.

  /** The alternate path. Written by path migration. */
  altPath: QpPath | undefined = undefined;
  /** UD: what datagrams must carry. */
  qkey = 0;
  /** READs and atomics of the peer at a time. */
  maxDestRdAtomic = 0;
  /** Code of the RNR timer in RNR NAKs, 0..31. */
  minRnrTimer = 0;
  /** Retries after a timeout or sequence NAK. */
  retryCnt = 0;
  /** Retries after an RNR NAK; 7 retries infinitely. */
  rnrRetry = 0;
  /** In SQD: report when the send queue is drained. */
  sqdNotify = true;
  /** What it does about congestion. */
  readonly congestion: QpCongestion | undefined;
  /** Receives its decisions. */
  readonly trace: QpTrace | undefined;

  /** Of a queue pair in RESET. `mtu`: where no attribute sets it. */
  constructor(type: QpType, identity: QpIdentity, mtu = DEFAULT_MTU) {
    this.type = type;
    this.service = serviceOf(type);
    this.qpn = identity.qpn;
    this.pd = identity.pd;
    this.keys = identity.keys;
    this.sendCq = identity.sendCq;
    this.recvCq = identity.recvCq;
    this.mtu = mtu;
    this.defences = identity.defences ?? DEFAULT_DEFENCES;
    this.congestion = identity.congestion;
    this.trace = identity.trace;
  }
}

/** Identity and attributes of a queue pair, to be read. */
export type QpConfig = Readonly<QpSettings>;

const DEFAULT_MTU = 1024;

/** `QueuePair.modify`: takes what `checkAttributes` found good. Paths and the MigReq bit are path-migration.ts's. */
export function applyAttributes(settings: QpSettings, attributes: QpAttributes): void {
  const { access, pkey, qkey, destQpn, mtu, maxDestRdAtomic, minRnrTimer, maxRdAtomic } = attributes;
  const { timeout, retryCnt, rnrRetry, flowControl } = attributes;
  if (access !== undefined) settings.access = access;
  if (pkey !== undefined) settings.pkey = pkey;
  if (qkey !== undefined) settings.qkey = qkey;
  if (attributes.state === QpState.Sqd) settings.sqdNotify = attributes.enSqdAsyncNotify ?? true;
  if (flowControl !== undefined) settings.flowControl = flowControl && settings.profile.credits.value;
  if (destQpn !== undefined) settings.destQpn = destQpn;
  if (mtu !== undefined) settings.mtu = mtu;
  if (maxDestRdAtomic !== undefined) settings.maxDestRdAtomic = maxDestRdAtomic;
  if (minRnrTimer !== undefined) settings.minRnrTimer = minRnrTimer;
  if (maxRdAtomic !== undefined) settings.maxRdAtomic = maxRdAtomic;
  if (timeout !== undefined) settings.ackTimeoutNs = ackTimeoutNs(timeout);
  if (retryCnt !== undefined) settings.retryCnt = retryCnt;
  if (rnrRetry !== undefined) settings.rnrRetry = rnrRetry;
}

/** The move to RESET: flow control is agreed anew for every connection; other attributes stay. */
export function resetSettings(settings: QpSettings): void {
  settings.flowControl = false;
}

/** `QueuePair.expect`: the kind of peer, and what follows from it for packets sent. */
export function applyProfile(settings: QpSettings, profile: PeerProfile): void {
  settings.profile = profile;
  settings.ackInterval = profile.ackInterval.value;
}
