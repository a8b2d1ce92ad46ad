/**
 * A queue between the machine, which pushes, and an application that awaits: bounded by what the protocol can produce.
 *
 * @example
 * ```ts
 * import { AsyncQueue } from 'rocev2';
 *
 * const queue = new AsyncQueue<string>();
 * queue.push('first');
 * queue.push('second');
 * queue.close();
 * for await (const item of queue) console.log(item);
 * // first
 * // second
 * ```
 */
export class AsyncQueue<T> implements AsyncIterable<T> {
  readonly #items: T[] = [];
  readonly #waiting: ((result: IteratorResult<T>) => void)[] = [];
  #closed = false;

  /** Adds an item, or hands it to the first that waits; nothing after `close`. */
  push(item: T): void {
    if (this.#closed) return;
    const waiter = this.#waiting.shift();
    if (waiter === undefined) this.#items.push(item);
    else waiter({ done: false, value: item });
  }

  /** Items not taken yet. */
  get length(): number {
    return this.#items.length;
  }

  /** Drops the first item that waits and is `unwanted`. */
  drop(unwanted: (item: T) => boolean): void {
    const at = this.#items.findIndex(unwanted);
    if (at >= 0) this.#items.splice(at, 1);
  }

  /** Ends iteration once what was pushed has been taken. */
  close(): void {
    this.#closed = true;
    for (const waiter of this.#waiting.splice(0)) waiter({ done: true, value: undefined });
  }

  /** The first item, waited for; `done` once the queue is closed and empty. Never rejects. */
  next(): Promise<IteratorResult<T>> {
    if (this.#items.length > 0) return Promise.resolve({ done: false, value: this.#items.shift() as T });
    if (this.#closed) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** For `for await`: takes items as `next` does. */
  [Symbol.asyncIterator](): AsyncIterator<T> {
    return { next: () => this.next() };
  }
}
