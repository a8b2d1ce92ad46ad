/**
 * The present state of keys in shared memory, written by the worker: of regions that work requests register or
 * invalidate, and of windows.
 *
 * The worker writes before it shows the completion of the work that changed something, and counts up `Word.KeyEpoch`;
 * so a reader that polled that completion and then reads the count sees the change. Each write increments a sequence
 * count before and after (odd: a write is under way), so that no reader uses half of one.
 */
export interface KeyState {
  /** The key as of the last registration or bind, 32 bits. */
  readonly key: number;
  /** Whether the key is valid. */
  readonly valid: boolean;
  readonly access: number;
  /** Of the first byte, in its shared buffer. */
  readonly offset: number;
  readonly length: number;
  readonly iova: bigint;
  /** Windows: the queue pair they serve. */
  readonly qpn: number;
  /** Regions: the windows bound to them. */
  readonly windows: number;
  /** Windows: a key of the region that lends the memory; 0 when unbound. */
  readonly lender: number;
}

export class KeyCells {
  readonly memory: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #u32: Uint32Array;
  readonly #f64: Float64Array;
  readonly #u64: BigUint64Array;

  constructor(memory = new SharedArrayBuffer(CELLS_BYTES)) {
    this.memory = memory;
    this.#words = new Int32Array(memory);
    this.#u32 = new Uint32Array(memory);
    this.#f64 = new Float64Array(memory);
    this.#u64 = new BigUint64Array(memory);
  }

  /** For the worker only. */
  write(state: KeyState): void {
    Atomics.add(this.#words, COUNT, 1);
    this.#u32[KEY] = state.key;
    this.#u32[VALID] = state.valid ? 1 : 0;
    this.#u32[ACCESS] = state.access;
    this.#u32[QPN] = state.qpn;
    this.#u32[WINDOWS] = state.windows;
    this.#u32[LENDER] = state.lender;
    this.#f64[OFFSET] = state.offset;
    this.#f64[LENGTH] = state.length;
    this.#u64[IOVA] = state.iova;
    Atomics.add(this.#words, COUNT, 1);
  }

  /** Changes with every write. */
  get count(): number {
    return Atomics.load(this.#words, COUNT);
  }

  read(): KeyState {
    for (;;) {
      const before = Atomics.load(this.#words, COUNT);
      const state = this.#read();
      if ((before & 1) === 0 && Atomics.load(this.#words, COUNT) === before) return state;
    }
  }

  #read(): KeyState {
    const word = (index: number) => this.#u32[index] as number;
    return {
      key: word(KEY),
      valid: word(VALID) === 1,
      access: word(ACCESS),
      qpn: word(QPN),
      windows: word(WINDOWS),
      lender: word(LENDER),
      offset: this.#f64[OFFSET] as number,
      length: this.#f64[LENGTH] as number,
      iova: this.#u64[IOVA] as bigint,
    };
  }
}

const COUNT = 0;
const KEY = 1;
const VALID = 2;
const ACCESS = 3;
const QPN = 4;
const WINDOWS = 5;
const LENDER = 6;
/** Of 8 bytes each. */
const OFFSET = 4;
const LENGTH = 5;
const IOVA = 6;
const CELLS_BYTES = 56;
