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

/**
 * Requests, of any shared receive queue of the peer (IBV_QPT_XRC_SEND).
 *
 * @example
 * ```ts
 * import { QpState, WrOpcode } from 'rocev2';
 * import { FrameWriter, HeaderTemplate, IpAddress, Medium } from 'rocev2/packets';
 * import { Prng } from 'rocev2/sim';
 * import { CompletionQueue, KeyTable, PortCounters, ProtectionDomain, XrcInitiator } from 'rocev2/transport';
 *
 * const [local, remote] = [IpAddress.parse('10.0.0.1'), IpAddress.parse('10.0.0.2')];
 * const macs = { sourceMac: new Uint8Array(6), destMac: new Uint8Array(6) };
 * const ip = { source: local, destination: remote, trafficClass: 0, hopLimit: 64, flowLabel: 0, sourcePort: 50_000 };
 * const path = { local, remote, template: new HeaderTemplate({ medium: Medium.Ip, ...macs, ...ip }) };
 * const cq = new CompletionQueue(16, []);
 * const pd = new ProtectionDomain(1);
 * const identity = { qpn: 0x11, pd, keys: new KeyTable(new Prng(1), 16), sendCq: cq, recvCq: cq };
 * const room = { maxSendWr: 4, maxRecvWr: 4, maxSge: 1, maxInlineData: 64 };
 * const qp = new XrcInitiator(identity, room, new PortCounters());
 * qp.modify({ state: QpState.Init, access: 0 });
 * qp.modify({ state: QpState.Rtr, path, destQpn: 0x22, rqPsn: 0, mtu: 1024 });
 * qp.modify({ state: QpState.Rts, sqPsn: 0, timeout: 14, retryCnt: 7, rnrRetry: 7, maxRdAtomic: 1 });
 * // One connection, any queue of the peer.
 * for (const xrcRemoteSrqn of [5, 6])
 *   qp.postSend({ wrId: 1, opcode: WrOpcode.Send, inline: Uint8Array.of(1, 2, 3), xrcRemoteSrqn });
 * const frames = new FrameWriter(4, 2048);
 * qp.transmit(0, frames);
 * console.log(frames.count, frames.lengths[0]); // 2 52
 * ```
 */
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

/**
 * Responds, for every shared receive queue of its domain (IBV_QPT_XRC_RECV).
 *
 * @example
 * ```ts
 * import { Prng } from 'rocev2/sim';
 * import { CompletionQueue, KeyTable, PortCounters, ProtectionDomain, XrcDomain, XrcTarget } from 'rocev2/transport';
 *
 * const unused = new CompletionQueue(1, []);
 * const common = { pd: new ProtectionDomain(1), keys: new KeyTable(new Prng(1), 16) };
 * const identity = { qpn: 0x22, ...common, sendCq: unused, recvCq: unused };
 * const qp = new XrcTarget(identity, new XrcDomain(), new PortCounters());
 * try {
 *   qp.postRecv();
 * } catch (error) {
 *   if (error instanceof Error) console.log(error.message);
 * }
 * // receives for an XRC target are posted to the shared receive queues
 * ```
 */
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
