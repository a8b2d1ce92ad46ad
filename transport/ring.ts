/**
 * A bounded first-in first-out queue of reusable entries. Positions are absolute (they only grow), so a position kept
 * elsewhere stays valid while the entry is in the queue. Entries are borrowed from a pool that all queues of a kind
 * share: an idle queue holds none, a busy one allocates nothing per entry, and of ten thousand queues in turn each
 * finds an entry that is still in a cache.
 */
import { invariant } from '../packets/errors.ts';

/** Entries that are not in use; the one given back last is taken first. Keeps as many as were ever held at a time. */
export class Pool<T> {
  readonly #make: () => T;
  readonly #free: (T | undefined)[] = [];
  #count = 0;

  constructor(make: () => T) {
    this.#make = make;
  }

  /** An entry with what its last use left in it. */
  take(): T {
    if (this.#count === 0) return this.#make();
    this.#count -= 1;
    const entry = this.#free[this.#count];
    invariant(entry !== undefined, 'a pool holds what was given back to it');
    this.#free[this.#count] = undefined;
    return entry;
  }

  giveBack(entry: T): void {
    this.#free[this.#count++] = entry;
  }
}

export class Ring<T> {
  /** Position of the oldest entry. */
  head = 0;
  /** Position after the newest entry. */
  tail = 0;
  readonly #pool: Pool<T>;
  #capacity: number;
  #slots: (T | undefined)[] = [];
  #mask = -1;

  constructor(capacity: number, pool: Pool<T>) {
    this.#capacity = capacity;
    this.#pool = pool;
  }

  /** Entries there is room for. */
  get capacity(): number {
    return this.#capacity;
  }

  get length(): number {
    return this.tail - this.head;
  }

  get full(): boolean {
    return this.tail - this.head >= this.#capacity;
  }

  /** Makes room for so many entries; those that are in it stay, so there must not be more. */
  resize(capacity: number): void {
    invariant(capacity >= this.length, 'a ring keeps what it holds when it is resized');
    this.#capacity = capacity;
  }

  /** The entry at `position`, which must lie in [head, tail). */
  at(position: number): T {
    const entry = this.#slots[position & this.#mask];
    invariant(
      entry !== undefined && position >= this.head && position < this.tail,
      'a ring is read only between its head and its tail',
    );
    return entry;
  }

  /** Appends an entry and returns it with what its last use left in it. */
  push(): T {
    invariant(!this.full, 'a ring is asked for room before it is pushed');
    if (this.tail - this.head > this.#mask) this.#grow();
    const entry = this.#pool.take();
    this.#slots[this.tail & this.#mask] = entry;
    this.tail += 1;
    return entry;
  }

  /** Drops the oldest entry, which any queue of the pool may use again at once. */
  shift(): void {
    this.#pool.giveBack(this.#take());
  }

  /** Takes the oldest entry out of the queue, and puts `spare` into the pool. */
  exchange(spare: T): T {
    const oldest = this.#take();
    this.#pool.giveBack(spare);
    return oldest;
  }

  clear(): void {
    while (this.tail > this.head) this.shift();
  }

  #take(): T {
    const oldest = this.at(this.head);
    this.#slots[this.head & this.#mask] = undefined;
    this.head += 1;
    return oldest;
  }

  #grow(): void {
    const size = this.#slots.length === 0 ? 4 : this.#slots.length * 2;
    const slots: (T | undefined)[] = new Array(size).fill(undefined);
    for (let p = this.head; p < this.tail; p++) slots[p & (size - 1)] = this.#slots[p & this.#mask];
    this.#slots = slots;
    this.#mask = size - 1;
  }
}
