/** Two ways of waiting without a timer: a lock, and a condition. */

/** A mutual exclusion lock in order of arrival, for calls that may not interleave, such as two sends. */
export class Lock {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `task` when all earlier ones have settled; settles as it does. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

/** Wakes every waiter on every event; each waiter checks its own condition. */
export class Events {
  #waiting: (() => void)[] = [];

  happened(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** The condition may have changed again when this resolves: to take a shared resource, check and take in one turn. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await this.next();
  }
}
