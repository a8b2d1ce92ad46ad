/**
 * Shared receive queue of the verbs API. Thin: the machine is transport/srq.ts, here are the promises that an
 * application awaits, and the limits of the device.
 */
import { RoceError } from '../../../packets/errors.ts';
import type { ReceiveSource } from '../../../transport/recv-queue.ts';
import type { SharedReceiveQueue, SrqAttributes, SrqEvent } from '../../../transport/srq.ts';
import type { RecvWr } from '../../../transport/work.ts';
import { AsyncQueue } from '../../ground/async-queue.ts';
import type { RdmaSrq, RdmaSrqInit } from '../api.ts';
import type { Cq } from './cq.ts';
import type { LocalPd } from './ports.ts';
import type { Xrcd } from './xrcd.ts';

/** How a shared receive queue is made. */
export interface SrqInit extends RdmaSrqInit {
  /** XRC: whose target queue pairs may take from this queue. */
  readonly xrcd?: Xrcd;
  /** XRC: where its receives complete. */
  readonly cq?: Cq;
  /** Where receives wait that are not posted here. @internal */
  readonly source?: ReceiveSource;
}

/** The device's table of shared receive queues. */
export interface SrqResources {
  destroySrq(srq: Srq): void;
}

/** Receives that many queue pairs take from (ibv_srq). */
export class Srq implements RdmaSrq {
  readonly pd: LocalPd;
  /** @internal */
  readonly core: SharedReceiveQueue;
  readonly events = new AsyncQueue<SrqEvent>();
  readonly #resources: SrqResources;
  #destroyed = false;

  /** Called by `Resources.createSrq`. @internal */
  constructor(resources: SrqResources, pd: LocalPd, core: SharedReceiveQueue) {
    this.#resources = resources;
    this.pd = pd;
    this.core = core;
  }

  get srqn(): number {
    return this.core.srqn;
  }

  get maxWr(): number {
    return this.core.maxWr;
  }

  get maxSge(): number {
    return this.core.maxSge;
  }

  get limit(): number {
    return this.core.limit;
  }

  get length(): number {
    return this.core.length;
  }

  get destroyed(): boolean {
    return this.#destroyed;
  }

  postRecv(wr: RecvWr): void {
    this.#demandAlive();
    this.core.post(wr);
  }

  modify(attributes: SrqAttributes): void {
    this.#demandAlive();
    this.core.modify(attributes, this.pd.device.limits.maxSrqWr);
  }

  destroy(): void {
    if (this.#destroyed) return;
    this.#resources.destroySrq(this);
    this.ended();
  }

  /** For the device: it was closed. @internal */
  ended(): void {
    this.#destroyed = true;
    this.events.close();
  }

  /** For the device: reports pending events. @internal */
  settle(): void {
    for (let event = this.core.pollEvent(); event !== undefined; event = this.core.pollEvent()) this.events.push(event);
  }

  #demandAlive(): void {
    if (this.#destroyed) throw new RoceError('ERR_ROCE_CLOSED', 'the shared receive queue is destroyed');
  }
}
