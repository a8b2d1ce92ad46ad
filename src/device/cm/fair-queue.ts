/**
 * Requests that wait for the application: it gets one of each source address in turn, so that a source with many
 * requests delays no other. Bounded by what the connection manager lets in. Owns the order; decides nothing.
 */
import type { IpAddress } from '../../../packets/address.ts';

/** What has a source. */
export interface FromSource {
  /** The address that it came from, proved or not. */
  readonly remoteAddress: IpAddress;
}

export class FairQueue<T extends FromSource> implements AsyncIterable<T> {
  /** Called with each item that the application gets. */
  readonly #taken: (item: T) => void;
  /** By source, the next one first; items oldest first. */
  readonly #turns = new Map<string, Set<T>>();
  readonly #waiting: ((result: IteratorResult<T>) => void)[] = [];
  #length = 0;
  #closed = false;

  constructor(taken: (item: T) => void) {
    this.#taken = taken;
  }

  /** Items not taken yet. */
  get length(): number {
    return this.#length;
  }

  /** Adds an item, or hands it to the first that waits; nothing after `close`. */
  push(item: T): void {
    if (this.#closed) return;
    const waiter = this.#waiting.shift();
    if (waiter !== undefined) {
      this.#taken(item);
      waiter({ done: false, value: item });
      return;
    }
    const key = `${item.remoteAddress}`;
    const turn = this.#turns.get(key);
    if (turn === undefined) this.#turns.set(key, new Set([item]));
    else turn.add(item);
    this.#length += 1;
  }

  /** Drops an item if it waits. */
  drop(item: T): void {
    const key = `${item.remoteAddress}`;
    const turn = this.#turns.get(key);
    if (turn?.delete(item) !== true) return;
    this.#length -= 1;
    if (turn.size === 0) this.#turns.delete(key);
  }

  /** Ends iteration once what was pushed has been taken. */
  close(): void {
    this.#closed = true;
    for (const waiter of this.#waiting.splice(0)) waiter({ done: true, value: undefined });
  }

  /** The next item, waited for; `done` once the queue is closed and empty. Never rejects. */
  next(): Promise<IteratorResult<T>> {
    const item = this.#take();
    if (item !== undefined) return Promise.resolve({ done: false, value: item });
    if (this.#closed) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** For `for await`: takes items as `next` does. */
  [Symbol.asyncIterator](): AsyncIterator<T> {
    return { next: () => this.next() };
  }

  /** The first item of the first source, which then is the last. */
  #take(): T | undefined {
    for (const [key, turn] of this.#turns) {
      for (const item of turn) {
        this.drop(item);
        this.#turns.delete(key);
        if (turn.size > 0) this.#turns.set(key, turn);
        this.#taken(item);
        return item;
      }
    }
    return undefined;
  }
}
