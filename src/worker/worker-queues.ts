/**
 * Protection domain, completion queue and queue pair of a device in a worker, as the application holds them.
 *
 * Work requests that are sure to be accepted go into the ring of posts and cost no round trip: the arguments are checked here by
 * the transport's own checks, state and room by `qp-status.ts`. What is not sure is put to the worker, which throws what the
 * local queue pair would throw.
 */
import { RoceError } from '../../packets/errors.ts';
import { type MemoryRegion, ProtectionDomain } from '../../transport/memory.ts';
import { QP_STATE_NAMES, type QpState } from '../../transport/qp-state.ts';
import { QpType } from '../../transport/qp-type.ts';
import type { QpEvent } from '../../transport/queue-pair.ts';
import { checkSges } from '../../transport/segments.ts';
import { checkSendWr } from '../../transport/send-queue.ts';
import { type RecvWr, type SendWr, type Sge, WorkCompletion, WrOpcode } from '../../transport/work.ts';
import type { CqEvent, RdmaCq, RdmaPd, RdmaQp, RdmaQpInit, RdmaSrq } from '../api.ts';

import { AsyncQueue } from '../async-queue.ts';
import type { AddressVector, ModifyAttributes, RegMrOptions } from '../verbs/index.ts';
import { CompletionReader } from './completion-ring.ts';
import { QpStatus } from './qp-status.ts';
import { type Handle, ownBytes, type WireQp, type WireSge } from './wire.ts';
import type { WorkerDevice } from './worker-device.ts';

export class WorkerPd implements RdmaPd {
  readonly device: WorkerDevice;
  readonly handle: Handle;
  readonly core: ProtectionDomain;

  constructor(device: WorkerDevice, handle: Handle) {
    this.device = device;
    this.handle = handle;
    this.core = new ProtectionDomain(handle);
  }

  regMr(memory: Uint8Array | number, options: RegMrOptions = {}): MemoryRegion {
    return this.device.regMr(this, memory, options);
  }

  deregMr(region: MemoryRegion): void {
    this.device.deregMr(region);
  }

  allocMr(_maxBytes: number): never {
    throw unsupported('a region for fast registration');
  }

  allocMw(): never {
    throw unsupported('a memory window');
  }

  createQp(init: RdmaQpInit): WorkerQp {
    if ((init.type ?? QpType.Rc) !== QpType.Rc) throw unsupported('a queue pair of this type');
    return this.device.createQp(this, init);
  }

  createAh(_av: AddressVector): Promise<never> {
    return Promise.reject(unsupported('an address handle'));
  }

  createAhFromWc(): Promise<never> {
    return Promise.reject(unsupported('an address handle'));
  }

  createSrq(): RdmaSrq {
    throw unsupported('a shared receive queue');
  }

  dealloc(): void {
    this.core.demandUnused();
  }
}

export class WorkerCq implements RdmaCq {
  readonly device: WorkerDevice;
  readonly handle: Handle;
  readonly capacity: number;
  /** Queue pairs that complete into this queue. */
  users = 0;
  readonly events = new AsyncQueue<CqEvent>();
  readonly #reader: CompletionReader;
  #waiting: ((result: IteratorResult<WorkCompletion>) => void)[] = [];
  #closed = false;

  constructor(device: WorkerDevice, handle: Handle, capacity: number, memory: SharedArrayBuffer) {
    this.device = device;
    this.handle = handle;
    this.capacity = capacity;
    this.#reader = new CompletionReader(capacity, memory);
  }

  get length(): number {
    return this.#reader.length;
  }

  get overrun(): boolean {
    return this.#reader.overrun;
  }

