/**
 * Protection domains, memory regions and their keys. A region is a byte array registered under a virtual address; a key
 * finds it, and every access is checked here against bounds that cannot wrap (ref:hostile#3: checks in subtract form).
 */
import { invariant, RoceError } from '../packets/errors.ts';
import type { Random } from './random.ts';
import { noteMemory } from './shared-copy.ts';

/** Access flags with the values of ibv_access_flags. Local read is always allowed. */
export const Access = { LocalWrite: 1, RemoteWrite: 2, RemoteRead: 4, RemoteAtomic: 8 } as const;
const ALL_ACCESS = 0x0f;

/** Groups queue pairs and regions; nothing of one domain reaches into another. */
export class ProtectionDomain {
  readonly handle: number;
  /** Regions and queue pairs that still refer to this domain. */
  users = 0;

  constructor(handle: number) {
    this.handle = handle;
  }

  /** For whoever frees it. Throws ERR_ROCE_IN_USE while something refers to it. */
  demandUnused(): void {
    if (this.users > 0)
      throw new RoceError('ERR_ROCE_IN_USE', `${this.users} regions or queue pairs still use this protection domain`);
  }
}

export interface RegionOptions {
  /** Bit set of `Access`. Remote write and remote atomic need local write, as in ibv_reg_mr(3). */
  readonly access: number;
  /** Virtual address under which peers name the first byte; 0 <= iova, iova + length <= 2^64. */
  readonly iova: bigint;
  /** Whether a peer's SEND with invalidate may kill the key (what a fast-registered region allows). */
  readonly remoteInvalidate?: boolean;
}

export class MemoryRegion {
  readonly pd: ProtectionDomain;
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly length: number;
  readonly iova: bigint;
  readonly access: number;
  readonly remoteInvalidate: boolean;
  /** Local and remote key; one value serves as both, as in rdma_rxe. */
  readonly lkey: number;
  readonly rkey: number;
  /** False once deregistered or invalidated: the key then opens nothing. */
  valid = true;
  readonly #iovaHi: number;
  readonly #iovaLo: number;

  /** Called by `KeyTable.register`, which has checked every argument. */
  constructor(pd: ProtectionDomain, bytes: Uint8Array, key: number, options: RegionOptions) {
    this.pd = pd;
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.length = bytes.byteLength;
    this.iova = options.iova;
    this.access = options.access;
    this.remoteInvalidate = options.remoteInvalidate ?? false;
    this.lkey = key;
    this.rkey = key;
    this.#iovaHi = Number(options.iova >> 32n);
    this.#iovaLo = Number(options.iova & 0xff_ff_ff_ffn);
  }

  /**
   * Offset of `length` bytes at virtual address hi:lo inside the region, or -1 when any of them lies outside.
   * The difference of two 64-bit addresses is exact in a double whenever it is small enough to be inside a region.
   */
  offsetOf(vaHi: number, vaLo: number, length: number): number {
    const offset = (vaHi - this.#iovaHi) * 2 ** 32 + (vaLo - this.#iovaLo);
    return this.holds(offset, length) ? offset : -1;
  }

  /** Whether `length` bytes at `offset` lie inside the region. */
  holds(offset: number, length: number): boolean {
    return offset >= 0 && offset <= this.length && length >= 0 && length <= this.length - offset;
  }
}

/** All regions of a device by key. Keys are unpredictable: a random 24-bit index and an 8-bit variant that moves on. */
export class KeyTable {
  readonly #regions = new Map<number, MemoryRegion>();
  readonly #random: Random;
  readonly #limit: number;
  #variant: number;

  constructor(random: Random, limit: number) {
    this.#random = random;
    this.#limit = limit;
    this.#variant = random.u32() & 0xff;
  }

  get size(): number {
    return this.#regions.size;
  }

  /** Registers `bytes` (shared, not copied). Throws ERR_ROCE_ARGUMENT for bad access or address, ERR_ROCE_LIMIT when full. */
  register(pd: ProtectionDomain, bytes: Uint8Array, options: RegionOptions): MemoryRegion {
    const { access, iova } = options;
    if ((access & ~ALL_ACCESS) !== 0)
      throw new RoceError('ERR_ROCE_ARGUMENT', `unknown access flags 0x${access.toString(16)}`);
    if ((access & (Access.RemoteWrite | Access.RemoteAtomic)) !== 0 && (access & Access.LocalWrite) === 0) {
      throw new RoceError('ERR_ROCE_ARGUMENT', 'remote write and remote atomic access need local write access');
    }
    if (iova < 0n || iova + BigInt(bytes.byteLength) > 1n << 64n) {
      throw new RoceError('ERR_ROCE_ARGUMENT', 'the region must lie within the 64-bit address space');
    }
    if (this.#regions.size >= this.#limit)
      throw new RoceError('ERR_ROCE_LIMIT', `all ${this.#limit} memory regions are in use`);
    const region = new MemoryRegion(pd, bytes, this.#freshKey(), options);
    this.#regions.set(region.rkey, region);
    noteMemory(bytes);
    pd.users += 1;
    return region;
  }

  deregister(region: MemoryRegion): void {
    if (this.#regions.get(region.rkey) !== region)
      throw new RoceError('ERR_ROCE_STATE', 'the region is not registered');
    this.#regions.delete(region.rkey);
    region.valid = false;
    region.pd.users -= 1;
    invariant(region.pd.users >= 0, 'a protection domain counts its users');
  }

  /** The live region a key opens for `pd` with every right in `access`, or undefined; causes are not told apart on the wire. */
  find(key: number, pd: ProtectionDomain, access: number): MemoryRegion | undefined {
    const region = this.#regions.get(key);
    if (region === undefined || !region.valid || region.pd !== pd || (region.access & access) !== access)
      return undefined;
    return region;
  }

  #freshKey(): number {
    this.#variant = (this.#variant + 1) & 0xff;
    for (;;) {
      const key = (((this.#random.u32() >>> 8) << 8) | this.#variant) >>> 0;
      if (key >>> 8 !== 0 && !this.#regions.has(key)) return key;
    }
  }
}
