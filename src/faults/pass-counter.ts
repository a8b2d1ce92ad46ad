/**
 * How often each number of a sequence has passed: what Lumina calls the iteration of a PSN.
 *
 * Owns the counts, as runs of neighbours that have passed equally often: a long flow without repetition is one run, a
 * go-back adds a few. Memory is bounded; what lies further back than the runs that are kept counts as new.
 */

export class PassCounter {
  /** One past the largest number that has passed. */
  next: number;
  #starts = new Float64Array(FIRST_RUNS);
  #counts = new Uint32Array(FIRST_RUNS);
  #runs = 0;

  /** @param next the number expected first */
  constructor(next = 0) {
    this.next = next;
  }

  /** Notes that `value`, a safe integer, passes; returns how often it has now. */
  pass(value: number): number {
    if (this.#runs + RUNS_PER_PASS > MAX_RUNS) this.#forgetOldest();
    if (this.#runs === 0) return this.#appendFirst(value);
    if (value >= this.next) return this.#append(value);
    const first = this.#starts[0] ?? 0;
    return value < first ? this.#prepend(value, first) : this.#passAgain(value);
  }

  #appendFirst(value: number): number {
    this.#insert(0, value, 1);
    this.next = value + 1;
    return 1;
  }

  #append(value: number): number {
    if (value > this.next) this.#insert(this.#runs, this.next, 0);
    if (this.#counts[this.#runs - 1] !== 1) this.#insert(this.#runs, value, 1);
    this.next = value + 1;
    return 1;
  }

  #prepend(value: number, first: number): number {
    if (value + 1 === first && this.#counts[0] === 1) {
      this.#starts[0] = value;
      return 1;
    }
    if (value + 1 < first) this.#insert(0, value + 1, 0);
    this.#insert(0, value, 1);
    return 1;
  }

  #passAgain(value: number): number {
    const run = this.#find(value);
    const count = (this.#counts[run] ?? 0) + 1;
    const atStart = this.#starts[run] === value;
    const atEnd = this.#endOf(run) === value + 1;
    const joinsPrevious = atStart && run > 0 && this.#counts[run - 1] === count;
    const joinsNext = atEnd && run + 1 < this.#runs && this.#counts[run + 1] === count;
    if (atStart && atEnd) this.#raise(run, count, joinsPrevious, joinsNext);
    else if (joinsPrevious) this.#starts[run] = value + 1;
    else if (joinsNext) this.#starts[run + 1] = value;
    else this.#split(run, value, count, atStart, atEnd);
    return count;
  }

  /** A run of one number passes again. */
  #raise(run: number, count: number, joinsPrevious: boolean, joinsNext: boolean): void {
    this.#counts[run] = count;
    if (joinsNext) this.#remove(run + 1);
    if (joinsPrevious) this.#remove(run);
  }

  #split(run: number, value: number, count: number, atStart: boolean, atEnd: boolean): void {
    if (!atEnd) this.#insert(run + 1, value + 1, count - 1);
    if (!atStart) this.#insert(run + 1, value, count);
    else this.#counts[run] = count;
  }

  /** The run that holds `value`, which is not before the first. */
  #find(value: number): number {
    let low = 0;
    let high = this.#runs - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#starts[middle] ?? 0) <= value) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #endOf(run: number): number {
    return run + 1 < this.#runs ? (this.#starts[run + 1] ?? 0) : this.next;
  }

  #insert(at: number, start: number, count: number): void {
    if (this.#runs === this.#starts.length) this.#grow();
    this.#starts.copyWithin(at + 1, at, this.#runs);
    this.#counts.copyWithin(at + 1, at, this.#runs);
    this.#starts[at] = start;
    this.#counts[at] = count;
    this.#runs++;
  }

  #remove(at: number): void {
    this.#starts.copyWithin(at, at + 1, this.#runs);
    this.#counts.copyWithin(at, at + 1, this.#runs);
    this.#runs--;
  }

  #forgetOldest(): void {
    const from = this.#runs >>> 1;
    this.#starts.copyWithin(0, from, this.#runs);
    this.#counts.copyWithin(0, from, this.#runs);
    this.#runs -= from;
  }

  #grow(): void {
    const starts = new Float64Array(this.#starts.length * 2);
    const counts = new Uint32Array(starts.length);
    starts.set(this.#starts);
    counts.set(this.#counts);
    this.#starts = starts;
    this.#counts = counts;
  }
}

const FIRST_RUNS = 8;
const MAX_RUNS = 512;
/** How many runs one pass can add. */
const RUNS_PER_PASS = 2;
