/**
 * Deadlines of many things, of which the earliest is always known: a binary heap whose members know their place, so
 * that moving or dropping a deadline costs a few steps with thousands of connections.
 *
 * Owns: the order. Never: looks at a clock, or decides what a deadline means.
 */

/** What can have a deadline. Both fields are written by `Deadlines` only; begin with Infinity and -1. */
export interface Timed {
  /** In ns; Infinity: none. */
  deadline: number;
  /** Place in the heap; -1: not in it. */
  heapIndex: number;
}

export class Deadlines<T extends Timed> {
  readonly #heap: T[] = [];

  /** Members with a deadline. */
  get size(): number {
    return this.#heap.length;
  }

  /** Gives `member` this deadline in ns instead of the one it had; Infinity for none. */
  set(member: T, deadline: number): void {
    if (deadline === Number.POSITIVE_INFINITY) {
      this.#drop(member);
      member.deadline = deadline;
      return;
    }
    const earlier = deadline < member.deadline;
    member.deadline = deadline;
    if (member.heapIndex < 0) {
      member.heapIndex = this.#heap.length;
      this.#heap.push(member);
    }
    if (earlier) this.#rise(member);
    else this.#sink(member);
  }

  /** The earliest deadline in ns, or Infinity. */
  next(): number {
    return this.#heap[0]?.deadline ?? Number.POSITIVE_INFINITY;
  }

  /** Members whose deadline has come, earliest first. They keep it until the caller sets another. */
  due(now: number): T[] {
    const due: T[] = [];
    const visit = (index: number): void => {
      const member = this.#heap[index];
      if (member === undefined || member.deadline > now) return;
      due.push(member);
      visit(2 * index + 1);
      visit(2 * index + 2);
    };
    visit(0);
    return due.sort((a, b) => a.deadline - b.deadline);
  }

  #drop(member: T): void {
    const at = member.heapIndex;
    if (at < 0) return;
    member.heapIndex = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === member) return;
    this.#place(last, at);
    this.#rise(last);
    this.#sink(last);
  }

  #rise(member: T): void {
    while (member.heapIndex > 0) {
      const parent = this.#heap[(member.heapIndex - 1) >> 1];
      if (parent === undefined || parent.deadline <= member.deadline) return;
      this.#swap(parent, member);
    }
  }

  #sink(member: T): void {
    for (;;) {
      const left = this.#heap[2 * member.heapIndex + 1];
      const right = this.#heap[2 * member.heapIndex + 2];
      const child = right !== undefined && left !== undefined && right.deadline < left.deadline ? right : left;
      if (child === undefined || child.deadline >= member.deadline) return;
      this.#swap(member, child);
    }
  }

  #swap(upper: T, lower: T): void {
    const at = upper.heapIndex;
    this.#place(upper, lower.heapIndex);
    this.#place(lower, at);
  }

  #place(member: T, at: number): void {
    this.#heap[at] = member;
    member.heapIndex = at;
  }
}
