/**
 * Queue pair of a device in a worker, on the application's side.
 *
 * Work requests that are certain to be accepted go into the ring of posts and cost no round trip: the arguments are
 * checked here by the transport's own checks, state and room by `qp-status.ts`. Uncertain and rare requests go to the
 * worker in a call, which throws what the local queue pair would throw.
 */

import type { IpAddress } from '../../../packets/address.ts';
import { RoceError } from '../../../packets/errors.ts';
import type { RateState } from '../../../transport/congestion/rate-controller.ts';
import type { QpCapabilities } from '../../../transport/qp-capabilities.ts';
import type { QpEvent } from '../../../transport/qp-event.ts';
import { QP_STATE_NAMES, QpState, rightsOf } from '../../../transport/qp-state.ts';
import { QpType } from '../../../transport/qp-type.ts';

import { checkSges } from '../../../transport/segments.ts';
import { checkService, type SendTerms } from '../../../transport/send-checks.ts';
import { checkSendWr } from '../../../transport/send-queue.ts';
import type { FastReg, RecvWr, SendWr } from '../../../transport/work.ts';
import type { RdmaQp } from '../../device/api.ts';
import type { ModifyAttributes } from '../../device/verbs/index.ts';
import { AsyncQueue } from '../../ground/async-queue.ts';
import { isRinged } from './post-ring.ts';
import { QpStatus } from './qp-status.ts';
import { type ObjectHandle, ownBytes, type WireQp, type WireReg, type WireSendWr } from './wire-values.ts';
import type { WorkerCq } from './worker-cq.ts';
import { sharedMemory, type WorkerKeys } from './worker-keys.ts';
import type { WorkerSrq } from './worker-srq.ts';
import type { WorkerDomain, WorkerStack } from './worker-stack.ts';

/** The queues a queue pair uses; an XRC target has none. */
export interface WorkerQpQueues {
  readonly sendCq?: WorkerCq;
  readonly recvCq?: WorkerCq;
  readonly srq?: WorkerSrq;
}

/** What a queue pair needs of its maker. */
export interface QpOwner {
  readonly stack: WorkerStack;
  readonly keys: WorkerKeys;
  destroyQp(qp: WorkerQp): void;
}

export class WorkerQp implements RdmaQp {
  readonly pd: WorkerDomain;
  readonly type: QpType;
  readonly qpn: number;
  readonly queues: WorkerQpQueues;
  readonly events = new AsyncQueue<QpEvent>();
  readonly #owner: QpOwner;
  readonly #stack: WorkerStack;
  readonly #keys: WorkerKeys;
  readonly #capabilities: QpCapabilities;
  readonly #terms: SendTerms;
  /** It has a receive queue of its own. */
  readonly #hasReceives: boolean;
  readonly #status: QpStatus;
  #sends = 0;
  #recvs = 0;
  #destroyed = false;

  constructor(owner: QpOwner, pd: WorkerDomain, wired: WireQp, queues: WorkerQpQueues) {
    const { qpn, type, capabilities, profile, status } = wired;
    this.#owner = owner;
    this.#stack = owner.stack;
    this.#keys = owner.keys;
    this.pd = pd;
    this.type = type;
    this.qpn = qpn;
    this.queues = queues;
    this.#capabilities = capabilities;
    this.#hasReceives = queues.srq === undefined && type !== QpType.XrcSend && type !== QpType.XrcRecv;
    this.#terms = { type, pd: pd.core, profile };
    this.#status = new QpStatus(status);
  }

  /** Its handle in the worker. */
  get handle(): ObjectHandle {
    return this.qpn;
  }

  get destroyed(): boolean {
    return this.#destroyed;
  }

  get state(): QpState {
    return this.#destroyed ? QpState.Error : this.#status.state;
  }

  get stateName(): string {
    return QP_STATE_NAMES[this.state];
  }

  /** Posts through a call to the worker. */
  get congestion(): RateState | undefined {
    return this.#destroyed ? undefined : this.#stack.channel.call('congestionOf', this.handle);
  }

  async modify(attributes: ModifyAttributes): Promise<void> {
    const { av, altAv } = attributes;
    if (av !== undefined) await this.#stack.resolve(av.destination);
    if (altAv !== undefined) await this.#stack.resolve(altAv.destination);
    this.modifyNow(attributes);
  }

  modifyNow(attributes: ModifyAttributes): void {
    this.#demandAlive();
    this.#stack.channel.call('modifyQp', this.handle, attributes);
  }

  postSend(wr: SendWr): void {
    this.#demandAlive();
    const { posts, channel } = this.#stack;
    if (rightsOf(this.state).postSend) {
      checkService(this.#terms, wr);
      checkSendWr(wr, this.#capabilities);
      const sure = isRinged(wr.opcode) && this.#status.takesSend(this.#sends, this.#capabilities.maxSendWr);
      if (sure && posts.send(this.handle, wr, this.#keys)) {
        this.#sends += 1;
        channel.wake();
        return;
      }
    }
    channel.call('postSend', this.handle, this.#wiredSend(wr));
    if (wr.reg !== undefined) this.#keys.noteMemory(this.handle, wr.reg);
    this.#sends += 1;
  }

  postRecv(wr: RecvWr): void {
    this.#demandAlive();
    const { posts, channel } = this.#stack;
    if (this.#hasReceives && this.#status.takesRecv(this.#recvs, this.#capabilities.maxRecvWr)) {
      checkSges(wr.sges, this.#capabilities.maxSge);
      if (posts.recv(this.handle, wr, this.#keys)) {
        this.#recvs += 1;
        channel.wake();
        return;
      }
    }
    channel.call('postRecv', this.handle, { wrId: wr.wrId, sges: wr.sges && this.#keys.wiredSges(wr.sges) });
    this.#recvs += 1;
  }

  async attachMcast(group: IpAddress): Promise<void> {
    this.#demandAlive();
    await this.#stack.channel.ask('attachMcast', () => undefined, this.handle, group);
  }

  detachMcast(group: IpAddress): void {
    this.#demandAlive();
    this.#stack.channel.call('detachMcast', this.handle, group);
  }

  destroy(): void {
    if (this.#destroyed) return;
    this.ended();
    this.#owner.destroyQp(this);
  }

  /** For the device: it was closed, and the queue pair with it. */
  ended(): void {
    this.#destroyed = true;
    this.events.close();
  }

  #wiredSend({ sges, inline, ah, mw, bind, reg, ...rest }: SendWr): WireSendWr {
    const keys = this.#keys;
    return {
      ...rest,
      sges: sges && keys.wiredSges(sges),
      ...(inline === undefined ? {} : { inline: ownBytes(inline) }),
      ...(ah === undefined ? {} : { ah: keys.ahOf(ah) }),
      ...(mw === undefined ? {} : { mw: keys.windowKeyOf(mw) }),
      ...(bind === undefined ? {} : { bind: { ...bind, mr: keys.keyOf(bind.mr) } }),
      ...(reg === undefined ? {} : { reg: wiredReg(keys, reg) }),
    };
  }

  #demandAlive(): void {
    if (this.#destroyed) throw new RoceError('ERR_ROCE_CLOSED', 'the queue pair is destroyed');
  }
}

function wiredReg(keys: WorkerKeys, { mr, memory, ...rest }: FastReg): WireReg {
  const { maxBytes } = mr;
  return { ...rest, mr: keys.keyOf(mr), maxBytes, ...(memory === undefined ? {} : { memory: sharedMemory(memory) }) };
}
