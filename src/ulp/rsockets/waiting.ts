/** Two ways of waiting without a timer: in line, and for something to happen. */

/** One after the other, in the order of asking: what may not be mixed, such as the bytes of two sends. */
export class Lock {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `task` when all earlier ones have settled; settles as it does. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

/** Wakes everybody who waits whenever anything happens; who waits looks whether it was for them. */
export class Events {
  #waiting: (() => void)[] = [];

  happened(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** What it resolves to may have changed again: who takes what others want, too, looks and takes in one turn instead. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await this.next();
  }
}
