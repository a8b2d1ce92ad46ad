/** Protection domain of a device in a worker, on the application's side. */
import { type MemoryRegion, ProtectionDomain, type WindowType } from '../../../transport/memory.ts';
import type { WorkCompletion } from '../../../transport/work.ts';
import type { RdmaDevice, RdmaQp, RdmaQpInit, RdmaSrq, RdmaSrqInit } from '../../device/api.ts';
import type { AddressVector, RegMrOptions } from '../../device/verbs/index.ts';
import { type ObjectHandle, ownBytes, reviveVector, type WireAh } from './wire-values.ts';
import { WorkerAh } from './worker-ah.ts';
import type { WorkerKeys, WorkerMw } from './worker-keys.ts';
import type { WorkerDomain, WorkerStack } from './worker-stack.ts';

/** What a protection domain needs of its maker. */
export interface PdOwner {
  readonly stack: WorkerStack;
  readonly keys: WorkerKeys;
  createQp(pd: WorkerDomain, init: RdmaQpInit): RdmaQp;
  createSrq(pd: WorkerDomain, init: RdmaSrqInit): RdmaSrq;
}

export class WorkerPd implements WorkerDomain {
  readonly device: RdmaDevice;
  readonly handle: ObjectHandle;
  readonly core: ProtectionDomain;
  readonly #owner: PdOwner;

  constructor(owner: PdOwner, handle: ObjectHandle) {
    this.device = owner.stack.device;
    this.#owner = owner;
    this.handle = handle;
    this.core = new ProtectionDomain(handle);
  }

  regMr(memory: Uint8Array | number, options: RegMrOptions = {}): MemoryRegion {
    return this.#owner.keys.regMr(this, memory, options);
  }

  deregMr(region: MemoryRegion): void {
    this.#owner.keys.deregMr(region);
  }

  allocMr(maxBytes: number): MemoryRegion {
    return this.#owner.keys.allocMr(this, maxBytes);
  }

  allocMw(type: WindowType = 2): WorkerMw {
    return this.#owner.keys.allocMw(this, type);
  }

  createQp(init: RdmaQpInit): RdmaQp {
    return this.#owner.createQp(this, init);
  }

  async createAh(av: AddressVector): Promise<WorkerAh> {
    return this.#owner.stack.channel.ask('createAh', (wired) => this.adopt(wired), this.handle, av);
  }

  async createAhFromWc({ grh }: Pick<WorkCompletion, 'grh'>, bytes: Uint8Array): Promise<WorkerAh> {
    const { channel } = this.#owner.stack;
    return channel.ask('createAhFromWc', (wired) => this.adopt(wired), this.handle, grh, ownBytes(bytes));
  }

  createSrq(init: RdmaSrqInit): RdmaSrq {
    return this.#owner.createSrq(this, init);
  }

  dealloc(): void {
    this.core.demandUnused();
  }

  /** For the connection manager: an address handle that was made for this domain. */
  adopt({ ah, av }: WireAh): WorkerAh {
    return new WorkerAh(this.#owner.stack, this, ah, reviveVector(av));
  }
}
