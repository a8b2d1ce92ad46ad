/** Protection domain and address handle of a device in a worker, as the application holds them. */
import { AddressHandle } from '../../../transport/address-handle.ts';
import { type MemoryRegion, ProtectionDomain } from '../../../transport/memory.ts';
import type { WorkCompletion } from '../../../transport/work.ts';
import type { RdmaAh, RdmaPd, RdmaQpInit, RdmaSrqInit } from '../../device/api.ts';
import type { AddressVector, RegMrOptions } from '../../device/verbs/index.ts';
import { type Handle, ownBytes, reviveVector, type WireAh } from './wire-values.ts';
import type { WorkerDevice } from './worker-device.ts';
import type { WorkerMw } from './worker-keys.ts';
import type { WorkerQp } from './worker-qp.ts';
import type { WorkerSrq } from './worker-srq.ts';

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
    return this.device.keys.regMr(this, memory, options);
  }

  deregMr(region: MemoryRegion): void {
    this.device.keys.deregMr(region);
  }

  allocMr(maxBytes: number): MemoryRegion {
    return this.device.keys.allocMr(this, maxBytes);
  }

  allocMw(): WorkerMw {
    return this.device.keys.allocMw(this);
  }

  createQp(init: RdmaQpInit): WorkerQp {
    return this.device.objects.createQp(this, init);
  }

  async createAh(av: AddressVector): Promise<WorkerAh> {
    return this.device.channel.ask('createAh', (wired) => this.adopt(wired), this.handle, av);
  }

  async createAhFromWc({ grh }: Pick<WorkCompletion, 'grh'>, bytes: Uint8Array): Promise<WorkerAh> {
    const { channel } = this.device;
    return channel.ask('createAhFromWc', (wired) => this.adopt(wired), this.handle, grh, ownBytes(bytes));
  }

  createSrq(init: RdmaSrqInit): WorkerSrq {
    return this.device.objects.createSrq(this, init);
  }

  dealloc(): void {
    this.core.demandUnused();
  }

  /** For the connection manager: an address handle that was made for this domain. */
  adopt({ ah, av }: WireAh): WorkerAh {
    return new WorkerAh(this, ah, reviveVector(av));
  }
}

export class WorkerAh extends AddressHandle implements RdmaAh {
  readonly pd: WorkerPd;
  readonly handle: Handle;
  readonly av: AddressVector;

  constructor(pd: WorkerPd, handle: Handle, av: AddressVector) {
    super(pd.core, undefined);
    this.pd = pd;
    this.handle = handle;
    this.av = av;
    pd.core.users += 1;
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.pd.core.users -= 1;
    this.pd.device.free('destroyAh', this.handle);
  }
}
