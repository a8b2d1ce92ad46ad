/**
 * What one key opens, once: these bytes under these addresses, for this protection domain, with these rights. A grant
 * that has ended stays ended: a region that is registered anew, or a window that is bound anew, gets a new one. So code
 * that keeps a grant over several packets has only to check `valid`. Bounds are checked here and cannot wrap
 * (ref:hostile#3: subtract form).
 */
import type { CopiedMemory } from './copied-memory.ts';
import type { ProtectionDomain } from './protection-domain.ts';
import { copyBytes, isShared, Stage, WORTH_STAGING } from './shared-copy.ts';

/** What makes up a grant beside its memory. */
export interface GrantTerms {
  /** The key that opens it, 32 bits. */
  readonly key: number;
  /** Bit set of `Access`. */
  readonly access: number;
  /** Virtual address of the first byte. */
  readonly iova: bigint;
  /**
   * The only queue pair that may use the key, 0 for every one of the domain (memory windows of type 2B are bound to
   * one).
   */
  readonly qpn?: number;
  /** Makes bytes durable; offsets count from `base`. */
  readonly persistent?: Persist | undefined;
  /** Offset of the first byte in the region, for `persistent` and for memory that is copied; default 0. */
  readonly base?: number;
}

/** What a grant is of: bytes of this process, or memory that is reached by copies. */
export type GrantMemory = Uint8Array | CopiedMemory;

/**
 * Makes `length` bytes at `offset` of a region durable; called while a FLUSH for persistence is executed, before it is
 * answered.
 */
export type Persist = (offset: number, length: number) => void;

/** What one key opens: bytes, addresses, rights. */
export class Grant {
  /** Only queue pairs of this domain may use it. */
  readonly pd: ProtectionDomain;
  /** The key, 32 bits. */
  readonly key: number;
  /** The memory; none where it is reached by copies. */
  readonly bytes: Uint8Array;
  /** The same memory. */
  readonly view: DataView;
  /** Bytes. */
  readonly length: number;
  /** Virtual address of the first byte. */
  readonly iova: bigint;
  /** Bit set of `Access`. */
  readonly access: number;
  /** The only queue pair that may use it, or 0 for all of the domain. */
  readonly qpn: number;
  /** False once the key was deregistered, invalidated or unbound: it opens nothing any more. */
  valid = true;
  readonly #iovaHi: number;
  readonly #iovaLo: number;
  readonly #persistent: Persist | undefined;
  readonly #base: number;
  /** For copies, where threads share the memory. */
  readonly #stage: Stage | undefined;
  /** The memory, where it is reached by copies. */
  readonly #copied: CopiedMemory | undefined;
  /** Copies are plain ones: neither of the two above. */
  readonly #plain: boolean;

  /** Called by `MemoryRegion` and `KeyTable`, which have checked every argument. */
  constructor(pd: ProtectionDomain, memory: GrantMemory, terms: GrantTerms, length = memory.length) {
    const bytes = memory instanceof Uint8Array ? memory : NOTHING;
    this.pd = pd;
    this.key = terms.key;
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.length = length;
    this.iova = terms.iova;
    this.access = terms.access;
    this.qpn = terms.qpn ?? 0;
    this.#iovaHi = Number(terms.iova >> 32n);
    this.#iovaLo = Number(terms.iova & 0xff_ff_ff_ffn);
    this.#persistent = terms.persistent;
    this.#base = terms.base ?? 0;
    this.#stage = isShared(bytes) ? new Stage() : undefined;
    this.#copied = memory instanceof Uint8Array ? undefined : memory;
    this.#plain = this.#stage === undefined && this.#copied === undefined;
  }

  /**
   * Offset of `length` bytes at virtual address hi:lo, or -1 when any of them lies outside.
   * The difference of two 64-bit addresses is exact in a double whenever it is small enough to be inside.
   */
  offsetOf(vaHi: number, vaLo: number, length: number): number {
    const offset = (vaHi - this.#iovaHi) * 2 ** 32 + (vaLo - this.#iovaLo);
    return this.holds(offset, length) ? offset : -1;
  }

  /** Whether `length` bytes at `offset` lie inside. */
  holds(offset: number, length: number): boolean {
    return offset >= 0 && offset <= this.length && length >= 0 && length <= this.length - offset;
  }

  /**
   * Copies `length` bytes at `offset`, which lie inside, to byte `toAt` of `to`. False when some of them are not there
   * any more, which only memory can be that is reached by copies. `ahead`: see `CopiedMemory.read`.
   */
  copyOut(offset: number, to: Uint8Array, toAt: number, length: number, ahead: number = length): boolean {
    if (this.#plain) {
      copyBytes(to, toAt, this.bytes, offset, length);
      return true;
    }
    if (this.#copied !== undefined) return this.#copied.read(this.#base + offset, to, toAt, length, ahead);
    if (this.#stage === undefined || length < WORTH_STAGING || isShared(to))
      copyBytes(to, toAt, this.bytes, offset, length);
    else this.#stage.copy(to, toAt, this.bytes, offset, length, true);
    return true;
  }

  /**
   * Copies `length` bytes at byte `fromAt` of `from` to `offset`, where they must fit; false as with `copyOut`. `more`
   * and `writer`: see `CopiedMemory.write`.
   */
  copyIn(
    offset: number,
    from: Uint8Array,
    fromAt: number,
    length: number,
    more: boolean = false,
    writer: object = this,
  ): boolean {
    if (this.#plain) {
      copyBytes(this.bytes, offset, from, fromAt, length);
      return true;
    }
    if (this.#copied !== undefined) return this.#copied.write(this.#base + offset, from, fromAt, length, more, writer);
    if (this.#stage === undefined || length < WORTH_STAGING || isShared(from))
      copyBytes(this.bytes, offset, from, fromAt, length);
    else this.#stage.copy(this.bytes, offset, from, fromAt, length, false);
    return true;
  }

  /** Makes bytes durable that lie inside; `Access.FlushPersistent` requires that the region has a way. */
  persist(offset: number, length: number): void {
    this.#persistent?.(this.#base + offset, length);
  }

  /** The same memory under the same key, for queue pairs of `pd` and with other rights. */
  renewed(pd: ProtectionDomain, access: number): Grant {
    const { key, iova, qpn } = this;
    const terms = { key, access, iova, qpn, persistent: this.#persistent, base: this.#base };
    return new Grant(pd, this.#copied ?? this.bytes, terms, this.length);
  }

  /** A grant of `length` bytes of this one at `offset`, on terms of its own. */
  part(offset: number, length: number, terms: GrantTerms): Grant {
    const memory = this.#copied ?? this.bytes.subarray(offset, offset + length);
    const own = { ...terms, persistent: this.#persistent, base: this.#base + offset };
    return new Grant(this.pd, memory, own, length);
  }
}

const NOTHING = new Uint8Array(0);
