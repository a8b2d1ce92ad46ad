/**
 * A completion queue in shared memory: the worker writes, the application polls. Nothing is lost and nothing is copied
 * twice; an entry occupies its place until it is polled, so an overrun happens exactly where it would in one thread.
 *
 * To be notified of the next completion, the application sets a bit (`want`) and polls again; the worker publishes and
 * then reads the bit. One of the two sees the other's write (Atomics are sequentially consistent). A notification only
 * means: poll again. Counts show what has arrived since.
 *
 * Resizing moves the entries to other memory while the application blocks in its call.
 */
import { invariant } from '../../../packets/errors.ts';
import type { WcStatus, WorkCompletion } from '../../../transport/work.ts';

export function completionRingMemory(capacity: number): SharedArrayBuffer {
  return new SharedArrayBuffer((HEADER_CELLS + slotsFor(capacity) * ENTRY_CELLS) * 8);
}

/**
 * Pending waits of the application, a bit set: a completion itself, a notification of any, a notification of a
 * solicited or failed one.
 */
export const NotifyMode = { Next: 1, Any: 2, Solicited: 4 } as const;
const ALL = NotifyMode.Next | NotifyMode.Any | NotifyMode.Solicited;

abstract class CompletionRing {
  protected capacity: number;
  protected words: Int32Array;
  protected cells: Float64Array;
  #mask: number;

  constructor(capacity: number, memory: SharedArrayBuffer) {
    this.capacity = capacity;
    this.words = new Int32Array(memory, 0, HEADER_CELLS * 2);
    this.cells = new Float64Array(memory);
    this.#mask = slotsFor(capacity) - 1;
  }

  /** Continues in other memory at the same positions. */
  protected use(capacity: number, memory: SharedArrayBuffer): void {
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
  /** Entries that are solicited or failed, written since the last `publish`. */
  #solicited = 0;

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
    cells[at + 6] = (wc.solicited ? SOLICITED_BIT : 0) | (wc.grh ? GRH_BIT : 0) | (wc.ipVersion << IP_VERSION_SHIFT);
    cells[at + 7] = wc.qpn;
    cells[at + 8] = wc.srcQpn;
    this.#tail = (this.#tail + 1) | 0;
    if (wc.solicited || wc.status !== 0) this.#solicited += 1;
  }

  /** Publishes the entries written; true when the application waits for a notification, once. */
  publish(overrun: boolean): boolean {
    Atomics.store(this.words, TAIL, this.#tail);
    if (overrun) Atomics.store(this.words, OVERRUN, 1);
    const due = this.#solicited > 0 || overrun ? ALL : NotifyMode.Next | NotifyMode.Any;
    // After the entries: a reader of the count must see them.
    if (this.#solicited > 0) Atomics.add(this.words, SOLICITED, this.#solicited);
    this.#solicited = 0;
    if ((Atomics.load(this.words, WANTED) & due) === 0) return false;
    Atomics.store(this.words, WANTED, 0);
    return true;
  }

  /** Moves the entries not polled yet. `memory` is fresh and large enough. */
  moveTo(capacity: number, memory: SharedArrayBuffer): void {
    const { words, cells } = this;
    const first = Atomics.load(words, HEAD);
    invariant(this.length >= 0 && this.length <= this.capacity, 'a completion queue holds its capacity at most');
    const from: number[] = [];
    for (let position = first; position !== this.#tail; position = (position + 1) | 0) from.push(this.at(position));
    this.use(capacity, memory);
    this.words.set(words);
    for (let i = 0; i < from.length; i++) {
      const at = from[i] as number;
      this.cells.set(cells.subarray(at, at + ENTRY_CELLS), this.at((first + i) | 0));
    }
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

  /** Entries there ever were, or of these the solicited and failed ones, modulo 2^32. */
  count(solicitedOnly: boolean): number {
    return Atomics.load(this.words, solicitedOnly ? SOLICITED : TAIL);
  }

  /** Moves the oldest entry into `into`; false when there is none. */
  poll(into: WorkCompletion): boolean {
    const { length, cells } = this;
    if (length === 0) return false;
    invariant(length > 0 && length <= this.capacity, 'a completion queue holds its capacity at most');
    const at = this.at(this.#head);
    into.wrId = cells[at] as number;
    into.status = cells[at + 1] as WcStatus;
    into.opcode = cells[at + 2] as number;
    into.byteLen = cells[at + 3] as number;
    into.immData = cells[at + 4] as number;
    into.invalidatedRkey = cells[at + 5] as number;
    const bits = cells[at + 6] as number;
    into.solicited = (bits & SOLICITED_BIT) !== 0;
    into.grh = (bits & GRH_BIT) !== 0;
    into.ipVersion = bits >>> IP_VERSION_SHIFT;
    into.qpn = cells[at + 7] as number;
    into.srcQpn = cells[at + 8] as number;
    this.#head = (this.#head + 1) | 0;
    Atomics.store(this.words, HEAD, this.#head);
    return true;
  }

  /** Requests a notification: a bit set of `NotifyMode`. True when there is an entry already. */
  want(what: number): boolean {
    Atomics.or(this.words, WANTED, what);
    return this.length > 0;
  }

  /** Follows `CompletionWriter.moveTo`. */
  moveTo(capacity: number, memory: SharedArrayBuffer): void {
    this.use(capacity, memory);
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
/** How many entries were solicited or failed. */
const SOLICITED = 4;
const HEADER_CELLS = 3;
const ENTRY_CELLS = 9;
const SOLICITED_BIT = 1;
const GRH_BIT = 2;
const IP_VERSION_SHIFT = 2;
