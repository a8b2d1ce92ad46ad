/**
 * A completion queue in shared memory: the worker writes, the application polls. Nothing is lost and nothing is copied
 * twice; an entry stays the queue's until it is polled, so an overrun happens exactly where it would in one thread.
 *
 * The application that wants to be told of the next completion says so (`want`), and looks again; the worker publishes, and
 * looks whether it is wanted. One of the two sees the other (Atomics are sequentially consistent).
 */
import type { WcStatus, WorkCompletion } from '../../transport/work.ts';

export function completionRingMemory(capacity: number): SharedArrayBuffer {
  return new SharedArrayBuffer((HEADER_CELLS + slotsFor(capacity) * ENTRY_CELLS) * 8);
}

abstract class CompletionRing {
  protected readonly capacity: number;
  protected readonly words: Int32Array;
  protected readonly cells: Float64Array;
  readonly #mask: number;

  constructor(capacity: number, memory: SharedArrayBuffer) {
    this.capacity = capacity;
    this.words = new Int32Array(memory, 0, HEADER_CELLS * 2);
    this.cells = new Float64Array(memory);
    this.#mask = slotsFor(capacity) - 1;
  }

  /** First cell of the entry at a position. */
  protected at(position: number): number {
    return HEADER_CELLS + (position & this.#mask) * ENTRY_CELLS;
  }
}

export class CompletionWriter extends CompletionRing {
  #tail = 0;

  /** Entries written and not polled. */
  get length(): number {
    return (this.#tail - Atomics.load(this.words, HEAD)) | 0;
  }

  get full(): boolean {
    return this.length >= this.capacity;
  }

  /** The ring must not be full. Seen by the application after `publish`. */
  write(wc: WorkCompletion): void {
    const { cells } = this;
    const at = this.at(this.#tail);
    cells[at] = wc.wrId;
    cells[at + 1] = wc.status;
    cells[at + 2] = wc.opcode;
    cells[at + 3] = wc.byteLen;
    cells[at + 4] = wc.immData;
    cells[at + 5] = wc.invalidatedRkey;
    cells[at + 6] = wc.solicited ? 1 : 0;
    cells[at + 7] = wc.qpn;
    this.#tail = (this.#tail + 1) | 0;
  }

  /** Shows what was written; true when the application wants to be told, once. */
  publish(overrun: boolean): boolean {
    Atomics.store(this.words, TAIL, this.#tail);
    if (overrun) Atomics.store(this.words, OVERRUN, 1);
    return Atomics.exchange(this.words, WANTED, 0) === 1;
  }
}

export class CompletionReader extends CompletionRing {
  #head = 0;

  get length(): number {
    return (Atomics.load(this.words, TAIL) - this.#head) | 0;
  }

  get overrun(): boolean {
    return Atomics.load(this.words, OVERRUN) === 1;
  }

  /** Moves the oldest entry into `into`; false when there is none. */
  poll(into: WorkCompletion): boolean {
    if (this.length === 0) return false;
    const { cells } = this;
    const at = this.at(this.#head);
    into.wrId = cells[at] as number;
    into.status = cells[at + 1] as WcStatus;
    into.opcode = cells[at + 2] as number;
    into.byteLen = cells[at + 3] as number;
    into.immData = cells[at + 4] as number;
    into.invalidatedRkey = cells[at + 5] as number;
    into.solicited = cells[at + 6] === 1;
    into.qpn = cells[at + 7] as number;
    this.#head = (this.#head + 1) | 0;
    Atomics.store(this.words, HEAD, this.#head);
    return true;
  }

  /** Asks to be told of the next entry; true when one is there already. */
  want(): boolean {
    Atomics.store(this.words, WANTED, 1);
    return this.length > 0;
  }
}

/** A power of two, so that positions may wrap. */
function slotsFor(capacity: number): number {
  return 2 ** Math.ceil(Math.log2(capacity));
}

const TAIL = 0;
const HEAD = 1;
const WANTED = 2;
const OVERRUN = 3;
const HEADER_CELLS = 2;
const ENTRY_CELLS = 8;
