/**
 * Objects of a device in a worker, except memory: protection domains, completion queues, queue pairs, shared receive
 * queues, XRC domains. Owns the tables and reference counts, so that everything can still be freed after the worker has
 * ended.
 */
import { RoceError } from '../../../packets/errors.ts';
import type { RdmaCq, RdmaQpInit, RdmaSrq, RdmaSrqInit, RdmaXrcd } from '../../device/api.ts';
import type { ObjectHandle, WireSrqInit } from './wire-values.ts';
import { WorkerCq } from './worker-cq.ts';
import type { WorkerKeys } from './worker-keys.ts';
import { WorkerPd } from './worker-pd.ts';
import { WorkerQp } from './worker-qp.ts';
import { WorkerSrq, WorkerXrcd } from './worker-srq.ts';
import type { WorkerDomain, WorkerStack } from './worker-stack.ts';

export class WorkerObjects {
  readonly cqs = new Map<ObjectHandle, WorkerCq>();
  readonly qps = new Map<ObjectHandle, WorkerQp>();
  readonly srqs = new Map<ObjectHandle, WorkerSrq>();
  readonly stack: WorkerStack;
  readonly keys: WorkerKeys;

  constructor(stack: WorkerStack, keys: WorkerKeys) {
    this.stack = stack;
    this.keys = keys;
  }

  allocPd(): WorkerPd {
    return new WorkerPd(this, this.stack.channel.call('allocPd'));
  }

  createCq(capacity: number): WorkerCq {
    const { cq: handle, ring } = this.stack.channel.call('createCq', capacity);
    const cq = new WorkerCq(this.stack, this.keys, handle, capacity, ring);
    this.cqs.set(handle, cq);
    return cq;
  }

  destroyCq(cq: RdmaCq): void {
    if (!(cq instanceof WorkerCq && cq.device === this.stack.device))
      throw new RoceError('ERR_ROCE_ARGUMENT', 'a completion queue is freed by its own device');
    if (cq.users > 0) throw new RoceError('ERR_ROCE_IN_USE', `${cq.users} queue pairs still complete into this queue`);
    if (this.cqs.delete(cq.handle)) this.stack.free('destroyCq', cq.handle);
    cq.close();
  }

  createQp(pd: WorkerDomain, init: RdmaQpInit): WorkerQp {
    this.stack.demandOpen();
    const { sendCq, recvCq, srq, ...rest } = init;
    if (!(this.#isOurs(sendCq) && this.#isOurs(recvCq)))
      throw new RoceError('ERR_ROCE_ARGUMENT', 'a queue pair completes into queues of its own device');
    const shared = srq === undefined ? {} : { srq: this.#sharedBy(srq) };
    const handles = {
      sendCq: sendCq.handle,
      recvCq: recvCq.handle,
      ...(shared.srq === undefined ? {} : { srq: shared.srq.srqn }),
    };
    const wired = this.stack.channel.call('createQp', pd.handle, { ...rest, ...handles });
    return this.#adopt(new WorkerQp(this, pd, wired, { sendCq, recvCq, ...shared }));
  }

  /** For `WorkerXrcd.createQp`. */
  createXrcTarget({ handle }: WorkerXrcd): WorkerQp {
    this.stack.demandOpen();
    const wired = this.stack.channel.call('createXrcTarget', handle);
    return this.#adopt(new WorkerQp(this, new WorkerPd(this, wired.pd), wired, {}));
  }

  /** For `WorkerQp.destroy`. */
  destroyQp(qp: WorkerQp): void {
    if (!this.#release(qp)) return;
    this.stack.free('destroyQp', qp.handle);
    // Its windows are unbound now.
    this.keys.look();
  }

  createSrq(pd: WorkerDomain, { xrcd, cq, ...rest }: RdmaSrqInit): WorkerSrq {
    this.stack.demandOpen();
    const xrc = xrcd === undefined && cq === undefined ? undefined : this.#xrcOf(xrcd, cq);
    const init: WireSrqInit = xrc === undefined ? rest : { ...rest, xrc: xrc.handles };
    const srq = new WorkerSrq(this, pd, this.stack.channel.call('createSrq', pd.handle, init), xrc?.cq);
    this.srqs.set(srq.srqn, srq);
    pd.core.users += 1;
    if (srq.cq !== undefined) srq.cq.users += 1;
    return srq;
  }

  /** For `WorkerSrq.destroy`. Throws ERR_ROCE_IN_USE, and frees nothing then. */
  destroySrq(srq: WorkerSrq): void {
    this.stack.free('destroySrq', srq.srqn);
    this.#releaseSrq(srq);
  }

  openXrcd(): WorkerXrcd {
    return new WorkerXrcd(this, this.stack.channel.call('openXrcd'));
  }

  /** The device was closed, and all its objects with it. */
  end(): void {
    for (const cq of this.cqs.values()) cq.close();
    for (const qp of [...this.qps.values()]) {
      qp.ended();
      this.#release(qp);
    }
    for (const srq of [...this.srqs.values()]) {
      srq.ended();
      this.#releaseSrq(srq);
    }
  }

  #adopt(qp: WorkerQp): WorkerQp {
    const { sendCq, recvCq } = qp.queues;
    this.qps.set(qp.handle, qp);
    qp.pd.core.users += 1;
    if (sendCq !== undefined) sendCq.users += 1;
    if (recvCq !== undefined) recvCq.users += 1;
    return qp;
  }

  #release(qp: WorkerQp): boolean {
    if (!this.qps.delete(qp.handle)) return false;
    const { sendCq, recvCq } = qp.queues;
    qp.pd.core.users -= 1;
    if (sendCq !== undefined) sendCq.users -= 1;
    if (recvCq !== undefined) recvCq.users -= 1;
    return true;
  }

  #releaseSrq(srq: WorkerSrq): void {
    if (!this.srqs.delete(srq.srqn)) return;
    srq.pd.core.users -= 1;
    if (srq.cq !== undefined) srq.cq.users -= 1;
  }

  #isOurs(cq: RdmaCq | undefined): cq is WorkerCq {
    return cq instanceof WorkerCq && this.cqs.get(cq.handle) === cq;
  }

  #sharedBy(srq: RdmaSrq): WorkerSrq {
    if (srq instanceof WorkerSrq && this.srqs.get(srq.srqn) === srq) return srq;
    throw new RoceError('ERR_ROCE_ARGUMENT', 'a queue pair takes receives from a shared queue of its own device');
  }

  #xrcOf(xrcd: RdmaXrcd | undefined, cq: RdmaCq | undefined) {
    if (!(xrcd instanceof WorkerXrcd && xrcd.device === this.stack.device && this.#isOurs(cq)))
      throw new RoceError(
        'ERR_ROCE_ARGUMENT',
        'an XRC shared receive queue needs an XRC domain and a completion queue',
      );
    xrcd.demandOpen();
    return { cq, handles: { xrcd: xrcd.handle, cq: cq.handle } };
  }
}
