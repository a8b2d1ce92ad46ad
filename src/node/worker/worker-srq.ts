/**
 * Shared receive queue and XRC domain of a device in a worker, on the application's side. Receives that are certain to
 * be accepted go into the ring of posts; others go to the worker in a call.
 */
import { RoceError } from '../../../packets/errors.ts';
import { checkSges } from '../../../transport/segments.ts';
import type { SrqAttributes, SrqEvent } from '../../../transport/srq.ts';
import type { RecvWr } from '../../../transport/work.ts';
import type { RdmaDevice, RdmaQp, RdmaSrq, RdmaXrcd } from '../../device/api.ts';
import { AsyncQueue } from '../../ground/async-queue.ts';
import { SrqStatus } from './srq-status.ts';
import type { ObjectHandle, WireSrq } from './wire-values.ts';
import type { WorkerCq } from './worker-cq.ts';
import type { WorkerKeys } from './worker-keys.ts';
import type { WorkerDomain, WorkerStack } from './worker-stack.ts';

/** What a shared receive queue needs of its maker. */
export interface SrqOwner {
  readonly stack: WorkerStack;
  readonly keys: WorkerKeys;
  /** Throws ERR_ROCE_IN_USE, and frees nothing then. */
  destroySrq(srq: WorkerSrq): void;
}

/** What an XRC domain needs of its maker. */
export interface XrcdOwner {
  readonly stack: WorkerStack;
  createXrcTarget(xrcd: WorkerXrcd): RdmaQp;
}

export class WorkerSrq implements RdmaSrq {
  readonly pd: WorkerDomain;
  readonly srqn: number;
  readonly maxSge: number;
  /** XRC: where its receives complete. */
  readonly cq: WorkerCq | undefined;
  readonly events = new AsyncQueue<SrqEvent>();
  readonly #owner: SrqOwner;
  readonly #status: SrqStatus;
  #posted = 0;
  #destroyed = false;

  constructor(owner: SrqOwner, pd: WorkerDomain, { srqn, maxSge, status }: WireSrq, cq: WorkerCq | undefined) {
    this.#owner = owner;
    this.pd = pd;
    this.srqn = srqn;
    this.maxSge = maxSge;
    this.cq = cq;
    this.#status = new SrqStatus(status);
  }

  get maxWr(): number {
    return this.#status.maxWr;
  }

  get limit(): number {
    return this.#status.limit;
  }

  get length(): number {
    return this.#status.length(this.#posted);
  }

  get destroyed(): boolean {
    return this.#destroyed;
  }

  postRecv(wr: RecvWr): void {
    this.#demandAlive();
    const { stack, keys } = this.#owner;
    if (this.#status.takes(this.#posted)) {
      checkSges(wr.sges, this.maxSge);
      if (stack.posts.srqRecv(this.srqn, wr, keys)) {
        this.#posted += 1;
        stack.channel.wake();
        return;
      }
    }
    stack.channel.call('postSrqRecv', this.srqn, { wrId: wr.wrId, sges: wr.sges && keys.wiredSges(wr.sges) });
    this.#posted += 1;
  }

  modify(attributes: SrqAttributes): void {
    this.#demandAlive();
    this.#owner.stack.channel.call('modifySrq', this.srqn, attributes);
  }

  destroy(): void {
    if (this.#destroyed) return;
    this.#owner.destroySrq(this);
    this.ended();
  }

  /** For the device: it was closed. */
  ended(): void {
    this.#destroyed = true;
    this.events.close();
  }

  #demandAlive(): void {
    if (this.#destroyed) throw new RoceError('ERR_ROCE_CLOSED', 'the shared receive queue is destroyed');
  }
}

export class WorkerXrcd implements RdmaXrcd {
  readonly device: RdmaDevice;
  readonly handle: ObjectHandle;
  readonly #owner: XrcdOwner;
  #closed = false;

  constructor(owner: XrcdOwner, handle: ObjectHandle) {
    this.device = owner.stack.device;
    this.#owner = owner;
    this.handle = handle;
  }

  createQp(): RdmaQp {
    this.demandOpen();
    return this.#owner.createXrcTarget(this);
  }

  close(): void {
    if (this.#closed) return;
    this.#owner.stack.free('closeXrcd', this.handle);
    this.#closed = true;
  }

  /** Throws ERR_ROCE_CLOSED after `close`. */
  demandOpen(): void {
    if (this.#closed) throw new RoceError('ERR_ROCE_CLOSED', 'the XRC domain is closed');
  }
}
