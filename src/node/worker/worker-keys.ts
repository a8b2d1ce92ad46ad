/**
 * Regions and windows of a device in a worker, on the application's side. Owns both tables, by the index in the upper
 * 24 bits of a key, and follows the worker's key states (`key-cells.ts`). Gives the keys that work requests carry to
 * the worker.
 */
import { RoceError } from '../../../packets/errors.ts';
import type { AddressHandle } from '../../../transport/address-handle.ts';
import { Grant } from '../../../transport/grant.ts';
import { Access, MemoryRegion, MemoryWindow, type WindowType } from '../../../transport/memory.ts';
import type { FastReg, Sge } from '../../../transport/work.ts';
import type { RdmaMw } from '../../device/api.ts';
import type { RegMrOptions } from '../../device/verbs/index.ts';
import { Word } from './control.ts';
import { KeyCells, type KeyState } from './key-cells.ts';
import type { PostNames } from './post-ring.ts';
import type { ObjectHandle, SharedMemory, WireKey, WireSge } from './wire-values.ts';
import { WorkerAh } from './worker-ah.ts';
import type { WorkerDomain, WorkerStack } from './worker-stack.ts';

/** The worker's state of a key, and the version applied last. */
interface KeyView {
  readonly cells: KeyCells;
  seen: number;
}

/** A fast registration that was posted and is not done yet. */
interface PendingRegistration {
  readonly mr: MemoryRegion;
  readonly qp: ObjectHandle;
  readonly key: number;
  readonly bytes: Uint8Array;
}

export class WorkerMw extends MemoryWindow implements RdmaMw {
  readonly #keys: WorkerKeys;

  constructor(keys: WorkerKeys, pd: WorkerDomain, rkey: number, type: WindowType) {
    super(pd.core, rkey, type);
    this.#keys = keys;
  }

  dealloc(): void {
    this.#keys.deallocMw(this);
  }
}

export class WorkerKeys implements PostNames {
  readonly #stack: WorkerStack;
  readonly #words: Int32Array;
  readonly #regions = new Map<number, MemoryRegion>();
  readonly #windows = new Map<number, WorkerMw>();
  readonly #followed = new Map<number, KeyView>();
  #posted: PendingRegistration[] = [];
  #epoch = 0;

  constructor(stack: WorkerStack, words: Int32Array) {
    this.#stack = stack;
    this.#words = words;
  }

  regMr(pd: WorkerDomain, memory: Uint8Array | number, options: RegMrOptions): MemoryRegion {
    this.#stack.demandOpen();
    if (options.persistent !== undefined)
      throw new RoceError('ERR_ROCE_UNSUPPORTED', 'a device in a worker cannot call the application');
    const shared = sharedMemory(memory);
    const wired = this.#stack.channel.call('regMr', pd.handle, shared, options);
    const bytes = typeof memory === 'number' ? new Uint8Array(shared.buffer) : memory;
    const { access = Access.LocalWrite, remoteInvalidate = false } = options;
    return this.#added(wired, new MemoryRegion(pd.core, bytes, wired.key, { ...wired, access, remoteInvalidate }));
  }

  allocMr(pd: WorkerDomain, maxBytes: number): MemoryRegion {
    this.#stack.demandOpen();
    const wired = this.#stack.channel.call('allocMr', pd.handle, maxBytes);
    const terms = { access: 0, iova: 0n, remoteInvalidate: true };
    const region = new MemoryRegion(pd.core, NOTHING, wired.key, terms, maxBytes);
    region.grant.valid = false;
    return this.#added(wired, region);
  }

