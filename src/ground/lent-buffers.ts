/**
 * A few buffers that are lent in turn: for work that needs memory for a while, of which there may be any amount at a
 * time. Owns the buffers, made when they are first needed, and who waits.
 */

export class LentBuffers {
  readonly #bytes: number;
  readonly #most: number;
  readonly #free: Uint8Array[] = [];
  readonly #waiting: ((buffer: Uint8Array) => void)[] = [];
  #made = 0;

  /** @param bytes of each @param most of them at a time */
  constructor(bytes: number, most: number) {
    this.#bytes = bytes;
    this.#most = most;
  }

  /** Buffers that there are, lent or not. */
  get made(): number {
    return this.#made;
  }

  /** Gives `use` a buffer, whose bytes are those of whoever had it before; who came first has it first. */
  async lend<T>(use: (buffer: Uint8Array) => T | Promise<T>): Promise<T> {
    const buffer = this.#take() ?? (await new Promise<Uint8Array>((resolve) => this.#waiting.push(resolve)));
    try {
      return await use(buffer);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free.push(buffer);
      else next(buffer);
    }
  }

  /** Undefined: all are lent. */
  #take(): Uint8Array | undefined {
    const free = this.#free.pop();
    if (free !== undefined || this.#made === this.#most) return free;
    this.#made += 1;
    return new Uint8Array(this.#bytes);
  }
}
