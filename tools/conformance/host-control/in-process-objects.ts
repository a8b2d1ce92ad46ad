/**
 * The objects that host control of our own have made, by the caller's names: tables, the order in which all of them can
 * be destroyed, and what calls of every kind need: names of rights as bits, and finding an object or refusing.
 */

import { type Ah, Cq, type Device, type Mw, type Pd, type Qp, type Srq, type Xrcd } from 'rocev2';
import { Access, type MemoryRegion } from 'rocev2/transport';
import { type AccessFlag, type HostCall, type HostCalls, HostControlError, type HostHandle } from './host-control.ts';

/** Who does a call: at once, or in virtual time. */
export type Handlers = {
  readonly [C in HostCall]: (
    args: Readonly<HostCalls[C]['takes']>,
  ) => HostCalls[C]['gives'] | Promise<HostCalls[C]['gives']>;
};

/** A queue pair and the attributes it was made with. */
export interface MadeQp {
  readonly qp: Qp;
  /** MSN of the first message, where it was given. */
  readonly msn: number | undefined;
}

/** Objects of one kind by the caller's names. */
export class HandleTable<T> {
  readonly #kind: string;
  readonly #things = new Map<HostHandle, T>();

  constructor(kind: string) {
    this.#kind = kind;
  }

  /** Everything there is, oldest first. */
  get all(): ReadonlyMap<HostHandle, T> {
    return this.#things;
  }

  /** Makes the object of a name. @throws HostControlError EEXIST, or what `make` throws */
  make(handle: HostHandle, make: () => T): T {
    this.demandFree(handle);
    const thing = make();
    this.#things.set(handle, thing);
    return thing;
  }

  /** @throws HostControlError EEXIST for a name in use, EINVAL for one that is none */
  demandFree(handle: HostHandle): void {
    if (!Number.isSafeInteger(handle) || handle < 1) throw refused('EINVAL', `${handle} names no ${this.#kind}`);
    if (this.#things.has(handle)) throw refused('EEXIST', `there is a ${this.#kind} ${handle} already`);
  }

  /** @throws HostControlError ENOENT when there is none of that name */
  get(handle: HostHandle): T {
    const thing = this.#things.get(handle);
    if (thing === undefined) throw refused('ENOENT', `there is no ${this.#kind} ${handle}`);
    return thing;
  }

  /** Destroys the object of a name; it stays when `destroy` throws. */
  remove(handle: HostHandle, destroy: (thing: T) => void): void {
    destroy(this.get(handle));
    this.#things.delete(handle);
  }

  /** Destroys all. */
  clear(destroy: (thing: T) => void): void {
    for (const thing of this.#things.values()) destroy(thing);
    this.#things.clear();
  }
}

/** A completion queue that counts its events and wakes no waiting caller. */
export class CountingCq extends Cq {
  #events = 0;

  override settle(): void {
    if (this.takeNotifications() !== 0) this.#events += 1;
    super.settle();
  }

  /** Events since the last call. */
  takeEvents(): number {
    const count = this.#events;
    this.#events = 0;
    return count;
  }
}

/** All that was made through one pair of host control. */
export class Objects {
  readonly device: Device;
  readonly pds = new HandleTable<Pd>('protection domain');
  readonly cqs = new HandleTable<CountingCq>('completion queue');
  readonly mrs = new HandleTable<MemoryRegion>('memory region');
  readonly mws = new HandleTable<Mw>('memory window');
  readonly srqs = new HandleTable<Srq>('shared receive queue');
  readonly xrcds = new HandleTable<Xrcd>('XRC domain');
  readonly qps = new HandleTable<MadeQp>('queue pair');
  readonly ahs = new HandleTable<Ah>('address handle');
  /** What else is to be ended first, and how: of the connection manager. */
  readonly endings: (() => void)[] = [];
  #closed = false;

  constructor(device: Device) {
    this.device = device;
  }

  /** What was being made when the host control was closed is not kept. */
  get closed(): boolean {
    return this.#closed;
  }

  close(): void {
    this.#closed = true;
    this.destroyAll();
  }

  /** Who uses before what is used: connections, queue pairs, windows, and last the domains. */
  destroyAll(): void {
    for (const end of this.endings) end();
    this.qps.clear(({ qp }) => qp.destroy());
    this.ahs.clear((ah) => ah.destroy());
    this.srqs.clear((srq) => srq.destroy());
    this.mws.clear((mw) => mw.dealloc());
    this.mrs.clear((mr) => this.device.deregMr(mr));
    this.cqs.clear((cq) => this.device.destroyCq(cq));
    this.pds.clear((pd) => pd.dealloc());
    this.xrcds.clear((xrcd) => xrcd.close());
  }

  /** The XRC domain of a name, which is opened when it is first named. */
  domainOf(xrcd: HostHandle): Xrcd {
    return this.xrcds.all.get(xrcd) ?? this.xrcds.make(xrcd, () => this.device.openXrcd());
  }

  /** The region that a local key opens, if any does. */
  regionOf(lkey: number): MemoryRegion | undefined {
    for (const mr of this.mrs.all.values()) if (mr.lkey === lkey) return mr;
    return undefined;
  }
}

/** Verbs say no. */
export function refused(errno: string, message: string): HostControlError {
  return new HostControlError('refused', errno, message);
}

/** Names of rights as a bit set of `Access`. @throws HostControlError EINVAL */
export function accessBits(flags: readonly AccessFlag[]): number {
  return flags.reduce((bits, flag) => {
    const bit = ACCESS_BITS[flag];
    if (bit === undefined) throw refused('EINVAL', `there is no access flag ${flag}`);
    return bits | bit;
  }, 0);
}

/** A bit set of `Access` as names. */
export function accessFlags(bits: number): AccessFlag[] {
  return (Object.keys(ACCESS_BITS) as AccessFlag[]).filter((flag) => (bits & ACCESS_BITS[flag]) !== 0);
}

/** Only the members that are there: what the caller left out is left out again. */
export function present<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const there = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(there) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** Nothing to tell but that it is done. */
export const DONE = Object.freeze({});

const ACCESS_BITS: Readonly<Record<AccessFlag, number>> = {
  'local-write': Access.LocalWrite,
  'remote-write': Access.RemoteWrite,
  'remote-read': Access.RemoteRead,
  'remote-atomic': Access.RemoteAtomic,
  'mw-bind': Access.MwBind,
  'flush-global': Access.FlushGlobal,
  'flush-persistent': Access.FlushPersistent,
};
