/**
 * A queue of future events: integers ordered by time, and at the same time by the order in which they were pushed.
 * Owns nothing but its arrays and never looks at a clock. A 4-ary heap in typed arrays: pushing and popping allocate
 * nothing once the arrays have grown, and the tie rule is what makes a simulated run repeatable.
 */
import { invariant } from '../../packets/errors.ts';

/**
 * Events by time, first come first served among equals.
 *
 * @example
 * ```ts
 * import { EventQueue } from 'rocev2/sim';
 *
 * const queue = new EventQueue();
 * queue.push(200, 1);
 * queue.push(100, 2);
 * queue.push(100, 3);
 * console.log(queue.peekTime(), queue.pop(), queue.pop(), queue.pop()); // 100 2 3 1
 * ```
 */
export class EventQueue {
  #times: Float64Array;
  #sequences: Float64Array;
  #payloads: Int32Array;
  #count = 0;
  #nextSequence = 0;

  /**
   * An empty queue.
   *
   * @param capacity events held before the arrays grow (they double)
   */
  constructor(capacity = 64) {
    invariant(capacity >= 1, 'an event queue starts with room for one event');
    this.#times = new Float64Array(capacity);
    this.#sequences = new Float64Array(capacity);
    this.#payloads = new Int32Array(capacity);
  }

  /** Events there are. */
  get size(): number {
    return this.#count;
  }

  /**
   * Adds an event.
   *
   * @param time when, in nanoseconds; finite
   * @param payload a 32-bit signed integer, handed back by `pop`
   */
  push(time: number, payload: number): void {
    // An infinite time never comes and NaN breaks the order: both are bugs of the caller.
    invariant(time < Infinity, 'an event has a finite time');
    if (this.#count === this.#times.length) this.#grow();
    const sequence = this.#nextSequence++;
    let at = this.#count++;
    // A new event has the highest sequence, so a parent at the same time stays above it.
    while (at > 0) {
      const parent = (at - 1) >>> 2;
      if ((this.#times[parent] ?? 0) <= time) break;
      this.#move(parent, at);
      at = parent;
    }
    this.#place(at, time, sequence, payload);
  }

  /** Time of the next event in nanoseconds; Infinity when there is none. */
  peekTime(): number {
    return this.#count === 0 ? Infinity : (this.#times[0] ?? Infinity);
  }

  /** Payload of the next event, which stays in the queue; the queue must not be empty. */
  peek(): number {
    invariant(this.#count > 0, 'peek needs an event');
    return this.#payloads[0] ?? 0;
  }

  /** Takes the next event and returns its payload; the queue must not be empty. */
  pop(): number {
    invariant(this.#count > 0, 'pop needs an event');
    const payload = this.#payloads[0] ?? 0;
    const last = --this.#count;
    if (last > 0) this.#sink(last);
    return payload;
  }

  /** Removes all events. */
  clear(): void {
    this.#count = 0;
  }

  /** Puts the event stored at `from` (past the end) where it belongs, starting at the empty root. */
  #sink(from: number): void {
    const count = this.#count;
    const time = this.#times[from] ?? 0;
    const sequence = this.#sequences[from] ?? 0;
    let at = 0;
    for (;;) {
      const first = 4 * at + 1;
      if (first >= count) break;
      const end = Math.min(first + 4, count);
      let best = first;
      for (let child = first + 1; child < end; child++) if (this.#before(child, best)) best = child;
      const bestTime = this.#times[best] ?? 0;
      if (bestTime > time || (bestTime === time && (this.#sequences[best] ?? 0) > sequence)) break;
      this.#move(best, at);
      at = best;
    }
    this.#place(at, time, sequence, this.#payloads[from] ?? 0);
  }

  #before(a: number, b: number): boolean {
    const timeA = this.#times[a] ?? 0;
    const timeB = this.#times[b] ?? 0;
    return timeA < timeB || (timeA === timeB && (this.#sequences[a] ?? 0) < (this.#sequences[b] ?? 0));
  }

  #move(from: number, to: number): void {
    this.#place(to, this.#times[from] ?? 0, this.#sequences[from] ?? 0, this.#payloads[from] ?? 0);
  }

  #place(at: number, time: number, sequence: number, payload: number): void {
    this.#times[at] = time;
    this.#sequences[at] = sequence;
    this.#payloads[at] = payload;
  }

  #grow(): void {
    const capacity = this.#times.length * 2;
    const times = new Float64Array(capacity);
    const sequences = new Float64Array(capacity);
    const payloads = new Int32Array(capacity);
    times.set(this.#times);
    sequences.set(this.#sequences);
    payloads.set(this.#payloads);
    this.#times = times;
    this.#sequences = sequences;
    this.#payloads = payloads;
  }
}
