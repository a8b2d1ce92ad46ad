/**
 * The verbs of memory, served in the worker: regions and windows. Finds both by their index, the upper 24 bits of their
 * keys, and keeps the application's view of key states up to date (`key-cells.ts`).
 */
import { Access, MemoryRegion, MemoryWindow, ProtectionDomain } from '../../../transport/memory.ts';
import type { Device } from '../../device/device.ts';
import type { Mw } from '../../device/verbs/index.ts';
import { Word } from './control.ts';
import { KeyCells, type KeyState } from './key-cells.ts';
import type { ServedObjects } from './served.ts';
import type { KeyVerbs } from './verbs.ts';
import type { WireKey } from './wire-values.ts';

/** A region or window whose key work requests may change, and the state published last. */
interface TrackedKey {
  readonly cells: KeyCells;
  readonly now: () => KeyState;
  told: KeyState;
}

export class KeyServer {
  readonly #device: Device;
  readonly #served: ServedObjects;
  readonly #words: Int32Array;
  /** By index. */
  readonly #regions = new Map<number, MemoryRegion>();
  readonly #windows = new Map<number, Mw>();
  readonly #watched = new Map<number, TrackedKey>();

  /** The handlers. */
  readonly verbs: KeyVerbs = {
    regMr: (pd, { buffer, offset, length }, options) =>
      this.#added(this.#served.pds.found(pd).regMr(new Uint8Array(buffer, offset, length), options)),
    allocMr: (pd, maxBytes) => this.#added(this.#served.pds.found(pd).allocMr(maxBytes)),
    deregMr: (key) => {
      this.#device.deregMr(this.region(key));
      this.#regions.delete(key >>> 8);
      this.#watched.delete(key >>> 8);
    },
    allocMw: (pd, type) => {
      const mw = this.#served.pds.found(pd).allocMw(type);
      this.#windows.set(mw.rkey >>> 8, mw);
      const cells = this.#watch(mw.rkey, () => windowState(mw));
      return { key: mw.rkey, iova: 0n, cells };
    },
    deallocMw: (key) => {
      this.#windows.get(key >>> 8)?.dealloc();
      // Before it is forgotten: the region that lent it memory has one window less.
      this.refresh([key]);
      this.#windows.delete(key >>> 8);
      this.#watched.delete(key >>> 8);
    },
  };

  constructor(device: Device, served: ServedObjects, words: Int32Array) {
    this.#device = device;
    this.#served = served;
    this.#words = words;
  }

  // For the other servers.

  /** The region of a key, or an invalid one: a region may be deregistered before work that names it is posted. */
  region(key: number): MemoryRegion {
    return this.#regions.get(key >>> 8) ?? DEAD_REGION;
  }

  /** The same for a fast registration, which first checks the size of the region. */
  fastRegion(key: number, newKey: number, maxBytes: number): MemoryRegion {
    return this.#regions.get(key >>> 8) ?? new MemoryRegion(NO_DOMAIN, NOTHING, newKey, CLOSED, maxBytes);
  }

  /** The window of a key, or one that cannot be bound. */
  window(key: number): MemoryWindow {
    return this.#windows.get(key >>> 8) ?? new MemoryWindow(NO_DOMAIN, 0);
  }

  /**
   * Publishes the state of these keys. Called before the completion of the work that may have changed it is published.
   */
  refresh(keys: readonly number[]): void {
    let changed = false;
    for (const key of keys) if (this.#tell(key)) changed = true;
    if (changed) Atomics.add(this.#words, Word.KeyEpoch, 1);
  }

  /** The same for every key, after changes that name no key. */
  refreshAll(): void {
    this.refresh([...this.#watched.values()].map(({ told }) => told.key));
  }

  #tell(key: number): boolean {
    const watched = this.#watched.get(key >>> 8);
    if (watched === undefined) return false;
    const now = watched.now();
    const { told } = watched;
    if (isSame(now, told)) return false;
    watched.told = now;
    watched.cells.write(now);
    // The regions of the old and the new binding have a window less or more.
    for (const lender of [told.lender, now.lender]) if (lender !== 0) this.#tell(lender);
    return true;
  }

  #added(mr: MemoryRegion): WireKey {
    this.#regions.set(mr.rkey >>> 8, mr);
    const { rkey: key, iova } = mr;
    const changes = mr.fast || mr.remoteInvalidate || (mr.access & Access.MwBind) !== 0;
    return changes ? { key, iova, cells: this.#watch(key, () => regionState(mr)) } : { key, iova };
  }

  #watch(key: number, now: () => KeyState): SharedArrayBuffer {
    const cells = new KeyCells();
    const told = now();
    cells.write(told);
    this.#watched.set(key >>> 8, { cells, now, told });
    return cells.memory;
  }
}

function regionState({ grant, windows }: MemoryRegion): KeyState {
  const { key, valid, access, bytes, length, iova, qpn } = grant;
  return { key, valid, access, offset: bytes.byteOffset, length, iova, qpn, windows, lender: 0 };
}

function windowState({ rkey, grant, region }: MemoryWindow): KeyState {
  if (grant === undefined || region === undefined) return { ...UNBOUND, key: rkey };
  const { access, bytes, length, iova, qpn } = grant;
  const lender = region.rkey;
  return { key: rkey, valid: true, access, offset: bytes.byteOffset, length, iova, qpn, windows: 0, lender };
}

function isSame(a: KeyState, b: KeyState): boolean {
  if (a.key !== b.key || a.valid !== b.valid || a.access !== b.access || a.offset !== b.offset) return false;
  return (
    a.length === b.length && a.iova === b.iova && a.qpn === b.qpn && a.windows === b.windows && a.lender === b.lender
  );
}

const UNBOUND = { valid: false, access: 0, offset: 0, length: 0, iova: 0n, qpn: 0, windows: 0, lender: 0 };
const CLOSED = { access: 0, iova: 0n };
const NOTHING = new Uint8Array(0);
const NO_DOMAIN = new ProtectionDomain(0);
const DEAD_REGION = new MemoryRegion(NO_DOMAIN, NOTHING, 0, CLOSED);
DEAD_REGION.grant.valid = false;
