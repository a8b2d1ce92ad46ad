/**
 * All keys of a device: which grant a key opens, and everything that changes that (registration, fast registration,
 * binding of windows, invalidation). A key is a random 24-bit index, which stays with its region or window for life,
 * and an 8-bit variant, which moves on with every registration or is the caller's. One lookup finds what a key opens,
 * whether region or window.
 *
 * Rules: rxe:rxe_mr.c#rxe_invalidate_mr, #rxe_reg_fast_mr, #rxe_dereg_mr; rxe:rxe_mw.c#rxe_check_bind_mw,
 * #rxe_invalidate_mw; ref:conformance#KEY-05 to KEY-20. A bound window may be invalidated through its own queue pair
 * only (KEY-10).
 */
import { invariant, RoceError } from '../packets/errors.ts';
import { Grant, type GrantMemory } from './grant.ts';
import { Access, MemoryRegion, type MemoryWindow, type ProtectionDomain, type RegionOptions } from './memory.ts';
import type { Random } from './random.ts';

/** The terms of a BIND MW. */
export interface BindTerms {
  /** The window; one of type 2 is not bound. */
  readonly mw: MemoryWindow;
  /** The region that lends. */
  readonly mr: MemoryRegion;
  /** First byte, in addresses of the region. */
  readonly addr: bigint;
  /** Bytes; 0 ends a window of type 1. */
  readonly length: number;
  /** Bit set of `Access`. */
  readonly access: number;
  /** The key that the window must have by then. Default: whichever it has. */
  readonly heldKey?: number;
  /** The new key; its low 8 bits count. */
  readonly rkey: number;
}

/** The terms of a REG MR. */
export interface FastTerms {
  /** The region, without memory. */
  readonly mr: MemoryRegion;
  /** The memory it gets. */
  readonly bytes: Uint8Array;
  /** Virtual address of the first byte. */
  readonly iova: bigint;
  /** Bit set of `Access`. */
  readonly access: number;
  /** The new key; its low 8 bits count. */
  readonly key: number;
}

/** A queue pair that invalidates, binds or registers: its number, and its domain. */
export interface KeyUser {
  /** Its number, 24 bits. */
  readonly qpn: number;
  /** Its domain. */
  readonly pd: ProtectionDomain;
}

/** A queue pair whose peer names keys of its device. */
export interface KeyHolder extends KeyUser {
  /** The keys. */
  readonly keys: KeyTable;
}

/**
 * The keys of one device.
 *
 * @example
 * ```ts
 * import { Prng } from 'rocev2/sim';
 * import { Access, KeyTable, ProtectionDomain } from 'rocev2/transport';
 *
 * const keys = new KeyTable(new Prng(1), 16);
 * const pd = new ProtectionDomain(1);
 * const mr = keys.register(pd, new Uint8Array(4096), { access: Access.RemoteRead, iova: 0x1000n });
 * // The right key opens the memory for a READ, and for nothing else; no other domain finds it.
 * console.log(keys.find(mr.rkey, pd, Access.RemoteRead, 0x11)?.length); // 4096
 * console.log(keys.find(mr.rkey, pd, Access.RemoteWrite, 0x11)); // undefined
 * console.log(keys.find(mr.rkey, new ProtectionDomain(2), Access.RemoteRead, 0x11)); // undefined
 * keys.deregister(mr);
 * console.log(keys.find(mr.rkey, pd, Access.RemoteRead, 0x11), keys.size); // undefined 0
 * ```
 */
export class KeyTable {
  /** What keys open, by index. Absent while a window is unbound. */
  readonly #grants = new Map<number, Grant>();
  readonly #regions = new Map<number, MemoryRegion>();
  readonly #windows = new Map<number, MemoryWindow>();
  readonly #random: Random;
  readonly #limit: number;
  #variant: number;

  /** At most `limit` regions and as many windows. */
  constructor(random: Random, limit: number) {
    this.#random = random;
    this.#limit = limit;
    this.#variant = random.u32() & 0xff;
  }

  /** Regions. */
  get size(): number {
    return this.#regions.size;
  }

  /** Windows, bound or not. */
  get windowCount(): number {
    return this.#windows.size;
  }

  /** Keys that have memory: of regions, and of windows that are bound. */
  get grantCount(): number {
    return this.#grants.size;
  }

  /**
   * What a key opens for queue pair `qpn` of `pd` with every right in `access`, or undefined; causes are not
   * distinguished on the wire.
   */
  find(key: number, pd: ProtectionDomain, access: number, qpn: number): Grant | undefined {
    const grant = this.#grants.get(key >>> 8);
    if (grant === undefined || grant.key !== key || !grant.valid || grant.pd !== pd) return undefined;
    if ((grant.access & access) !== access || (grant.qpn !== 0 && grant.qpn !== qpn)) return undefined;
    return grant;
  }

  // Called for the application.