  poll(into: WorkCompletion): boolean {
    if (!this.#reader.poll(into)) return false;
    if (into.invalidatedRkey >= 0) this.device.invalidated(into.invalidatedRkey);
    return true;
  }

  next(): Promise<IteratorResult<WorkCompletion>> {
    const wc = new WorkCompletion();
    if (this.#waiting.length === 0 && this.poll(wc)) return Promise.resolve({ done: false, value: wc });
    // An overrun is shown after all that was there before it.
    if (this.overrun && this.length === 0) {
      return Promise.reject(
        new RoceError('ERR_ROCE_LIMIT', `the completion queue of ${this.capacity} entries has overrun`),
      );
    }
    if (this.#closed) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#reader.want()) this.settle();
    });
  }

  [Symbol.asyncIterator](): AsyncIterator<WorkCompletion> {
    return { next: () => this.next() };
  }

  reqNotify(): Promise<boolean> {
    return Promise.reject(unsupported('a notification without the completion'));
  }

  resize(): void {
    throw unsupported('another size of a completion queue');
  }

  /** Something has come while somebody waited. */
  settle(): void {
    do {
      while (this.#waiting.length > 0) {
        const wc = new WorkCompletion();
        if (!this.poll(wc)) break;
        this.#waiting.shift()?.({ done: false, value: wc });
      }
    } while (this.#waiting.length > 0 && this.#reader.want());
  }

  /** No more will come. */
  close(): void {
    this.settle();
    this.#closed = true;
    for (const resolve of this.#waiting.splice(0)) resolve({ done: true, value: undefined });
    this.events.close();
  }
}

export class WorkerQp implements RdmaQp {
  readonly pd: WorkerPd;
  readonly handle: Handle;
  readonly qpn: number;
  readonly sendCq: WorkerCq;
  readonly recvCq: WorkerCq;
  readonly events = new AsyncQueue<QpEvent>();
  readonly #device: WorkerDevice;
  readonly #capabilities;
  readonly #status: QpStatus;
  #sends = 0;
  #recvs = 0;
  #destroyed = false;

  constructor(pd: WorkerPd, { qp, qpn, capabilities, status }: WireQp, sendCq: WorkerCq, recvCq: WorkerCq) {
    this.pd = pd;
    this.handle = qp;
    this.qpn = qpn;
    this.sendCq = sendCq;
    this.recvCq = recvCq;
    this.#device = pd.device;
    this.#capabilities = capabilities;
    this.#status = new QpStatus(status);
  }

  /** A worker makes no other. */
  get type(): QpType {
    return QpType.Rc;
  }

  get destroyed(): boolean {
    return this.#destroyed;
  }

  get state(): QpState {
    return this.#status.state;
  }

  get stateName(): string {
    return QP_STATE_NAMES[this.state];
  }

  async modify(attributes: ModifyAttributes): Promise<void> {
    const { av } = attributes;
    if (av !== undefined) await this.#device.resolve(av.destination);
    this.modifyNow(attributes);
  }

  modifyNow(attributes: ModifyAttributes): void {
    this.#demandAlive();
    this.#device.channel.call('modifyQp', this.handle, attributes);
  }

  postSend(wr: SendWr): void {
    this.#demandAlive();
    const device = this.#device;
    // A FLUSH has more to say than a place in the ring has room for.
    if (wr.flush === undefined && this.#status.takesSend(this.#sends, this.#capabilities.maxSendWr)) {
      checkSendWr(wr, this.#capabilities);
      if (device.posts.send(this.handle, wr, device.keyOf)) {
        this.#sends += 1;
        if (wr.opcode === WrOpcode.LocalInv) device.invalidated(wr.invalidateRkey ?? 0);
        device.channel.wake();
        return;
      }
    }
    const { sges, inline, ...rest } = wr;
    const bytes = inline === undefined ? {} : { inline: ownBytes(inline) };
    device.channel.call('postSend', this.handle, { ...rest, ...bytes, sges: sges && this.#wired(sges) });
    this.#sends += 1;
  }

  postRecv(wr: RecvWr): void {
    this.#demandAlive();
    const device = this.#device;
    if (this.#status.takesRecv(this.#recvs, this.#capabilities.maxRecvWr)) {
      checkSges(wr.sges, this.#capabilities.maxSge);
      if (device.posts.recv(this.handle, wr, device.keyOf)) {
        this.#recvs += 1;
        device.channel.wake();
        return;
      }
    }
    device.channel.call('postRecv', this.handle, { wrId: wr.wrId, sges: wr.sges && this.#wired(wr.sges) });
    this.#recvs += 1;
  }

  attachMcast(): Promise<never> {
    return Promise.reject(unsupported('a member of a multicast group'));
  }

  detachMcast(): void {
    throw unsupported('a member of a multicast group');
  }

  destroy(): void {
    if (this.#destroyed) return;
    this.ended();
    this.#device.destroyQp(this);
  }

  /** For the device: the queue pair has gone with it. */
  ended(): void {
    this.#destroyed = true;
    this.events.close();
  }

  #wired(sges: readonly Sge[]): WireSge[] {
    return sges.map(({ mr, offset = 0, length = Math.max(0, mr.length - offset) }) => {
      return { key: this.#device.keyOf(mr), offset, length };
    });
  }

  #demandAlive(): void {
    if (this.#destroyed) throw new RoceError('ERR_ROCE_CLOSED', 'the queue pair is destroyed');
  }
}

/** For what only the local objects have. */
export function unsupported(what: string): RoceError {
  return new RoceError('ERR_ROCE_UNSUPPORTED', `a device in a worker does not have ${what} yet`);
}
