/**
 * A device whose stack runs in a worker, as the application holds it: the verbs of the device itself, and what the worker tells of it.
 * What it has made is kept by `worker-objects.ts` and `worker-keys.ts`.
 */
import { type IpAddress, IpPrefix, type MacAddress } from '../../../packets/address.ts';
import { RoceError } from '../../../packets/errors.ts';
import type { Medium } from '../../../packets/frame.ts';
import type { AddressHandle } from '../../../transport/address-handle.ts';
import { PortCounters } from '../../../transport/counters.ts';
import type { MemoryRegion } from '../../../transport/memory.ts';
import type { DeviceEvent, RdmaCq, RdmaDevice } from '../../device/api.ts';
import { DeviceCounters } from '../../device/counters.ts';
import type { DeviceLimits, PathTraits, VlanOptions } from '../../device/options.ts';
import { AsyncQueue } from '../../ground/async-queue.ts';
import { type Channel, closedError, type Told } from './channel.ts';
import type { SharedControl } from './control.ts';
import { type PostNames, PostWriter } from './post-ring.ts';
import type { DeviceFacts, SyncVerbs } from './wire.ts';
import type { Handle, WireCounters } from './wire-values.ts';
import { WorkerCm } from './worker-cm.ts';
import type { WorkerCq } from './worker-cq.ts';
import { WorkerKeys } from './worker-keys.ts';
import { WorkerObjects } from './worker-objects.ts';
import { WorkerAh, WorkerPd } from './worker-pd.ts';
import type { WorkerXrcd } from './worker-srq.ts';

export class WorkerDevice implements RdmaDevice, PostNames {
  readonly name: string;
  readonly mac: MacAddress;
  readonly addresses: readonly IpPrefix[];
  readonly limits: DeviceLimits;
  readonly activeMtu: number;
  readonly linkMtu: number;
  readonly medium: Medium;
  readonly vlan: VlanOptions | undefined;
  readonly pathTraits: PathTraits;
  readonly guid: bigint;
  readonly cm: WorkerCm;
  readonly events = new AsyncQueue<DeviceEvent>();
  /** For the objects of this device. */
  readonly channel: Channel;
  readonly posts: PostWriter;
  readonly objects: WorkerObjects;
  readonly keys: WorkerKeys;
  #counters: WireCounters = NO_COUNTERS;
  #ended = false;

  constructor(channel: Channel, control: SharedControl, facts: DeviceFacts) {
    this.name = facts.name;
    this.mac = facts.mac;
    this.addresses = facts.addresses.map((text) => IpPrefix.parse(text));
    this.limits = facts.limits;
    this.activeMtu = facts.activeMtu;
    this.linkMtu = facts.linkMtu;
    this.medium = facts.medium;
    this.vlan = facts.vlan;
    this.pathTraits = facts.pathTraits;
    this.guid = facts.guid;
    this.channel = channel;
    this.posts = new PostWriter(control);
    this.objects = new WorkerObjects(this);
    this.keys = new WorkerKeys(this, new Int32Array(control.words));
    this.cm = new WorkerCm(this);
  }

  get qpCount(): number {
    return this.snapshot().qps;
  }

  get counters(): Readonly<DeviceCounters> {
    return this.snapshot().device;
  }

  get portCounters(): Readonly<PortCounters> {
    return this.snapshot().port;
  }

  allocPd(): WorkerPd {
    this.demandOpen();
    return new WorkerPd(this, this.channel.call('allocPd'));
  }

  createCq(capacity: number): WorkerCq {
    this.demandOpen();
    return this.objects.createCq(capacity);
  }

  destroyCq(cq: RdmaCq): void {
    this.objects.destroyCq(cq);
  }

  openXrcd(): WorkerXrcd {
    this.demandOpen();
    return this.objects.openXrcd();
  }

  async resolve(address: IpAddress): Promise<void> {
    this.demandOpen();
    await this.channel.ask('resolve', () => undefined, address);
  }

  // For what the device has made.

  keyOf(mr: MemoryRegion): number {
    return this.keys.keyOf(mr);
  }

  ahOf(ah: AddressHandle): Handle {
    return ah instanceof WorkerAh && ah.pd.device === this ? ah.handle : 0;
  }

  /** Asks the worker to free something; what is freed when the worker is gone is free. */
  free(verb: FreeingVerb, handle: Handle): ReturnType<SyncVerbs[FreeingVerb]> {
    if (this.channel.gone) return;
    try {
      this.channel.call(verb, handle);
    } catch (error) {
      if (!(error instanceof RoceError && error.code === 'ERR_ROCE_CLOSED')) throw error;
    }
  }

  /** @throws RoceError ERR_ROCE_CLOSED */
  demandOpen(): void {
    if (this.#ended) throw closedError();
  }

  /** The worker's counters now, or as they were when it ended. */
  snapshot(): WireCounters {
    if (this.#ended || this.channel.gone) return this.#counters;
    this.#counters = this.channel.call('counters');
    return this.#counters;
  }

  /** Takes what the worker told of the device. */
  told(event: Told): void {
    const { cqs, qps, srqs } = this.objects;
    switch (event.kind) {
      case 'completions':
        cqs.get(event.cq)?.settle();
        return;
      case 'cq-event':
        cqs.get(event.cq)?.events.push(event.event);
        return;
      case 'qp-event':
        this.keys.look();
        qps.get(event.qp)?.events.push(event.event);
        return;
      case 'srq-event':
        srqs.get(event.srqn)?.events.push(event.event);
        return;
      case 'request':
        this.cm.requested(event.listener, event.request);
        return;
      case 'ud-request':
        this.cm.datagrams.requested(event.listener, event.request);
        return;
      case 'disconnected':
        this.cm.disconnected(event.connection, event.cause);
        return;
      case 'ended':
        this.#counters = event.counters;
        if (event.error !== undefined) {
          this.events.push('port-err');
          this.events.push('device-fatal');
        }
        this.end();
        return;
      default:
    }
  }

  /** Ends every wait, as the end of a local device does; nothing can be made afterwards. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.events.close();
    this.cm.close();
    this.objects.end();
  }
}

type FreeingVerb = 'destroyCq' | 'deregMr' | 'deallocMw' | 'destroyQp' | 'destroySrq' | 'closeXrcd' | 'destroyAh';

const NO_COUNTERS: WireCounters = {
  device: new DeviceCounters(),
  port: new PortCounters(),
  cm: {},
  connections: 0,
  qps: 0,
};