  /**
   * Registers memory (shared, not copied). Throws ERR_ROCE_ARGUMENT for bad access or address, ERR_ROCE_LIMIT when
   * full.
   */
  register(pd: ProtectionDomain, memory: GrantMemory, options: RegionOptions): MemoryRegion {
    checkRegistration(options.access, options.iova, memory.length);
    if ((options.access & Access.FlushPersistent) !== 0 && options.persistent === undefined)
      throw new RoceError('ERR_ROCE_ARGUMENT', 'a region that nothing can make durable has no persistent flush access');
    return this.#add(new MemoryRegion(pd, memory, this.#freshKey(this.#regions.size, 'regions'), options));
  }

  /** A region without memory, for fast registration of at most `maxBytes` (ib_alloc_mr). Throws as `register` does. */
  allocate(pd: ProtectionDomain, maxBytes: number): MemoryRegion {
    if (!Number.isSafeInteger(maxBytes) || maxBytes < 1)
      throw new RoceError('ERR_ROCE_ARGUMENT', 'a region for fast registration has room for at least one byte');
    const key = this.#freshKey(this.#regions.size, 'regions');
    const region = new MemoryRegion(pd, NOTHING, key, { access: 0, iova: 0n, remoteInvalidate: true }, maxBytes);
    region.grant.valid = false;
    return this.#add(region);
  }

  /** Throws ERR_ROCE_STATE when it is not registered here, ERR_ROCE_IN_USE while windows are bound to it. */
  deregister(region: MemoryRegion): void {
    this.#demandFree(region);
    this.#regions.delete(region.rkey >>> 8);
    this.#revoke(region.grant);
    releaseUse(region.pd);
  }

  /**
   * Gives a region another domain or other rights (ibv_rereg_mr); its memory and its keys stay. What is under way with
   * it fails. Throws as `register` does, ERR_ROCE_STATE when it is not registered here, ERR_ROCE_IN_USE while windows
   * are bound to it.
   */
  reregister(region: MemoryRegion, pd: ProtectionDomain, access: number): void {
    this.#demandFree(region);
    const { grant } = region;
    checkRegistration(access, region.iova, region.length);
    grant.valid = false;
    region.grant = grant.renewed(pd, access);
    this.#grants.set(region.rkey >>> 8, region.grant);
    releaseUse(region.pd);
    region.pd = pd;
    pd.users += 1;
  }

