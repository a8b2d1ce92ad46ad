/**
 * One end of a ring that client and server share (struct rxe_queue_buf): entries of equal size, with an index for each
 * side. The client may write anything anywhere at any time. So our own index, the mask and the size of an entry are
 * kept here and never read back, the client's index is masked, and an entry is copied before anything of it is looked
 * at.
 *
 * Sizes as rxe:rxe_queue.c#rxe_queue_init has them: an entry is a power of two and at least a cache line, there is one
 * entry more than fit, and both numbers stand in the header for the client.
 */
import { RXE_QUEUE_BUF } from './abi/rxe.ts';
import type { SharedRing } from './host.ts';

const CACHE_LINE = 64;
const PAGE = 4096;
const AT = RXE_QUEUE_BUF.at;
const PRODUCER = AT.producer_index / 4;
const CONSUMER = AT.consumer_index / 4;

/** How big a ring is. */
export interface RingSize {
  /** Bytes of an entry, a power of two. */
  readonly stride: number;
  /** Entries it holds at most, one less than a power of two. */
  readonly capacity: number;
  /** Bytes of the whole, whole pages. */
  readonly bytes: number;
}

/** The ring for at least `entries` entries of at least `entryBytes` bytes. */
export function ringSize(entries: number, entryBytes: number): RingSize {
  const stride = powerOfTwo(Math.max(entryBytes, CACHE_LINE));
  const slots = powerOfTwo(entries + 1);
  return { stride, capacity: slots - 1, bytes: Math.ceil((RXE_QUEUE_BUF.size + slots * stride) / PAGE) * PAGE };
}

function powerOfTwo(least: number): number {
  let value = 1;
  while (value < least) value *= 2;
  return value;
}

abstract class Ring {
  readonly shared: SharedRing;
  readonly size: RingSize;
  readonly mask: number;
  protected readonly indices: Uint32Array;

  constructor(shared: SharedRing, size: RingSize) {
    const { bytes } = shared;
    this.shared = shared;
    this.size = size;
    this.mask = size.capacity;
    this.indices = new Uint32Array(bytes.buffer, bytes.byteOffset, RXE_QUEUE_BUF.size / 4);
    this.indices[AT.log2_elem_size / 4] = Math.log2(size.stride);
    this.indices[AT.index_mask / 4] = this.mask;
  }

  protected slotAt(index: number): number {
    return RXE_QUEUE_BUF.size + (index & this.mask) * this.size.stride;
  }
}

/** A ring that the client fills: work requests. Positions are absolute; the client sees them masked. */
export class InboundRing extends Ring {
  /** The next entry to look at. */
  #next = 0;

  /** Entries that the client says are there and that were not taken. */
  get waiting(): number {
    return (Atomics.load(this.indices, PRODUCER) - this.#next) & this.mask;
  }

  /** Position of the next entry to take. */
  get next(): number {
    return this.#next;
  }

  /** Copies the next entry to `into`, of `stride` bytes or more, and goes on to the one behind it. */
  take(into: Uint8Array): void {
    const at = this.slotAt(this.#next);
    into.set(this.shared.bytes.subarray(at, at + this.size.stride));
    this.#next += 1;
  }

  /** Tells the client that everything before `position` may be overwritten. */
  release(position: number): void {
    Atomics.store(this.indices, CONSUMER, position & this.mask);
  }

  /** Drops what waits. */
  drop(): void {
    this.#next += this.waiting;
    this.release(this.#next);
  }

  /** Takes over what waits in another ring, for the client to find it here; there is room for it. */
  adopt(other: InboundRing): void {
    const entry = new Uint8Array(other.size.stride);
    let count = 0;
    for (const most = Math.min(other.waiting, this.mask); count < most; count++) {
      other.take(entry);
      this.shared.bytes.set(entry.subarray(0, Math.min(entry.length, this.size.stride)), this.slotAt(count));
    }
    Atomics.store(this.indices, PRODUCER, count);
  }
}

/** A ring that the server fills: completions. */
export class OutboundRing extends Ring {
  #producer = 0;

  /** Entries that the client has not consumed, by what it says. */
  get length(): number {
    return (this.#producer - Atomics.load(this.indices, CONSUMER)) & this.mask;
  }

  get full(): boolean {
    return this.length === this.mask;
  }

  /** Publishes an entry; there is room. */
  put(entry: Uint8Array): void {
    this.shared.bytes.set(entry, this.slotAt(this.#producer));
    this.#producer += 1;
    Atomics.store(this.indices, PRODUCER, this.#producer & this.mask);
  }

  /** Moves the entries that wait to another ring, an empty one that has room for them. */
  moveTo(other: OutboundRing, entryBytes: number): void {
    for (let n = this.length; n > 0; n--) {
      const at = this.slotAt(this.#producer - n);
      other.put(this.shared.bytes.slice(at, at + entryBytes));
    }
  }
}