  /** When it returns, the memory is not written any more. */
  deregMr(region: MemoryRegion): void {
    const index = region.rkey >>> 8;
    if (this.#regions.get(index) !== region) throw new RoceError('ERR_ROCE_STATE', 'the region is not registered');
    this.#stack.free('deregMr', region.rkey);
    this.#regions.delete(index);
    this.#followed.delete(index);
    this.#posted = this.#posted.filter(({ mr }) => mr !== region);
    region.grant.valid = false;
    region.pd.users -= 1;
  }

  allocMw(pd: WorkerDomain, type: WindowType): WorkerMw {
    this.#stack.demandOpen();
    const { key, cells } = this.#stack.channel.call('allocMw', pd.handle, type);
    const mw = new WorkerMw(this, pd, key, type);
    this.#windows.set(key >>> 8, mw);
    this.#followCells(key, cells);
    pd.core.users += 1;
    return mw;
  }

  /** For `WorkerMw.dealloc`. */
  deallocMw(mw: WorkerMw): void {
    const index = mw.rkey >>> 8;
    if (this.#windows.get(index) !== mw) throw new RoceError('ERR_ROCE_STATE', 'the memory window is freed');
    this.#stack.free('deallocMw', mw.rkey);
    this.#windows.delete(index);
    this.#followed.delete(index);
    this.#unbind(mw);
    mw.pd.users -= 1;
    this.look();
  }

  /** The key of a region in messages, 0 when it is not valid on this device any more. */
  keyOf(mr: MemoryRegion): number {
    return this.#regions.get(mr.rkey >>> 8) === mr ? mr.rkey : 0;
  }

  ahOf(ah: AddressHandle): ObjectHandle {
    return ah instanceof WorkerAh && ah.pd.device === this.#stack.device ? ah.handle : 0;
  }

  /** A list of memory as it crosses in a message. */
  wiredSges(sges: readonly Sge[]): WireSge[] {
    return sges.map(({ mr, offset = 0, length = Math.max(0, mr.length - offset) }) => {
      return { key: this.keyOf(mr), offset, length };
    });
  }

  /** The key of a window, 0 when it is not valid on this device any more. */
  windowKeyOf(mw: MemoryWindow): number {
    return this.#windows.get(mw.rkey >>> 8) === mw ? mw.rkey : 0;
  }

  /** A fast registration was posted: the worker reports when it is done, but its memory is known only here. */
  noteMemory(qp: ObjectHandle, { mr, memory = mr.bytes, length, key }: FastReg): void {
    this.#posted.push({ mr, qp, key, bytes: memory.subarray(0, length) });
    this.look();
  }

  /** Applies changes of key states since the last call. */
  look(): void {
    const epoch = Atomics.load(this.#words, Word.KeyEpoch);
    if (epoch === this.#epoch) return;
    this.#epoch = epoch;
    const bound: [WorkerMw, KeyState][] = [];
    for (const [index, followed] of this.#followed) {
      const { count } = followed.cells;
      if (count === followed.seen) continue;
      followed.seen = count;
      const state = followed.cells.read();
      const region = this.#regions.get(index);
      const window = this.#windows.get(index);
      if (region !== undefined) this.#follow(region, state);
      if (window !== undefined) bound.push([window, state]);
    }
    // After the regions that lend them memory.
    for (const [mw, state] of bound) this.#followWindow(mw, state);
  }

  #followCells(key: number, memory: SharedArrayBuffer | undefined): void {
    if (memory === undefined) return;
    const cells = new KeyCells(memory);
    this.#followed.set(key >>> 8, { cells, seen: cells.count });
  }

  #added(wired: WireKey, region: MemoryRegion): MemoryRegion {
    const index = wired.key >>> 8;
    this.#regions.set(index, region);
    this.#followCells(wired.key, wired.cells);
    region.pd.users += 1;
    return region;
  }

  #follow(region: MemoryRegion, state: KeyState): void {
    region.windows = state.windows;
    const { grant } = region;
    if (isOf(grant, state) && grant.bytes.byteOffset === state.offset) {
      if (grant.valid === state.valid) return;
      if (grant.valid) {
        grant.valid = false;
        return;
      }
    }
    const bytes = this.#memoryOf(region, state) ?? grant.bytes.subarray(0, state.length);
    grant.valid = false;
    region.grant = new Grant(region.pd, bytes, state);
    region.grant.valid = state.valid;
  }

  /**
   * The memory of the fast registration that has been done. Earlier ones of the same queue pair failed or were
   * replaced.
   */
  #memoryOf(region: MemoryRegion, { key, length }: KeyState): Uint8Array | undefined {
    const posted = this.#posted.find((one) => one.mr === region && one.key === key && one.bytes.length === length);
    if (posted === undefined) return undefined;
    const at = this.#posted.indexOf(posted);
    this.#posted = this.#posted.filter((one, i) => i > at || one.mr !== region || one.qp !== posted.qp);
    return posted.bytes;
  }

  #followWindow(mw: WorkerMw, state: KeyState): void {
    mw.rkey = state.key;
    const region = this.#regions.get(state.lender >>> 8);
    if (!state.valid || region === undefined) {
      this.#unbind(mw);
      return;
    }
    if (mw.grant !== undefined && mw.region === region && isOf(mw.grant, state)) return;
    this.#unbind(mw);
    mw.region = region;
    mw.grant = region.grant.part(state.offset - region.bytes.byteOffset, state.length, state);
  }

  #unbind(mw: WorkerMw): void {
    if (mw.grant !== undefined) mw.grant.valid = false;
    mw.grant = undefined;
    mw.region = undefined;
  }
}

/**
 * Memory shared by both threads: fresh, or the caller's. @throws RoceError ERR_ROCE_ARGUMENT for memory of one thread
 */
export function sharedMemory(memory: Uint8Array | number): SharedMemory {
  if (typeof memory === 'number') return { buffer: new SharedArrayBuffer(memory), offset: 0, length: memory };
  const { buffer, byteOffset, byteLength } = memory;
  if (buffer instanceof SharedArrayBuffer) return { buffer, offset: byteOffset, length: byteLength };
  throw new RoceError(
    'ERR_ROCE_ARGUMENT',
    'this memory belongs to the thread of the application, and the stack runs in a worker that cannot reach it: ' +
      'register a number of bytes, or a Uint8Array over a SharedArrayBuffer',
  );
}

function isOf(grant: Grant, { key, access, length, iova, qpn }: KeyState): boolean {
  const { key: itsKey, access: itsAccess } = grant;
  return itsKey === key && itsAccess === access && grant.length === length && grant.iova === iova && grant.qpn === qpn;
}

const NOTHING = new Uint8Array(0);