  /** A window that is not bound (ibv_alloc_mw), as `make` makes it. Throws ERR_ROCE_LIMIT when there are too many. */
  allocateWindow<W extends MemoryWindow>(pd: ProtectionDomain, make: (pd: ProtectionDomain, rkey: number) => W): W {
    const window = make(pd, this.#freshKey(this.#windows.size, 'windows'));
    this.#windows.set(window.rkey >>> 8, window);
    pd.users += 1;
    return window;
  }

  /** Frees a window, bound or not (ibv_dealloc_mw). Throws ERR_ROCE_STATE when it is not of this table. */
  deallocateWindow(window: MemoryWindow): void {
    const index = window.rkey >>> 8;
    if (this.#windows.get(index) !== window) throw new RoceError('ERR_ROCE_STATE', 'the memory window is freed');
    this.#unbind(window);
    this.#windows.delete(index);
    releaseUse(window.pd);
  }

  /** The queue pair is gone: windows bound to it are unbound (ref:conformance#KEY-19). */
  releaseQueuePair(qpn: number): void {
    for (const window of this.#windows.values()) if (window.grant?.qpn === qpn) this.#unbind(window);
  }

  // Called for work requests and the peer: false when a rule forbids it, and nothing is changed then.

  /**
   * BIND MW. A window of type 2 that is bound has to be invalidated first, and takes no length of 0; one of type 1 has
   * the addresses of its region.
   */
  bind(terms: BindTerms, user: KeyUser): boolean {
    const { mw, length, access, heldKey = mw.rkey, rkey } = terms;
    if (this.#windows.get(mw.rkey >>> 8) !== mw || mw.pd !== user.pd || mw.rkey !== heldKey) return false;
    if (mw.type === 2 ? mw.grant !== undefined || length === 0 : (access & Access.ZeroBased) !== 0) return false;
    if (length > 0) return this.#lend(terms, user);
    this.#unbind(mw);
    mw.rkey = variantOf(mw.rkey, rkey);
    return true;
  }

  #lend({ mw, mr, addr, length, access, rkey }: BindTerms, user: KeyUser): boolean {
    if (mr.pd !== user.pd || !mr.valid || (mr.access & Access.MwBind) === 0) return false;
    if ((access & WRITES) !== 0 && (mr.access & Access.LocalWrite) === 0) return false;
    if ((access & FLUSHES & ~mr.access) !== 0) return false;
    const offset = mr.grant.offsetOf(Number(addr >> 32n), Number(addr & 0xff_ff_ff_ffn), length);
    if (offset < 0) return false;
    const iova = (access & Access.ZeroBased) === 0 ? addr : 0n;
    const key = variantOf(mw.rkey, rkey);
    this.#unbind(mw);
    mw.grant = mr.grant.part(offset, length, { key, access, iova, qpn: mw.type === 2 ? user.qpn : 0 });
    mw.rkey = key;
    mw.region = mr;
    mr.windows += 1;
    this.#grants.set(key >>> 8, mw.grant);
    return true;
  }

  /** REG MR. A region that has memory has to be invalidated first. */
  fastRegister({ mr, bytes, iova, access, key }: FastTerms, user: KeyUser): boolean {
    if (this.#regions.get(mr.rkey >>> 8) !== mr || !mr.fast || mr.valid) return false;
    if (mr.pd !== user.pd || bytes.length > mr.maxBytes) return false;
    mr.grant = new Grant(mr.pd, bytes, { key: variantOf(mr.rkey, key), access, iova });
    this.#grants.set(mr.rkey >>> 8, mr.grant);
    return true;
  }

  /**
   * LOCAL INV, or SEND with invalidate from a peer: the key opens nothing any more. Not for regions that were
   * registered for life, nor while windows are bound to the region, nor for windows of type 1.
   */
  invalidate(key: number, user: KeyUser): boolean {
    if (!this.mayInvalidate(key, user)) return false;
    const window = this.#windows.get(key >>> 8);
    if (window !== undefined) this.#unbind(window);
    else (this.#grants.get(key >>> 8) as Grant).valid = false;
    return true;
  }

  /** Whether `invalidate` would do it. */
  mayInvalidate(key: number, { pd, qpn }: KeyUser): boolean {
    const grant = this.find(key, pd, 0, qpn);
    if (grant === undefined) return false;
    const region = this.#regions.get(key >>> 8);
    if (this.#windows.get(key >>> 8)?.type === 1) return false;
    return region === undefined || (region.remoteInvalidate && region.windows === 0);
  }

  /** Throws ERR_ROCE_STATE when it is not registered here, ERR_ROCE_IN_USE while windows are bound to it. */
  #demandFree(region: MemoryRegion): void {
    if (this.#regions.get(region.rkey >>> 8) !== region)
      throw new RoceError('ERR_ROCE_STATE', 'the region is not registered');
    if (region.windows > 0)
      throw new RoceError('ERR_ROCE_IN_USE', `${region.windows} memory windows are bound to the region`);
  }

  #add(region: MemoryRegion): MemoryRegion {
    const index = region.rkey >>> 8;
    this.#regions.set(index, region);
    this.#grants.set(index, region.grant);
    region.pd.users += 1;
    return region;
  }

  #unbind(window: MemoryWindow): void {
    const { grant, region } = window;
    if (grant === undefined || region === undefined) return;
    this.#revoke(grant);
    region.windows -= 1;
    window.grant = undefined;
    window.region = undefined;
  }

  #revoke(grant: Grant): void {
    grant.valid = false;
    this.#grants.delete(grant.key >>> 8);
  }

  #freshKey(used: number, what: string): number {
    if (used >= this.#limit) throw new RoceError('ERR_ROCE_LIMIT', `all ${this.#limit} memory ${what} are in use`);
    this.#variant = (this.#variant + 1) & 0xff;
    for (;;) {
      const index = this.#random.u32() >>> 8;
      if (index !== 0 && !this.#regions.has(index) && !this.#windows.has(index))
        return ((index << 8) | this.#variant) >>> 0;
    }
  }
}

/** Throws ERR_ROCE_ARGUMENT for access flags or addresses that no region can have. */
export function checkRegistration(access: number, iova: bigint, length: number): void {
  if ((access & ~REGION_ACCESS) !== 0)
    throw new RoceError('ERR_ROCE_ARGUMENT', `unknown access flags 0x${access.toString(16)}`);
  if ((access & WRITES) !== 0 && (access & Access.LocalWrite) === 0) {
    throw new RoceError('ERR_ROCE_ARGUMENT', 'remote write and remote atomic access need local write access');
  }
  if (iova < 0n || iova + BigInt(length) > 1n << 64n) {
    throw new RoceError('ERR_ROCE_ARGUMENT', 'the region must lie within the 64-bit address space');
  }
}

function variantOf(key: number, wanted: number): number {
  return ((key & ~0xff) | (wanted & 0xff)) >>> 0;
}

function releaseUse(pd: ProtectionDomain): void {
  pd.users -= 1;
  invariant(pd.users >= 0, 'a protection domain counts its users');
}

const NOTHING = new Uint8Array(0);
const WRITES = Access.RemoteWrite | Access.RemoteAtomic;
const FLUSHES = Access.FlushGlobal | Access.FlushPersistent;
const REGION_ACCESS =
  Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic | Access.MwBind | FLUSHES;
