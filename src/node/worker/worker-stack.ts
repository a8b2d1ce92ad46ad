/**
 * The application's access to the stack in the worker: its verbs, the ring of posts, whether it still runs, its
 * counters. Owns no object of the device.
 */
import type { IpAddress } from '../../../packets/address.ts';
import { RoceError } from '../../../packets/errors.ts';
import { PortCounters } from '../../../transport/counters.ts';
import type { ProtectionDomain } from '../../../transport/memory.ts';
import type { RdmaDevice, RdmaPd } from '../../device/api.ts';
import { DeviceCounters } from '../../device/counters.ts';
import { type Channel, closedError } from './channel.ts';
import type { SharedControl } from './control.ts';
import { PostWriter } from './post-ring.ts';
import type { FreeingVerb, VerbResults } from './verbs.ts';
import type { ObjectHandle, WorkerCounters } from './wire-values.ts';

/** A protection domain, as its objects see it. */
export interface WorkerDomain extends RdmaPd {
  readonly handle: ObjectHandle;
  readonly core: ProtectionDomain;
}

export class WorkerStack {
  /** The device of this stack. Objects belong to the same device when this is equal. */
  readonly device: RdmaDevice;
  readonly channel: Channel;
  readonly posts: PostWriter;
  #counters: WorkerCounters = NO_COUNTERS;
  #ended = false;

  constructor(device: RdmaDevice, channel: Channel, control: SharedControl) {
    this.device = device;
    this.channel = channel;
    this.posts = new PostWriter(control);
  }

  /** Whether the device was closed; no object can be made then. */
  get ended(): boolean {
    return this.#ended;
  }

  /** @throws RoceError ERR_ROCE_CLOSED */
  demandOpen(): void {
    if (this.#ended) throw closedError();
  }

  async resolve(address: IpAddress): Promise<void> {
    this.demandOpen();
    await this.channel.ask('resolve', () => undefined, address);
  }

  /** Frees an object in the worker; succeeds when the worker has ended. */
  free(verb: FreeingVerb, handle: ObjectHandle): VerbResults[FreeingVerb] {
    if (this.channel.gone) return;
    try {
      this.channel.call(verb, handle);
    } catch (error) {
      if (!(error instanceof RoceError && error.code === 'ERR_ROCE_CLOSED')) throw error;
    }
  }

  /** The worker's counters now, or as they were when it ended. */
  snapshot(): WorkerCounters {
    if (!this.#ended && !this.channel.gone) this.#counters = this.channel.call('counters');
    return this.#counters;
  }

  /** The last counters there are: the worker sends them when it ends, which may be after `end`. */
  keepCounters(counters: WorkerCounters): void {
    this.#counters = counters;
  }

  /** No object can be made any more. */
  end(): void {
    this.#ended = true;
  }
}

const NO_COUNTERS: WorkerCounters = {
  device: new DeviceCounters(),
  port: new PortCounters(),
  cm: {},
  connections: 0,
  qps: 0,
};
