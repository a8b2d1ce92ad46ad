/**
 * Shared receive queue and XRC domain of a device in a worker, as the application holds them. Receives that are sure to be accepted
 * go into the ring of posts; what is not sure is put to the worker.
 */
import { RoceError } from '../../../packets/errors.ts';
import { checkSges } from '../../../transport/segments.ts';
import type { SrqAttributes, SrqEvent } from '../../../transport/srq.ts';
import type { RecvWr } from '../../../transport/work.ts';
import type { RdmaSrq, RdmaXrcd } from '../../device/api.ts';
import { AsyncQueue } from '../../ground/async-queue.ts';
import { SrqStatus } from './srq-status.ts';
import type { Handle, WireSrq } from './wire-values.ts';
import type { WorkerCq } from './worker-cq.ts';
import type { WorkerDevice } from './worker-device.ts';
import type { WorkerPd } from './worker-pd.ts';
import { type WorkerQp, wiredSges } from './worker-qp.ts';

export class WorkerSrq implements RdmaSrq {
  readonly pd: WorkerPd;
  readonly srqn: number;
  readonly maxSge: number;
  /** XRC: where its receives complete. */
  readonly cq: WorkerCq | undefined;
  readonly events = new AsyncQueue<SrqEvent>();
  readonly #status: SrqStatus;
  #posted = 0;
  #destroyed = false;

  constructor(pd: WorkerPd, { srqn, maxSge, status }: WireSrq, cq: WorkerCq | undefined) {
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
    const { device } = this.pd;
    if (this.#status.takes(this.#posted)) {
      checkSges(wr.sges, this.maxSge);
      if (device.posts.srqRecv(this.srqn, wr, device)) {
        this.#posted += 1;
        device.channel.wake();
        return;
      }
    }
    device.channel.call('postSrqRecv', this.srqn, { wrId: wr.wrId, sges: wr.sges && wiredSges(device, wr.sges) });
    this.#posted += 1;
  }

  modify(attributes: SrqAttributes): void {
    this.#demandAlive();
    this.pd.device.channel.call('modifySrq', this.srqn, attributes);
  }

  destroy(): void {
    if (this.#destroyed) return;
    this.pd.device.objects.destroySrq(this);
    this.ended();
  }

  /** For the device: it has gone. */
  ended(): void {
    this.#destroyed = true;
    this.events.close();
  }

  #demandAlive(): void {
    if (this.#destroyed) throw new RoceError('ERR_ROCE_CLOSED', 'the shared receive queue is destroyed');
  }
}

export class WorkerXrcd implements RdmaXrcd {
  readonly device: WorkerDevice;
  readonly handle: Handle;
  #closed = false;

  constructor(device: WorkerDevice, handle: Handle) {
    this.device = device;
    this.handle = handle;
  }

  createQp(): WorkerQp {
    this.demandOpen();
    return this.device.objects.createXrcTarget(this);
  }

  close(): void {
    if (this.#closed) return;
    this.device.free('closeXrcd', this.handle);
    this.#closed = true;
  }

  /** Throws ERR_ROCE_CLOSED after `close`. */
  demandOpen(): void {
    if (this.#closed) throw new RoceError('ERR_ROCE_CLOSED', 'the XRC domain is closed');
  }
}
