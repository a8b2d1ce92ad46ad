/**
 * What one open file of uverbs holds: its objects, the keys and numbers by which work requests name them, its event
 * channels. Owns the end of all of it. What commands do is in commands/.
 */
import type { AddressHandle } from '../../transport/address-handle.ts';
import type { MemoryRegion, MemoryWindow, ProtectionDomain } from '../../transport/memory.ts';
import { WcOpcode, type WorkCompletion } from '../../transport/work.ts';
import type { Device } from '../device/device.ts';
import { Ah } from '../device/verbs/index.ts';
import { RXE_AV, RXE_GLOBAL_ROUTE } from './abi/rxe.ts';
import { ASYNC_EVENT_DESC, COMP_EVENT_DESC } from './abi/verbs.ts';
import { type DeviceFacts, MOST_OBJECTS } from './device-facts.ts';
import { Errno, Refusal } from './errno.ts';
import { type Fields, response } from './fields.ts';
import { type AhObject, type CqObject, type Eventful, Handles, type QpObject } from './handles.ts';
import type { SharedRing, UverbsFileHost } from './host.ts';
import type { RingSize } from './ring.ts';
import type { RingCq, RingCqWatcher, WorkFacts } from './ring-cq.ts';
import type { WorkObjects } from './work-requests.ts';

/** Values of enum ib_event_type, by the names that our objects give their events. */
const EVENT_TYPES: Readonly<Record<string, number>> = {
  'cq-err': 0,
  'qp-fatal': 1,
  'qp-req-err': 2,
  'qp-access-err': 3,
  'comm-est': 4,
  'sq-drained': 5,
  'path-mig': 6,
  'srq-err': 14,
  'srq-limit-reached': 15,
  'last-wqe-reached': 16,
};

export class Context implements WorkObjects, RingCqWatcher {
  readonly device: Device;
  readonly facts: DeviceFacts;
  readonly host: UverbsFileHost;
  readonly handles = new Handles();
  readonly channels = new Set<number>();
  /** The channel of asynchronous events; -1 before GET_CONTEXT. */
  asyncChannel = -1;
  closed = false;
  /** Commands that wait. */
  waiting = 0;
  readonly #regions = new Map<number, MemoryRegion>();
  readonly #windows = new Map<number, MemoryWindow>();
  readonly #qps = new Map<number, QpObject>();
  readonly #cqs = new Map<RingCq, CqObject>();
  readonly #ahs = new Map<number, AhObject>();
  #nextAh = 1;

  constructor(device: Device, facts: DeviceFacts, host: UverbsFileHost) {
    this.device = device;
    this.facts = facts;
    this.host = host;
  }

  /** Memory for a ring. Refuses with ENOMEM. */
  allocate(size: RingSize): SharedRing {
    const shared = this.host.allocate(size.bytes);
    if (shared === undefined) throw new Refusal(Errno.ENOMEM);
    return shared;
  }

  /** Memory for a ring, freed again where `use` refuses. */
  allocateFor<T>(size: RingSize, use: (shared: SharedRing) => T): T {
    const shared = this.allocate(size);
    try {
      return use(shared);
    } catch (error) {
      this.host.free(shared);
      throw error;
    }
  }

  /**
   * Refuses with ENOMEM a client that has too many commands waiting or, where one more makes something, has made too
   * much: each that waits may make something, too.
   */
  demandRoom(makes: boolean): void {
    const made = makes ? this.handles.size + this.channels.size : 0;
    if (made + this.waiting >= MOST_OBJECTS) throw new Refusal(Errno.ENOMEM);
  }

  /** A channel of completions of this file; refuses with EBADF (linux:core/rdma_core.c#lookup_get_fd_uobject). */
  demandChannel(channel: number): void {
    if (channel === this.asyncChannel || !this.channels.has(channel)) throw new Refusal(Errno.EBADF);
  }

  // What work requests name.

  region(lkey: number): MemoryRegion | undefined {
    const region = this.#regions.get(lkey >>> 8);
    return region?.lkey === lkey ? region : undefined;
  }

  window(index: number): MemoryWindow | undefined {
    return this.#windows.get(index);
  }

