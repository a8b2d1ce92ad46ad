/**
 * The same queue of future events as `EventQueue`, for events of which nearly all are near: one list for each of the
 * next 4,096 nanoseconds, and a heap for what is later. Pushing and popping cost the same however many events there
 * are.
 *
 * Owns its arrays and the time of the event taken last, before which none may be pushed. Ties go first come first
 * served: an event moves from the heap to its list as soon as its time is near, before anything else can be pushed
 * there.
 */
import { invariant } from '../../../packets/errors.ts';
import { EventQueue } from '../../ground/event-queue.ts';

/** Nanoseconds that have a list. */
const SPAN = 4096;
const SPAN_MASK = SPAN - 1;
const WORDS = SPAN >>> 5;
const FIRST_ROWS = 256;

/** Events by whole nanoseconds, first come first served among equals. */
export class EventWheel {
  /** When the next event is; Infinity when there is none. */
  nextTime = Infinity;
  readonly #later = new EventQueue();
  /** First and last row of each list; -1 for none. */
  readonly #heads = new Int32Array(SPAN).fill(-1);
  readonly #tails = new Int32Array(SPAN).fill(-1);
  /** Bit n of word w: list 32 w + n is not empty. Bit w of the summary: word w is not 0. */
  readonly #bits = new Int32Array(WORDS);
  readonly #summary = new Int32Array(WORDS >>> 5);
  #payloads = new Int32Array(FIRST_ROWS);
  /** Behind each row: the next of its list, or the next free one. */
  #next = new Int32Array(FIRST_ROWS);
  #free = -1;
  #near = 0;
  /** Time of the event taken last: lists are for the `SPAN` nanoseconds from here on. */
  #now = 0;

  constructor() {
    this.#chain(0, FIRST_ROWS);
  }

  /** Events there are. */
  get size(): number {
    return this.#near + this.#later.size;
  }

  /** Adds an event at `time`, a whole number of nanoseconds not before that of the event taken last. */
  push(time: number, payload: number): void {
    if (time - this.#now < SPAN) this.#insert(time, payload);
    else this.#later.push(time, payload);
    if (time < this.nextTime) this.nextTime = time;
  }

  /** Takes the next event and returns its payload; the queue must not be empty. */
  pop(): number {
    const time = this.nextTime;
    if (time !== this.#now) this.#moveTo(time);
    const at = time & SPAN_MASK;
    const row = this.#heads[at] as number;
    invariant(row >= 0, 'pop needs an event');
    const next = this.#next[row] as number;
    this.#heads[at] = next;
    this.#next[row] = this.#free;
    this.#free = row;
    this.#near--;
    if (next < 0) {
      this.#tails[at] = -1;
      this.#clear(at);
      this.nextTime = this.#near > 0 ? time + this.#distance(at) : this.#later.peekTime();
    }
    return this.#payloads[row] as number;
  }

  #moveTo(time: number): void {
    invariant(time < Infinity, 'pop needs an event');
    this.#now = time;
    const later = this.#later;
    while (later.peekTime() - time < SPAN) {
      const at = later.peekTime();
      this.#insert(at, later.pop());
    }
  }

  #insert(time: number, payload: number): void {
    if (this.#free < 0) this.#grow();
    const row = this.#free;
    this.#free = this.#next[row] as number;
    this.#payloads[row] = payload;
    this.#next[row] = -1;
    const at = time & SPAN_MASK;
    const tail = this.#tails[at] as number;
    this.#tails[at] = row;
    this.#near++;
    if (tail >= 0) {
      this.#next[tail] = row;
      return;
    }
    this.#heads[at] = row;
    const word = at >>> 5;
    this.#bits[word] = (this.#bits[word] as number) | (1 << (at & 31));
    this.#summary[word >>> 5] = (this.#summary[word >>> 5] as number) | (1 << (word & 31));
  }

  #clear(at: number): void {
    const word = at >>> 5;
    const left = (this.#bits[word] as number) & ~(1 << (at & 31));
    this.#bits[word] = left;
    if (left === 0) this.#summary[word >>> 5] = (this.#summary[word >>> 5] as number) & ~(1 << (word & 31));
  }

  /** How far behind list `at`, which is empty, the next one lies that is not, going round; there is one. */
  #distance(at: number): number {
    const word = at >>> 5;
    const here = (this.#bits[word] as number) & (-2 << (at & 31));
    if ((at & 31) !== 31 && here !== 0) return lowest(here) - (at & 31);
    const found = this.#wordFrom((word + 1) & (WORDS - 1));
    return (found * 32 + lowest(this.#bits[found] as number) - at) & SPAN_MASK;
  }

  /** The first word from `word` on, going round, that is not 0. */
  #wordFrom(word: number): number {
    let group = word >>> 5;
    let bits = (this.#summary[group] as number) & (-1 << (word & 31));
    while (bits === 0) {
      group = (group + 1) & (this.#summary.length - 1);
      bits = this.#summary[group] as number;
    }
    return group * 32 + lowest(bits);
  }

  #grow(): void {
    const before = this.#payloads.length;
    const payloads = new Int32Array(before * 2);
    const next = new Int32Array(before * 2);
    payloads.set(this.#payloads);
    next.set(this.#next);
    this.#payloads = payloads;
    this.#next = next;
    this.#chain(before, before * 2);
  }

  #chain(from: number, to: number): void {
    for (let row = from; row < to; row++) this.#next[row] = row + 1 < to ? row + 1 : this.#free;
    this.#free = from;
  }
}

/** Number of the lowest bit that is set. */
function lowest(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}
