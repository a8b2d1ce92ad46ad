/**
 * The objects of the verbs API: protection domain, completion queue, queue pair. Thin: each holds its machine from
 * transport/, adds what an application awaits, and tells the device when there is work.
 */
import type { IpAddress } from '../packets/address.ts';
import { RoceError } from '../packets/errors.ts';
import { CompletionQueue } from '../transport/completion-queue.ts';
import { type MemoryRegion, ProtectionDomain } from '../transport/memory.ts';
import type { QpAttributes } from '../transport/qp-attributes.ts';
import { QP_STATE_NAMES, type QpState } from '../transport/qp-state.ts';
import type { QpEvent, QueuePair } from '../transport/queue-pair.ts';
import { type RecvWr, type SendWr, WorkCompletion } from '../transport/work.ts';
import type { RdmaCq, RdmaPd, RdmaQp, RdmaQpInit } from './api.ts';
import { AsyncQueue } from './async-queue.ts';
import type { Device } from './device.ts';
import type { PathTraits } from './device-options.ts';
import type { NextHop } from './paths.ts';

export interface RegMrOptions {
  /** Bit set of `Access`; default local write only. */
  readonly access?: number;
  /** Virtual address of the first byte; default a random page-aligned one. */
  readonly iova?: bigint;
  /** Whether a SEND with invalidate may kill the key. Default false. */
  readonly remoteInvalidate?: boolean;
}

export interface QpInit extends RdmaQpInit {
  readonly sendCq: Cq;
  readonly recvCq: Cq;
}

/** Groups regions and queue pairs (ibv_pd). */
export class Pd implements RdmaPd {
  readonly device: Device;
  readonly core: ProtectionDomain;

  /** Called by `Device.allocPd`. */
  constructor(device: Device, handle: number) {
    this.device = device;
    this.core = new ProtectionDomain(handle);
  }

  /** Registers memory (ibv_reg_mr): bytes of the caller's, shared, or that many fresh zeroed ones. */
  regMr(memory: Uint8Array | number, options: RegMrOptions = {}): MemoryRegion {
    return this.device.regMr(this, memory, options);
  }

  /** Ends a registration; its key opens nothing from now on. */
  deregMr(region: MemoryRegion): void {
    this.device.deregMr(region);
  }

  /** Makes a queue pair of type RC in state RESET (ibv_create_qp). */
  createQp(init: QpInit): Qp {
    return this.device.createQp(this, init);
  }

  /** Frees the domain. Throws ERR_ROCE_IN_USE while regions or queue pairs remain. */
  dealloc(): void {
    this.core.demandUnused();
  }
}

/** Where completions arrive (ibv_cq): `poll` without waiting, or `for await` over them. */
export class Cq extends CompletionQueue implements RdmaCq {
  #waiting: ((result: IteratorResult<WorkCompletion>) => void)[] = [];
  #closed = false;

  /**
   * The next completion, a fresh object; waits for it. Done when the device closes. Rejects with ERR_ROCE_LIMIT when the
   * queue has overrun and what it still held has been taken: completions are missing then.
   */
  next(): Promise<IteratorResult<WorkCompletion>> {
    const wc = new WorkCompletion();
    if (this.#waiting.length === 0 && this.poll(wc)) return Promise.resolve({ done: false, value: wc });
    if (this.overrun) {
      return Promise.reject(
        new RoceError('ERR_ROCE_LIMIT', `the completion queue of ${this.capacity} entries has overrun`),
      );
    }
    if (this.#closed) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.arm(false);
    });
  }

  [Symbol.asyncIterator](): AsyncIterator<WorkCompletion> {
    return { next: () => this.next() };
  }

  /** For the device: completions arrived while somebody waited. */
  settle(): void {
    while (this.#waiting.length > 0) {
      const wc = new WorkCompletion();
      if (!this.poll(wc)) {
        this.arm(false);
        return;
      }
      this.#waiting.shift()?.({ done: false, value: wc });
    }
  }

