/**
 * A bounded first-in first-out queue of reusable entries. Positions are absolute (they only grow), so a position kept
 * elsewhere stays meaningful while the entry lives. Memory grows with use, from nothing, and is kept for reuse: an idle
 * queue pair costs little and a busy one allocates nothing per request.
 */
import { invariant } from '../packets/errors.ts';

export class Ring<T> {
  /** Position of the oldest entry. */
  head = 0;
  /** Position after the newest entry. */
  tail = 0;
  readonly capacity: number;
  readonly #make: () => T;
  #slots: T[] = [];
  #mask = -1;

  constructor(capacity: number, make: () => T) {
    this.capacity = capacity;
    this.#make = make;
  }

  get length(): number {
    return this.tail - this.head;
  }

  get full(): boolean {
    return this.tail - this.head >= this.capacity;
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

  /** Appends an entry and returns it with whatever its last use left in it. */
  push(): T {
    invariant(!this.full, 'a ring is asked for room before it is pushed');
    if (this.tail - this.head > this.#mask) this.#grow();
    this.tail += 1;
    return this.at(this.tail - 1);
  }

  /** Forgets the oldest entry; its object is reused by a later `push`. */
  shift(): void {
    invariant(this.tail > this.head, 'an empty ring has nothing to forget');
    this.head += 1;
  }

  /** Takes the oldest entry out of the queue and leaves `spare` in its slot for reuse. */
  exchange(spare: T): T {
    const oldest = this.at(this.head);
    this.#slots[this.head & this.#mask] = spare;
    this.head += 1;
    return oldest;
  }

  clear(): void {
    this.head = this.tail;
  }

  #grow(): void {
    const size = this.#slots.length === 0 ? 4 : this.#slots.length * 2;
    const slots: T[] = new Array<T>(size);
    for (let i = 0; i < size; i++) slots[i] = this.#make();
    for (let p = this.head; p < this.tail; p++) {
      const kept = this.#slots[p & this.#mask];
      invariant(kept !== undefined, 'a ring keeps every entry between its head and its tail');
      slots[p & (size - 1)] = kept;
    }
    this.#slots = slots;
    this.#mask = size - 1;
  }
}