  handle(ahNumber: number, wqe: Fields, av: number, domain: ProtectionDomain): AddressHandle | undefined {
    if (ahNumber !== 0) return this.#ahs.get(ahNumber)?.ah;
    const route = routeOf(wqe.within(av + RXE_AV.at.grh, RXE_GLOBAL_ROUTE.size));
    for (const { ah, route: other } of this.#ahs.values()) if (ah.domain === domain && other === route) return ah;
    return undefined;
  }

  used(ah: AddressHandle): void {
    if (ah instanceof Ah) this.device.used(ah);
  }

  addRegion(region: MemoryRegion): void {
    this.#regions.set(region.lkey >>> 8, region);
  }

  removeRegion(region: MemoryRegion): void {
    this.#regions.delete(region.lkey >>> 8);
  }

  addWindow(window: MemoryWindow): void {
    this.#windows.set(window.rkey >>> 8, window);
  }

  removeWindow(window: MemoryWindow): void {
    this.#windows.delete(window.rkey >>> 8);
  }

  addHandle(make: (number: number) => AhObject): AhObject {
    const object = make(this.#nextAh++);
    this.#ahs.set(object.number, object);
    return object;
  }

  removeHandle(object: AhObject): void {
    this.#ahs.delete(object.number);
  }

  addQp(object: QpObject): void {
    this.#qps.set(object.qp.qpn, object);
    void this.#forward(object.qp.events, object);
  }

  addCq(object: CqObject): void {
    this.#cqs.set(object.cq, object);
    void this.#forward(object.cq.events, object);
  }

  /** Sends an object's events until it is gone. */
  forwardEvents(events: AsyncIterable<string>, object: Eventful): void {
    void this.#forward(events, object);
  }

  // What completion queues tell.

  completing(wc: WorkCompletion, facts: WorkFacts): void {
    const object = this.#qps.get(wc.qpn);
    if (object === undefined) return;
    if (wc.opcode < WcOpcode.Recv) object.sends.completing(wc.wrId, facts);
    else {
      const [high, low] = object.ids.take(wc.wrId);
      facts.wrIdHigh = high;
      facts.wrIdLow = low;
    }
  }

  completed(): void {
    this.host.completed();
  }

  notify(cq: RingCq): void {
    const object = this.#cqs.get(cq);
    if (object === undefined || !this.channels.has(object.channel)) return;
    const event = response(COMP_EVENT_DESC);
    event.put64(COMP_EVENT_DESC.at.cq_handle, object.userHandle);
    // One that is lost is never read: who destroys the queue must not wait for that.
    if (this.host.event(object.channel, event.bytes, object)) object.completionEvents += 1;
  }

  // The end.

  /** Completion events of a queue that the client has read; it gets no more of them. */
  completionEventsRead(object: CqObject): number {
    const { channel, completionEvents } = object;
    return this.channels.has(channel) ? completionEvents - this.host.cancelEvents(channel, object) : completionEvents;
  }

  /** Asynchronous events of an object that the client has read; it gets no more of them. */
  asyncEventsRead(object: Eventful): number {
    object.ended = true;
    return object.asyncEvents === 0 ? 0 : object.asyncEvents - this.host.cancelEvents(this.asyncChannel, object);
  }

  /** The client has closed a channel of completion events; its queues may be there still. */
  closeChannel(channel: number): void {
    if (channel === this.asyncChannel || !this.channels.has(channel)) return;
    for (const object of this.#cqs.values())
      if (object.channel === channel) object.completionEvents = this.completionEventsRead(object);
    this.channels.delete(channel);
    this.host.closeChannel(channel);
  }

  destroyQp(object: QpObject): void {
    object.qp.destroy();
    this.#qps.delete(object.qp.qpn);
    this.host.free(object.sends.shared);
    if (object.receives !== undefined) this.host.free(object.receives.shared);
  }

  destroyCq(object: CqObject): void {
    this.device.destroyCq(object.cq);
    object.cq.disarm();
    this.#cqs.delete(object.cq);
    this.host.free(object.cq.ring.shared);
  }

  /** Frees everything, what uses something first. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    const { handles } = this;
    for (const [, object] of handles.all('qp')) this.destroyQp(object);
    for (const [, { ah }] of handles.all('ah')) ah.destroy();
    for (const [, { mw }] of handles.all('mw')) mw.dealloc();
    for (const [, { region, pd }] of handles.all('mr')) pd.deregMr(region);
    for (const [, { srq, receives }] of handles.all('srq')) {
      srq.destroy();
      this.host.free(receives.shared);
    }
    for (const [, object] of handles.all('cq')) this.destroyCq(object);
    for (const [, { pd }] of handles.all('pd')) pd.dealloc();
    for (const channel of this.channels) this.host.closeChannel(channel);
    this.channels.clear();
  }

  async #forward(events: AsyncIterable<string>, object: Eventful): Promise<void> {
    for await (const name of events) {
      // One may have come in the same turn as the command that destroys it.
      if (this.closed || object.ended) return;
      const event = response(ASYNC_EVENT_DESC);
      event.put64(ASYNC_EVENT_DESC.at.element, object.userHandle);
      event.put32(ASYNC_EVENT_DESC.at.event_type, EVENT_TYPES[name] ?? 0);
      if (this.host.event(this.asyncChannel, event.bytes, object)) object.asyncEvents += 1;
    }
  }
}

/** A struct rxe_global_route as text: what tells one address vector from another. */
export function routeOf(route: Fields): string {
  return route.bytes.slice(0, RXE_GLOBAL_ROUTE.at.traffic_class + 1).join('.');
}
