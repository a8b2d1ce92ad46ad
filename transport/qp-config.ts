/**
 * What a queue pair has been told: the attributes of ibv_qp_attr that the requester, completer and responder read per
 * packet. Only `QueuePair.modify` writes here.
 */

import type { IpAddress } from '../packets/address.ts';
import type { HeaderTemplate } from '../packets/header-template.ts';
import type { Service } from '../packets/opcode.ts';
import type { CompletionQueue } from './completion-queue.ts';
import type { KeyTable } from './key-table.ts';
import type { ProtectionDomain } from './memory.ts';
import { type QpType, serviceOf } from './qp-type.ts';
import type { SharedReceiveQueue } from './srq.ts';

/** The way to the peer: the constant part of every packet, and the two addresses every packet of the peer must carry. */
export interface QpPath {
  readonly template: HeaderTemplate;
  readonly local: IpAddress;
  readonly remote: IpAddress;
}

export interface QpIdentity {
  readonly qpn: number;
  readonly pd: ProtectionDomain;
  readonly keys: KeyTable;
  readonly sendCq: CompletionQueue;
  readonly recvCq: CompletionQueue;
  /** Where receives come from; absent: from a queue of its own. */
  readonly srq?: SharedReceiveQueue;
}

export class QpConfig {
  readonly type: QpType;
  /** Its bits are part of every opcode. */
  readonly service: Service;
  readonly qpn: number;
  readonly pd: ProtectionDomain;
  readonly keys: KeyTable;
  readonly sendCq: CompletionQueue;
  readonly recvCq: CompletionQueue;
  path: QpPath | undefined = undefined;
  destQpn = 0;
  pkey = 0xff_ff;
  /** UD: what datagrams must carry. */
  qkey = 0;
  migReq: 0 | 1 = 1;
  /** Path MTU in payload bytes: 256, 512, 1024, 2048 or 4096. */
  mtu = 1024;
  /** Remote access this queue pair allows, a bit set of `Access`. */
  access = 0;
  maxRdAtomic = 0;
  maxDestRdAtomic = 0;
  minRnrTimer = 0;
  ackTimeoutNs = Number.POSITIVE_INFINITY;
  retryCnt = 0;
  /** 7 retries for ever. */
  rnrRetry = 0;
  /** Packets that may be sent and not yet acknowledged. */
  maxUnacked = 128;
  /** At least every so many packets ask for an acknowledge. */
  ackInterval = 32;

  constructor(type: QpType, identity: QpIdentity) {
    this.type = type;
    this.service = serviceOf(type);
    this.qpn = identity.qpn;
    this.pd = identity.pd;
    this.keys = identity.keys;
    this.sendCq = identity.sendCq;
    this.recvCq = identity.recvCq;
  }
}
