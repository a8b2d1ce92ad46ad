/**
 * A device whose stack runs in a worker, on the application's side: the verbs of the device itself, and the worker's
 * events. Its objects are kept by `worker-objects.ts` and `worker-keys.ts`.
 */
import { type IpAddress, IpPrefix, type MacAddress } from '../../../packets/address.ts';
import type { Medium } from '../../../packets/frame.ts';
import type { PortCounters } from '../../../transport/counters.ts';
import type { DeviceEvent, RdmaCq, RdmaDevice } from '../../device/api.ts';
import type { DeviceCounters } from '../../device/counters.ts';
import type { DeviceLimits, PathTraits, VlanOptions } from '../../device/options.ts';
import { MAX_UNREAD } from '../../device/suspicions.ts';
import { AsyncQueue } from '../../ground/async-queue.ts';
import type { Channel, WorkerNotification } from './channel.ts';
import type { SharedControl } from './control.ts';
import type { DeviceFacts } from './wire.ts';
import { fromWire } from './wire-error.ts';
import { revive, type WireDeviceEvent } from './wire-values.ts';
import { WorkerCm } from './worker-cm.ts';
import type { WorkerCq } from './worker-cq.ts';
import { WorkerKeys } from './worker-keys.ts';
import { WorkerObjects } from './worker-objects.ts';
import type { WorkerPd } from './worker-pd.ts';
import type { WorkerXrcd } from './worker-srq.ts';
import { WorkerStack } from './worker-stack.ts';

export class WorkerDevice implements RdmaDevice {
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
  readonly stack: WorkerStack;
  readonly objects: WorkerObjects;
  readonly keys: WorkerKeys;

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
    this.stack = new WorkerStack(this, channel, control);
    this.keys = new WorkerKeys(this.stack, new Int32Array(control.words));
    this.objects = new WorkerObjects(this.stack, this.keys);
    this.cm = new WorkerCm(this.stack);
  }

  get qpCount(): number {
    return this.stack.snapshot().qps;
  }

  get counters(): Readonly<DeviceCounters> {
    return this.stack.snapshot().device;
  }

  get portCounters(): Readonly<PortCounters> {
    return this.stack.snapshot().port;
  }

  allocPd(): WorkerPd {
    this.stack.demandOpen();
    return this.objects.allocPd();
  }

  createCq(capacity: number): WorkerCq {
    this.stack.demandOpen();
    return this.objects.createCq(capacity);
  }

  destroyCq(cq: RdmaCq): void {
    this.objects.destroyCq(cq);
  }

  openXrcd(): WorkerXrcd {
    this.stack.demandOpen();
    return this.objects.openXrcd();
  }

  resolve(address: IpAddress): Promise<void> {
    return this.stack.resolve(address);
  }

  /** Handles the worker's events of the device. */
  told(event: WorkerNotification): void {
    const { cqs, qps, srqs } = this.objects;
    switch (event.kind) {
      case 'completions':
        cqs.get(event.cq)?.settle();
        return;
      case 'device-event':
        this.#takeEvent(event.event);
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
        this.stack.keepCounters(event.counters);
        if (event.error === undefined) this.end();
        else this.fail();
        return;
      default:
    }
  }

  /** An application that takes no events has no more of them than of a device in its own thread. */
  #takeEvent(event: WireDeviceEvent): void {
    if (this.events.length >= MAX_UNREAD) return;
    if (event.kind === 'internal-error') this.events.push({ ...event, error: fromWire(event.error) });
    else {
      const { address, ...rest } = event;
      this.events.push({ ...rest, ...(address === undefined ? {} : { address: revive(address) }) });
    }
  }

  /** The link has failed, or the worker has died: says so as events, and ends. */
  fail(): void {
    this.events.push('port-err');
    this.events.push('device-fatal');
    this.end();
  }

  /** Settles every pending promise, as closing a local device does; no object can be made afterwards. */
  end(): void {
    if (this.stack.ended) return;
    this.stack.end();
    this.events.close();
    this.cm.close();
    this.objects.end();
  }
}
