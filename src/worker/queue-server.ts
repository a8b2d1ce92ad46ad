/**
 * The verbs of memory and queues, served in the worker. Owns the tables in which the application's handles find domains,
 * completion queues, regions and queue pairs. What a handle does not find was freed together with the device: ERR_ROCE_CLOSED.
 */
import { invariant, RoceError } from '../../packets/errors.ts';
import { MemoryRegion, ProtectionDomain } from '../../transport/memory.ts';
import type { RecvWr, SendWr, Sge } from '../../transport/work.ts';
import type { Device } from '../device.ts';
import { qpCapabilities } from '../device-options.ts';
import type { AddressVector, ModifyAttributes, Pd, RegMrOptions } from '../verbs/index.ts';
import type { Outbox } from './outbox.ts';
import type { PostSink } from './post-ring.ts';
import { ServedQp } from './served-qp.ts';
import { SharedCq } from './shared-cq.ts';
import {
  type Handle,
  revive,
  type SharedMemory,
  type WireCounters,
  type WireQp,
  type WireQpInit,
  type WireRecvWr,
  type WireSendWr,
  type WireSge,
} from './wire.ts';

export class QueueServer implements PostSink {
  /** Called when the application is told of completions: who is told posts the next request. */
  expectPosts: () => void = () => {};
  readonly #device: Device;
  readonly #outbox: Outbox;
  readonly #pds = new Map<Handle, Pd>();
  readonly #cqs = new Map<Handle, SharedCq>();
  readonly #regions = new Map<number, MemoryRegion>();
  readonly #qps = new Map<Handle, ServedQp>();
  #handles = 0;

  constructor(device: Device, outbox: Outbox) {
    this.#device = device;
    this.#outbox = outbox;
  }

  allocPd(): Handle {
    const pd = this.#device.allocPd();
    this.#pds.set(++this.#handles, pd);
    return this.#handles;
  }

  createCq(capacity: number): { cq: Handle; ring: SharedArrayBuffer } {
    const handle = ++this.#handles;
    const watcher = {
      completed: (qpn: number) => this.#qps.get(qpn)?.refresh(),
      wanted: () => {
        this.#outbox.post({ kind: 'completions', cq: handle });
        this.expectPosts();
      },
    };
    const cq = this.#device.createCq(capacity, (room, notified, most) => new SharedCq(room, notified, most, watcher));
    invariant(cq instanceof SharedCq, 'the device makes the completion queue it is told to make');
    this.#cqs.set(handle, cq);
    void this.#tellCqEvents(handle, cq);
    return { cq: handle, ring: cq.memory };
  }

  destroyCq(handle: Handle): void {
    this.#device.destroyCq(found(this.#cqs.get(handle)));
    this.#cqs.delete(handle);
  }

  regMr(handle: Handle, { buffer, offset, length }: SharedMemory, options: RegMrOptions) {
    const mr = found(this.#pds.get(handle)).regMr(new Uint8Array(buffer, offset, length), options);
    this.#regions.set(mr.rkey, mr);
    return { key: mr.rkey, iova: mr.iova };
  }

  deregMr(key: number): void {
    this.#device.deregMr(this.region(key));
    this.#regions.delete(key);
  }

  createQp(handle: Handle, init: WireQpInit): WireQp {
    const sendCq = found(this.#cqs.get(init.sendCq));
    const recvCq = found(this.#cqs.get(init.recvCq));
    const qp = found(this.#pds.get(handle)).createQp({ ...init, sendCq, recvCq });
    const served = new ServedQp(qp);
    // A queue pair is named by its number: no other has it while this one lives.
    this.#qps.set(qp.qpn, served);
    void this.#tellEvents(served);
    const capabilities = qpCapabilities(init, this.#device.limits);
    return { qp: qp.qpn, qpn: qp.qpn, capabilities, status: served.memory };
  }

  modifyQp(handle: Handle, attributes: ModifyAttributes): void {
    const { av } = attributes;
    this.qp(handle).qp.modifyNow(av === undefined ? attributes : { ...attributes, av: revivedVector(av) });
  }

  postSend(handle: Handle, wr: WireSendWr): void {
    const { sges, ...rest } = wr;
    const served = this.qp(handle);
    served.postSend(sges === undefined ? rest : { ...rest, sges: this.#revivedSges(sges) });
    served.refresh();
  }

  postRecv(handle: Handle, { wrId, sges }: WireRecvWr): void {
    const served = this.qp(handle);
    served.postRecv(sges === undefined ? { wrId } : { wrId, sges: this.#revivedSges(sges) });
    served.refresh();
  }

  destroyQp(handle: Handle): void {
    const served = this.#qps.get(handle);
    served?.qp.destroy();
    this.#qps.delete(handle);
  }

  counters(): WireCounters {
    const { counters, portCounters, cm, qpCount } = this.#device;
    return {
      device: { ...counters },
      port: { ...portCounters },
      cm: { ...cm.counters() },
      connections: cm.size,
      qps: qpCount,
    };
  }

  // The ring of posts. The application has checked what it puts there.

  send(handle: Handle, wr: SendWr): void {
    const served = this.#qps.get(handle);
    // The device may have been closed by its wire meanwhile: as if the wire had gone a moment after the post.
    if (served === undefined || served.qp.destroyed) return;
    served.postSend(wr);
  }

  recv(handle: Handle, wr: RecvWr): void {
    const served = this.#qps.get(handle);
    if (served === undefined || served.qp.destroyed) return;
    served.postRecv(wr);
  }

  /** The region of a key, or one that opens nothing: a region may be gone before work that names it is posted. */
  region(key: number): MemoryRegion {
    return this.#regions.get(key) ?? DEAD_REGION;
  }

  /** For the connection server. @throws RoceError ERR_ROCE_CLOSED */
  qp(handle: Handle): ServedQp {
    return found(this.#qps.get(handle));
  }

  #revivedSges(sges: readonly WireSge[]): Sge[] {
    return sges.map(({ key, offset, length }) => ({ mr: this.region(key), offset, length }));
  }

  async #tellCqEvents(handle: Handle, cq: SharedCq): Promise<void> {
    for await (const event of cq.events) this.#outbox.post({ kind: 'cq-event', cq: handle, event });
  }

  async #tellEvents(served: ServedQp): Promise<void> {
    for await (const event of served.qp.events) {
      served.refresh();
      this.#outbox.post({ kind: 'qp-event', qp: served.qp.qpn, event });
    }
  }
}

function found<T>(object: T | undefined): T {
  if (object === undefined) throw new RoceError('ERR_ROCE_CLOSED', 'the object was freed');
  return object;
}

function revivedVector(av: AddressVector): AddressVector {
  const { source } = av;
  return { ...av, destination: revive(av.destination), ...(source === undefined ? {} : { source: revive(source) }) };
}

const DEAD_REGION = new MemoryRegion(new ProtectionDomain(0), new Uint8Array(0), 0, { access: 0, iova: 0n });
DEAD_REGION.grant.valid = false;
