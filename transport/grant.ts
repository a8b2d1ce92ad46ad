/**
 * What one key opens, once: these bytes under these addresses, for this protection domain, with these rights. A grant that has
 * ended never comes back to life: a region that is registered anew, or a window that is bound anew, gets a new one. So whoever keeps
 * a grant over several packets has only to look at `valid`. Bounds are checked here and cannot wrap (ref:hostile#3: subtract form).
 */
import type { ProtectionDomain } from './memory.ts';

export interface GrantTerms {
  readonly key: number;
  /** Bit set of `Access`. */
  readonly access: number;
  /** Virtual address of the first byte. */
  readonly iova: bigint;
  /** The only queue pair that may use the key, 0 for every one of the domain (memory windows of type 2B are bound to one). */
  readonly qpn?: number;
  /** Makes bytes durable; offsets count from `base`. */
  readonly persistent?: Persist | undefined;
  readonly base?: number;
}

/** Makes `length` bytes at `offset` of a region durable; called while a FLUSH for persistence is executed, before it is answered. */
export type Persist = (offset: number, length: number) => void;

export class Grant {
  readonly pd: ProtectionDomain;
  readonly key: number;
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly length: number;
  readonly iova: bigint;
  readonly access: number;
  readonly qpn: number;
  /** False once the key was deregistered, invalidated or unbound: it opens nothing any more. */
  valid = true;
  readonly #iovaHi: number;
  readonly #iovaLo: number;
  readonly #persistent: Persist | undefined;
  readonly #base: number;

  /** Called by `MemoryRegion` and `KeyTable`, which have checked every argument. */
  constructor(pd: ProtectionDomain, bytes: Uint8Array, terms: GrantTerms) {
    this.pd = pd;
    this.key = terms.key;
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.length = bytes.byteLength;
    this.iova = terms.iova;
    this.access = terms.access;
    this.qpn = terms.qpn ?? 0;
    this.#iovaHi = Number(terms.iova >> 32n);
    this.#iovaLo = Number(terms.iova & 0xff_ff_ff_ffn);
    this.#persistent = terms.persistent;
    this.#base = terms.base ?? 0;
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

  /** Makes bytes durable that lie inside; `Access.FlushPersistent` says that there is a way. */
  persist(offset: number, length: number): void {
    this.#persistent?.(this.#base + offset, length);
  }

  /** A grant of `length` bytes of this one at `offset`, on terms of its own. */
  part(offset: number, length: number, terms: GrantTerms): Grant {
    const bytes = this.bytes.subarray(offset, offset + length);
    return new Grant(this.pd, bytes, { ...terms, persistent: this.#persistent, base: this.#base + offset });
  }
}
