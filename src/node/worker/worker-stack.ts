/**
 * The stack in the worker, as the objects of a device reach it: its verbs, the ring of posts, whether it is still there, its counters.
 * Knows none of those objects.
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

/** A protection domain, as what is made in it sees it. */
export interface WorkerDomain extends RdmaPd {
  readonly handle: ObjectHandle;
  readonly core: ProtectionDomain;
}

export class WorkerStack {
  /** Whose stack it is. Objects are of one device when theirs is the same. */
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

  /** The device has ended; nothing can be made any more. */
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

  /** Asks the worker to free something; what is freed when the worker is gone is free. */
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

  /** Nothing can be made any more. */
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
