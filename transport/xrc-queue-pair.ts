/**
 * XRC queue pairs: an initiator that only requests and a target that only responds, both otherwise as RC. Every request
 * names the shared receive queue it is for; its protection domain decides whose keys open memory, and its completion
 * queue where receives complete.
 * Rules: ibv_create_qp_ex(3), ibv_create_srq_ex(3). No rdma_rxe has XRC; what a target does about a queue that is not
 * in its domain is what a patch to rxe did that was posted to linux-rdma and never merged:
 * rxe:rxe_resp.c#check_resource, NAK remote access.
 */

import { RoceError } from '../packets/errors.ts';
import type { Frame } from '../packets/frame.ts';
import { OpFlag, XRCETH_AT } from '../packets/opcode.ts';
import { xrcethXrcSrq } from '../packets/xrceth.ts';
import type { PortCounters } from './counters.ts';
import type { QpCapabilities } from './qp-capabilities.ts';
import type { QpIdentity } from './qp-identity.ts';
import { QpType } from './qp-type.ts';
import { RcQueuePair } from './rc-queue-pair.ts';
import type { RecvQueue } from './recv-queue.ts';
import type { XrcDomain } from './xrc-domain.ts';

/** Requests, of any shared receive queue of the peer (IBV_QPT_XRC_SEND). */
export class XrcInitiator extends RcQueuePair {
  /** In state RESET. */
  constructor(identity: QpIdentity, capabilities: QpCapabilities, counters: PortCounters) {
    super(identity, { ...capabilities, maxRecvWr: 0 }, counters, QpType.XrcSend);
  }

  override postRecv(): void {
    throw new RoceError('ERR_ROCE_ARGUMENT', 'an XRC initiator receives nothing');
  }

  override handleFrame(now: number, frame: Frame): void {
    if ((frame.flags & OpFlag.Response) !== 0) super.handleFrame(now, frame);
    else this.counters.badService += 1;
  }

  override handleReserved(_now: number, _frame: Frame): void {
    this.counters.badService += 1;
  }
}

/** Responds, for every shared receive queue of its domain (IBV_QPT_XRC_RECV). */
export class XrcTarget extends RcQueuePair {
  /** The domain whose shared receive queues requests may name. */
  readonly domain: XrcDomain;

  /** `identity` names a protection domain and completion queues that stay empty. */
  constructor(identity: QpIdentity, domain: XrcDomain, counters: PortCounters) {
    super(identity, NOTHING, counters, QpType.XrcRecv);
    this.domain = domain;
  }

  override postRecv(): void {
    throw new RoceError('ERR_ROCE_ARGUMENT', 'receives for an XRC target are posted to the shared receive queues');
  }

  override handleFrame(now: number, frame: Frame): void {
    if ((frame.flags & OpFlag.Response) === 0) super.handleFrame(now, frame);
    else this.counters.badService += 1;
  }

  protected override receivesFor(frame: Frame): RecvQueue | undefined {
    const srq = this.domain.find(xrcethXrcSrq(frame.view, frame.bthOffset + (XRCETH_AT[frame.opcode] as number)));
    if (srq !== undefined) this.serve(srq.pd);
    return srq;
  }
}

const NOTHING: QpCapabilities = { maxSendWr: 0, maxRecvWr: 0, maxSge: 0, maxInlineData: 0 };
