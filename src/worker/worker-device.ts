/**
 * A device whose stack runs in a worker, as the application holds it. Owns what exists here: regions, completion queues and
 * queue pairs, and the count of who uses what, so that everything can still be freed when the worker is no more.
 */
import { type IpAddress, IpPrefix, type MacAddress } from '../../packets/address.ts';
import { RoceError } from '../../packets/errors.ts';
import type { Medium } from '../../packets/frame.ts';
import { PortCounters } from '../../transport/counters.ts';
import { Access, MemoryRegion } from '../../transport/memory.ts';
import type { DeviceEvent, RdmaCq, RdmaDevice, RdmaQpInit, RdmaXrcd } from '../api.ts';
import { AsyncQueue } from '../async-queue.ts';
import { DeviceCounters } from '../device-counters.ts';
import type { DeviceLimits, PathTraits, VlanOptions } from '../device-options.ts';
import type { RegMrOptions } from '../verbs/index.ts';
import { type Channel, closedError, type Told } from './channel.ts';
import type { PostWriter } from './post-ring.ts';
import type { DeviceFacts, Handle, SharedMemory, SyncVerbs, WireCounters } from './wire.ts';
import { WorkerCm } from './worker-cm.ts';
import { unsupported, WorkerCq, WorkerPd, WorkerQp } from './worker-queues.ts';

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
  /** For the objects of this device. */
  readonly channel: Channel;
  readonly posts: PostWriter;
  readonly #regions = new Map<number, MemoryRegion>();
  readonly #cqs = new Map<Handle, WorkerCq>();
  readonly #qps = new Map<Handle, WorkerQp>();
  #counters: WireCounters = NO_COUNTERS;
  #ended = false;

  constructor(channel: Channel, posts: PostWriter, facts: DeviceFacts) {
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
    this.posts = posts;
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
    this.#demandOpen();
    return new WorkerPd(this, this.channel.call('allocPd'));
  }

  createCq(capacity: number): WorkerCq {
    this.#demandOpen();
    const { cq: handle, ring } = this.channel.call('createCq', capacity);
    const cq = new WorkerCq(this, handle, capacity, ring);
    this.#cqs.set(handle, cq);
    return cq;
  }

  destroyCq(cq: RdmaCq): void {
    if (!(cq instanceof WorkerCq && cq.device === this))
      throw new RoceError('ERR_ROCE_ARGUMENT', 'a completion queue is freed by its own device');
    if (cq.users > 0) throw new RoceError('ERR_ROCE_IN_USE', `${cq.users} queue pairs still complete into this queue`);
    if (this.#cqs.delete(cq.handle)) this.#free('destroyCq', cq.handle);
    cq.close();
  }

  openXrcd(): RdmaXrcd {
    throw unsupported('an XRC domain');
  }

  async resolve(address: IpAddress): Promise<void> {
    this.#demandOpen();
    await this.channel.ask('resolve', () => undefined, address);
  }

  /** For `WorkerPd.regMr`. */
  regMr(pd: WorkerPd, memory: Uint8Array | number, options: RegMrOptions): MemoryRegion {
    this.#demandOpen();
    if (options.persistent !== undefined)
      throw new RoceError('ERR_ROCE_UNSUPPORTED', 'a device in a worker cannot call the application');
    const shared = sharedMemory(memory);
    const { key, iova } = this.channel.call('regMr', pd.handle, shared, options);
    const bytes = typeof memory === 'number' ? new Uint8Array(shared.buffer) : memory;
    const { access = Access.LocalWrite, remoteInvalidate = false } = options;
    const region = new MemoryRegion(pd.core, bytes, key, { access, iova, remoteInvalidate });
    this.#regions.set(key, region);
    pd.core.users += 1;
    return region;
  }

  /** For `WorkerPd.deregMr`. When it returns, nobody writes to the memory any more. */
  deregMr(region: MemoryRegion): void {
    if (this.#regions.get(region.rkey) !== region)
      throw new RoceError('ERR_ROCE_STATE', 'the region is not registered');
    this.#free('deregMr', region.rkey);
    this.#regions.delete(region.rkey);
    region.grant.valid = false;
    region.pd.users -= 1;
  }

  /** For `WorkerPd.createQp`. */
  createQp(pd: WorkerPd, init: RdmaQpInit): WorkerQp {
    this.#demandOpen();
    const { sendCq, recvCq, srq, ...capabilities } = init;
    if (srq !== undefined) throw unsupported('a shared receive queue');
    if (!(sendCq instanceof WorkerCq && recvCq instanceof WorkerCq && sendCq.device === this && recvCq.device === this))
      throw new RoceError('ERR_ROCE_ARGUMENT', 'a queue pair completes into queues of its own device');
    const handles = { sendCq: sendCq.handle, recvCq: recvCq.handle };
    const wired = this.channel.call('createQp', pd.handle, { ...capabilities, ...handles });
    const qp = new WorkerQp(pd, wired, sendCq, recvCq);
    this.#qps.set(qp.handle, qp);
    pd.core.users += 1;
    sendCq.users += 1;
    recvCq.users += 1;
    return qp;
  }

  /** For `WorkerQp.destroy`. */
  destroyQp(qp: WorkerQp): void {
    if (!this.#release(qp)) return;
    this.#free('destroyQp', qp.handle);
  }

  /** Bound: the key under which a region travels, 0 when it opens nothing of this device any more. */
  readonly keyOf = (mr: MemoryRegion): number => (this.#regions.get(mr.rkey) === mr ? mr.rkey : 0);

  /** A peer's SEND has killed a key. */
  invalidated(key: number): void {
    const region = this.#regions.get(key);
    if (region !== undefined) region.grant.valid = false;
  }

  /** The worker's counters now, or as they were when it ended. */
  snapshot(): WireCounters {
    if (this.#ended || this.channel.gone) return this.#counters;
    this.#counters = this.channel.call('counters');
    return this.#counters;
  }

  /** Takes what the worker told of the device. */
  told(event: Told): void {
    switch (event.kind) {
      case 'completions':
        this.#cqs.get(event.cq)?.settle();
        return;
      case 'cq-event':
        this.#cqs.get(event.cq)?.events.push(event.event);
        return;
      case 'qp-event':
        this.#qps.get(event.qp)?.events.push(event.event);
        return;
      case 'request':
        this.cm.requested(event.listener, event.request);
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
    for (const cq of this.#cqs.values()) cq.close();
    for (const qp of [...this.#qps.values()]) {
      qp.ended();
      this.#release(qp);
    }
  }

  #release(qp: WorkerQp): boolean {
    if (!this.#qps.delete(qp.handle)) return false;
    qp.pd.core.users -= 1;
    qp.sendCq.users -= 1;
    qp.recvCq.users -= 1;
    return true;
  }

  /** What is freed when the worker is gone is free. */
  #free(verb: 'destroyCq' | 'deregMr' | 'destroyQp', handle: number): ReturnType<SyncVerbs[typeof verb]> {
    if (this.channel.gone) return;
    try {
      this.channel.call(verb, handle);
    } catch (error) {
      if (!(error instanceof RoceError && error.code === 'ERR_ROCE_CLOSED')) throw error;
    }
  }

  #demandOpen(): void {
    if (this.#ended) throw closedError();
  }
}

/** Both threads must see the bytes. */
function sharedMemory(memory: Uint8Array | number): SharedMemory {
  if (typeof memory === 'number') return { buffer: new SharedArrayBuffer(memory), offset: 0, length: memory };
  const { buffer, byteOffset, byteLength } = memory;
  if (buffer instanceof SharedArrayBuffer) return { buffer, offset: byteOffset, length: byteLength };
  throw new RoceError(
    'ERR_ROCE_ARGUMENT',
    'this memory belongs to the thread of the application, and the stack runs in a worker that cannot reach it: ' +
      'register a number of bytes, or a Uint8Array over a SharedArrayBuffer',
  );
}

const NO_COUNTERS: WireCounters = {
  device: new DeviceCounters(),
  port: new PortCounters(),
  cm: {},
  connections: 0,
  qps: 0,
};
