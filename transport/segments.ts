/**
 * Scatter/gather lists of posted work: a snapshot of the caller's list, and the copies in and out of it. The list is
 * checked when it is used, not when it is posted, because a region may be deregistered in between (verbs: the failure
 * is a completion, not a failed post).
 */
import { RoceError } from '../packets/errors.ts';
import { Access, type MemoryRegion, type ProtectionDomain } from './memory.ts';
import type { Sge } from './work.ts';

/**
 * Total bytes of a caller's list. Throws ERR_ROCE_ARGUMENT for too many SGEs and for values that are no byte counts.
 */
export function checkSges(sges: readonly Sge[] | undefined, maxSge: number): number {
  if (sges === undefined) return 0;
  if (sges.length > maxSge)
    throw new RoceError('ERR_ROCE_ARGUMENT', `${sges.length} SGEs, at most ${maxSge} are allowed`);
  let total = 0;
  for (let i = 0; i < sges.length; i++) {
    const { mr, offset = 0, length = Math.max(0, mr.length - offset) } = sges[i] as Sge;
    if (!isByteCount(offset) || !isByteCount(length)) {
      throw new RoceError('ERR_ROCE_ARGUMENT', 'offset and length of an SGE are whole numbers of bytes, 0 or more');
    }
    total += length;
  }
  return total;
}

function isByteCount(n: number): boolean {
  return Number.isSafeInteger(n) && n >= 0;
}

export class SegmentList {
  /** Total bytes. */
  length = 0;
  #count = 0;
  readonly #regions: (MemoryRegion | undefined)[] = [];
  readonly #offsets: number[] = [];
  readonly #lengths: number[] = [];

  /** Takes a snapshot of the caller's list. It has passed `checkSges`. */
  assign(sges: readonly Sge[]): void {
    this.length = 0;
    this.#count = sges.length;
    for (let i = 0; i < sges.length; i++) {
      const sge = sges[i] as Sge;
      const offset = sge.offset ?? 0;
      const length = sge.length ?? Math.max(0, sge.mr.length - offset);
      this.#regions[i] = sge.mr;
      this.#offsets[i] = offset;
      this.#lengths[i] = length;
      this.length += length;
    }
  }

  /** Forgets the regions, so that a finished request keeps no memory alive. */
  release(): void {
    for (let i = 0; i < this.#count; i++) this.#regions[i] = undefined;
    this.#count = 0;
    this.length = 0;
  }

  /** Whether every segment is a live region of `pd`, inside its bounds, and writable if `write`. */
  accessible(pd: ProtectionDomain, write: boolean): boolean {
    for (let i = 0; i < this.#count; i++) {
      // What the region's key opens now: a fast registration may have been posted before this list, and been executed
      // since.
      const grant = this.#regions[i]?.grant;
      if (grant === undefined || !grant.valid || grant.pd !== pd) return false;
      if (!grant.holds(this.#offsets[i] as number, this.#lengths[i] as number)) return false;
      if (write && (grant.access & Access.LocalWrite) === 0) return false;
    }
    return true;
  }

  /**
   * Copies `length` bytes of the message, from byte `at`, into `to`. The list must be accessible. False when memory is
   * not there any more.
   */
  gather(at: number, to: Uint8Array, toAt: number, length: number): boolean {
    for (let i = 0; i < this.#count && length > 0; i++) {
      const size = this.#lengths[i] as number;
      if (at >= size) {
        at -= size;
        continue;
      }
      const n = Math.min(size - at, length);
      const { grant } = this.#regions[i] as MemoryRegion;
      if (!grant.copyOut((this.#offsets[i] as number) + at, to, toAt, n, size - at)) return false;
      at = 0;
      toAt += n;
      length -= n;
    }
    return true;
  }

  /**
   * Copies `length` bytes from `from` to byte `at` of the message. The list must be accessible and long enough. False
   * as with `gather`.
   *
   * @param more whether the bytes behind these are the next to be copied: see `CopiedMemory.write`
   */
  scatter(at: number, from: Uint8Array, fromAt: number, length: number, more: boolean = false): boolean {
    for (let i = 0; i < this.#count && length > 0; i++) {
      const size = this.#lengths[i] as number;
      if (at >= size) {
        at -= size;
        continue;
      }
      const n = Math.min(size - at, length);
      const { grant } = this.#regions[i] as MemoryRegion;
      const isCutOff = n === size - at;
      if (!grant.copyIn((this.#offsets[i] as number) + at, from, fromAt, n, more && !isCutOff, this)) return false;
      at = 0;
      fromAt += n;
      length -= n;
    }
    return true;
  }

  /**
   * Stores a 64-bit value, little-endian, in the eight bytes of the message. The list must be accessible. False as with
   * `gather`.
   */
  scatter64(hi: number, lo: number): boolean {
    for (let i = 0; i < 8; i++) WORD[i] = (i < 4 ? lo : hi) >>> (8 * (i & 3));
    return this.scatter(0, WORD, 0, 8);
  }
}

/** One 64-bit value on its way. */
const WORD = new Uint8Array(8);
