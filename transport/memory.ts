/**
 * Protection domains, memory regions and memory windows: what an application holds. A region is a byte array registered
 * under a virtual address, now (ibv_reg_mr) or by a work request later (ib_alloc_mr, IB_WR_REG_MR); a window lends a
 * part of a region, to one queue pair (ibv_alloc_mw, type 2B) or to all of a domain (type 1). What their keys open is a
 * `Grant`; the `KeyTable` finds and changes them.
 */
import { Grant, type GrantMemory, type Persist } from './grant.ts';
import type { ProtectionDomain } from './protection-domain.ts';

export { ProtectionDomain } from './protection-domain.ts';

/** Access flags with the values of ibv_access_flags. Local read is always allowed. */
export const Access = {
  /** Receives, READs and atomics of our own may write it. */
  LocalWrite: 1,
  /** Peers may WRITE. */
  RemoteWrite: 2,
  /** Peers may READ. */
  RemoteRead: 4,
  /** Peers may do atomics. */
  RemoteAtomic: 8,
  /** Regions: memory windows may be bound to it. */
  MwBind: 0x10,
  /** Windows: their first byte has address 0. */
  ZeroBased: 0x20,
  /** FLUSH for global visibility. */
  FlushGlobal: 0x1_00,
  /** FLUSH for persistence. */
  FlushPersistent: 0x2_00,
} as const;

/** How a region is registered. */
export interface RegionOptions {
  /** Bit set of `Access`. Remote write and remote atomic need local write, as in ibv_reg_mr(3). */
  readonly access: number;
  /** Virtual address under which peers name the first byte; 0 <= iova, iova + length <= 2^64. */
  readonly iova: bigint;
  /**
   * Whether LOCAL INV and a peer's SEND with invalidate may invalidate the key, as they may that of a fast-registered
   * region.
   */
  readonly remoteInvalidate?: boolean;
  /** How the memory is made durable: with it, `Access.FlushPersistent` may be given, without it not. */
  readonly persistent?: Persist | undefined;
}

/**
 * Registered memory (ibv_mr): bytes that work requests name, and peers too when they are given its key.
 *
 * @example
 * ```ts
 * import { Access, attachDevice, World } from 'rocev2';
 * import type { MemoryRegion } from 'rocev2/transport';
 *
 * const device = attachDevice(new World({ seed: 1 }), 'a', { addresses: ['10.0.0.1/24'] });
 * const memory = new Uint8Array(64);
 * const mr: MemoryRegion = device.allocPd().regMr(memory, { access: Access.LocalWrite | Access.RemoteWrite });
 * // Shared, not copied. A peer needs key and address to write here.
 * console.log(mr.bytes === memory, mr.length, mr.lkey === mr.rkey, mr.valid); // true 64 true true
 * ```
 */
export class MemoryRegion {
  /** The domain it belongs to. */
  pd: ProtectionDomain;
  /** Whether its keys can be invalidated. */
  readonly remoteInvalidate: boolean;
  /** Bytes a fast registration may give it; -1 for a region that has its memory for life. */
  readonly maxBytes: number;
  /** Memory windows bound to it. */
  windows = 0;
  /** What the key opens now. */
  grant: Grant;

  /** Called by `KeyTable`, which has checked every argument. */
  constructor(pd: ProtectionDomain, memory: GrantMemory, key: number, options: RegionOptions, maxBytes = -1) {
    const { access, iova, persistent, remoteInvalidate = false } = options;
    this.pd = pd;
    this.remoteInvalidate = remoteInvalidate;
    this.maxBytes = maxBytes;
    this.grant = new Grant(pd, memory, { key, access, iova, persistent });
  }

  /** The memory itself. Shared with the application; what a peer writes shows here. None where copies reach it. */
  get bytes(): Uint8Array {
    return this.grant.bytes;
  }

  /** The same memory. */
  get view(): DataView {
    return this.grant.view;
  }

  /** Bytes. */
  get length(): number {
    return this.grant.length;
  }

  /** Virtual address of the first byte. */
  get iova(): bigint {
    return this.grant.iova;
  }

  /** Bit set of `Access`. */
  get access(): number {
    return this.grant.access;
  }

  /** Local and remote key; one value serves as both, as in rdma_rxe. */
  get lkey(): number {
    return this.grant.key;
  }

  /** What peers name it by; as `lkey`. */
  get rkey(): number {
    return this.grant.key;
  }

  /** False before the first fast registration, and once deregistered or invalidated: the key then opens nothing. */
  get valid(): boolean {
    return this.grant.valid;
  }

  /** Whether it gets its memory by work requests. */
  get fast(): boolean {
    return this.maxBytes >= 0;
  }
}

/**
 * Type 1: for every queue pair of its domain, bound anew as often as is liked, ended by binding no bytes. Type 2, which
 * is type 2B here: for the queue pair that binds it, and invalidated before it is bound again.
 */
export type WindowType = 1 | 2;

/**
 * A memory window: names no memory until it is bound.
 *
 * @example
 * ```ts
 * import { Prng } from 'rocev2/sim';
 * import { Access, KeyTable, MemoryWindow, ProtectionDomain } from 'rocev2/transport';
 *
 * const keys = new KeyTable(new Prng(1), 16);
 * const pd = new ProtectionDomain(1);
 * const access = Access.LocalWrite | Access.MwBind;
 * const mr = keys.register(pd, new Uint8Array(4096), { access, iova: 0n });
 * const mw = keys.allocateWindow(pd, (domain, rkey) => new MemoryWindow(domain, rkey));
 * // 16 bytes of the region, for the peer of queue pair 0x11 alone: what BIND MW does.
 * const terms = { mw, mr, addr: 0x100n, length: 16, access: Access.RemoteWrite, rkey: mw.rkey + 1 };
 * console.log(keys.bind(terms, { qpn: 0x11, pd }), mw.grant?.length, mr.windows); // true 16 1
 * console.log(keys.find(mw.rkey, pd, Access.RemoteWrite, 0x12)); // undefined
 * ```
 */
export class MemoryWindow {
  /** The domain it belongs to. */
  readonly pd: ProtectionDomain;
  /** Who may use it, and how it ends. */
  readonly type: WindowType;
  /** The key as of the last bind. */
  rkey: number;
  /** What the key opens, while it is bound. */
  grant: Grant | undefined = undefined;
  /** The region that lends the memory, while it is bound. */
  region: MemoryRegion | undefined = undefined;

  /** Called by `KeyTable.allocateWindow`. */
  constructor(pd: ProtectionDomain, rkey: number, type: WindowType = 2) {
    this.pd = pd;
    this.rkey = rkey;
    this.type = type;
  }
}