  /** For the device: no more completions will come. */
  close(): void {
    this.settle();
    this.#closed = true;
    for (const resolve of this.#waiting.splice(0)) resolve({ done: true, value: undefined });
  }
}

/** Makes a completion queue that adds itself to `notified` when it is to be settled. */
export type CqMaker = (capacity: number, notified: Cq[]) => Cq;

export const makeCq: CqMaker = (capacity, notified) => new Cq(capacity, notified);

/** The way to a peer, as an address handle names it. What is absent takes the device's default. */
export interface AddressVector extends PathTraits {
  readonly destination: IpAddress;
  /** One of the device's addresses; default the one on the destination's subnet. */
  readonly source?: IpAddress;
}

/** What `Qp.modify` takes: queue pair attributes with an address vector instead of a finished path. */
export interface ModifyAttributes extends Omit<QpAttributes, 'path'> {
  readonly av?: AddressVector;
}

/** A reliable connection (ibv_qp). */
export class Qp implements RdmaQp {
  readonly core: QueuePair;
  readonly pd: Pd;
  /** Asynchronous events: communication established, send queue drained, errors. */
  readonly events = new AsyncQueue<QpEvent>();
  /** For the device: where packets go first, on a link that has neighbours. */
  nextHop: NextHop | undefined = undefined;
  /** For who keeps a copy of the state: called after every modify, the application's and the connection manager's. */
  modified: (() => void) | undefined;
  readonly #device: Device;
  #destroyed = false;

  /** Called by `Device.createQp`. */
  constructor(device: Device, pd: Pd, core: QueuePair) {
    this.#device = device;
    this.pd = pd;
    this.core = core;
  }

  /** Whether `destroy` was called. */
  get destroyed(): boolean {
    return this.#destroyed;
  }

  get qpn(): number {
    return this.core.qpn;
  }

  get state(): QpState {
    return this.core.state;
  }

  get stateName(): string {
    return QP_STATE_NAMES[this.core.state];
  }

  /**
   * Changes attributes and state (ibv_modify_qp). On Ethernet an address vector is resolved to a MAC address first, which
   * is why this is asynchronous. Rejects with ERR_ROCE_STATE, ERR_ROCE_ARGUMENT or ERR_ROCE_ADDRESS and changes nothing.
   */
  async modify(attributes: ModifyAttributes): Promise<void> {
    const { av } = attributes;
    if (av !== undefined) await this.#device.resolve(av.destination);
    this.modifyNow(attributes);
  }

  /** `modify` for a destination that is resolved already; throws ERR_ROCE_ADDRESS when it is not. */
  modifyNow(attributes: ModifyAttributes): void {
    this.#demandAlive();
    const { av, ...rest } = attributes;
    if (av === undefined) this.#device.modifyQp(this, rest);
    else this.#device.modifyQp(this, { ...rest, path: this.#device.paths.pathTo(this.qpn, av, rest.destQpn) });
    this.modified?.();
  }

  /** Posts a send work request (ibv_post_send). Throws and posts nothing when the request or the state does not allow it. */
  postSend(wr: SendWr): void {
    this.#demandAlive();
    this.core.postSend(wr);
    this.#device.touched(this);
  }

  /** Posts a receive work request (ibv_post_recv). */
  postRecv(wr: RecvWr): void {
    this.#demandAlive();
    this.core.postRecv(wr);
    this.#device.touched(this);
  }

  /** Destroys the queue pair; work outstanding vanishes without completion, as with ibv_destroy_qp. */
  destroy(): void {
    if (this.#destroyed) return;
    this.#destroyed = true;
    this.events.close();
    this.#device.destroyQp(this);
  }

  #demandAlive(): void {
    if (this.#destroyed) throw new RoceError('ERR_ROCE_CLOSED', 'the queue pair is destroyed');
  }
}
