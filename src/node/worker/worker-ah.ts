/** Address handle of a device in a worker, on the application's side. */
import { AddressHandle } from '../../../transport/address-handle.ts';
import type { RdmaAh } from '../../device/api.ts';
import type { AddressVector } from '../../device/verbs/index.ts';
import type { ObjectHandle } from './wire-values.ts';
import type { WorkerDomain, WorkerStack } from './worker-stack.ts';

export class WorkerAh extends AddressHandle implements RdmaAh {
  readonly pd: WorkerDomain;
  readonly handle: ObjectHandle;
  readonly av: AddressVector;
  readonly #stack: WorkerStack;

  constructor(stack: WorkerStack, pd: WorkerDomain, handle: ObjectHandle, av: AddressVector) {
    super(pd.core, undefined);
    this.#stack = stack;
    this.pd = pd;
    this.handle = handle;
    this.av = av;
    pd.core.users += 1;
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.pd.core.users -= 1;
    this.#stack.free('destroyAh', this.handle);
  }
}
