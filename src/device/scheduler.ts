/**
 * Schedules queue pairs: those with packets to send in the order they became ready, and the deadlines of all. The cost
 * grows with the active queue pairs, not with the existing ones.
 */
import type { FrameWriter } from '../../packets/frame-writer.ts';
import { RcQueuePair } from '../../transport/rc-queue-pair.ts';
import { EventQueue } from '../ground/event-queue.ts';
import type { InternalErrors } from './internal-errors.ts';
import type { Qp } from './verbs/index.ts';

/** Turns taken from the front of the list before it is compacted. */
const COMPACT_AFTER = 1024;

export class Scheduler {
  readonly #qps: ReadonlyMap<number, Qp>;
  readonly #errors: InternalErrors;
  /** From `#head` to `#tail`; cutting the array would give back its memory with every turn. */
  readonly #ready: (Qp | undefined)[] = [];
  #head = 0;
  #tail = 0;
  /** At most one entry of a queue pair is valid: the one whose time is its `heapDeadline`. */
  readonly #deadlines = new EventQueue();

  /** `qps` is the device's table; a destroyed queue pair has no deadline, but may still send a last packet. */
  constructor(qps: ReadonlyMap<number, Qp>, errors: InternalErrors) {
    this.#qps = qps;
    this.#errors = errors;
  }

  /** Lists a queue pair if it has something to send, and notes its deadline if it moved forward. */
  note(qp: Qp): void {
    const { core } = qp;
    if (core.broken) return;
    if (!core.listed && core.pending) {
      core.listed = true;
      this.#ready[this.#tail++] = qp;
    }
    const deadline = core.nextDeadline();
    if (deadline !== Infinity && deadline < core.heapDeadline) {
      core.heapDeadline = deadline;
      this.#deadlines.push(deadline, core.qpn);
    }
  }

  /**
   * Lets queue pairs transmit until none has packets to send or the writer is full; true in the second case. One that
   * throws is taken out of service, and the others go on.
   */
  transmit(now: number, writer: FrameWriter, after: (qp: Qp) => void): boolean {
    const ready = this.#ready;
    while (!writer.full && this.#head < this.#tail) {
      const qp = ready[this.#head] as Qp;
      ready[this.#head++] = undefined;
      qp.core.listed = false;
      if (qp.core.broken) continue;
      try {
        qp.core.transmit(now, writer);
        after(qp);
      } catch (error) {
        this.#errors.caught('transmit', error, qp);
      }
    }
    if (this.#head === this.#tail) {
      this.#head = 0;
      this.#tail = 0;
      return false;
    }
    if (this.#head > COMPACT_AFTER) this.#compact();
    return true;
  }

  /** Whether queue pairs have packets to send. */
  get ready(): boolean {
    return this.#head < this.#tail;
  }

  #compact(): void {
    const left = this.#tail - this.#head;
    this.#ready.copyWithin(0, this.#head, this.#tail);
    this.#ready.length = left;
    this.#head = 0;
    this.#tail = left;
  }

  /** As `Machine.held`: deadlines become later, which their entries learn when they are looked at. */
  held(sinceNs: number, untilNs: number): void {
    for (const { core } of this.#qps.values()) if (core instanceof RcQueuePair) core.held(sinceNs, untilNs);
  }

  /** Deadlines of queue pairs, those aside that no longer hold. */
  get timers(): number {
    this.#dropStale();
    return this.#deadlines.size;
  }

  nextDeadline(): number {
    this.#dropStale();
    return this.#deadlines.peekTime();
  }

  /** The next queue pair whose deadline has come, or undefined. */
  takeDue(now: number): Qp | undefined {
    this.#dropStale();
    if (this.#deadlines.peekTime() > now) return undefined;
    const qp = this.#qps.get(this.#deadlines.pop());
    if (qp !== undefined) qp.core.heapDeadline = Infinity;
    return qp;
  }

  /** Drops entries of destroyed queue pairs and moves entries whose deadline became later. */
  #dropStale(): void {
    const heap = this.#deadlines;
    while (heap.size > 0) {
      const time = heap.peekTime();
      const qp = this.#qps.get(heap.peek());
      const current = qp !== undefined && qp.core.heapDeadline === time;
      const deadline = current ? this.#deadlineOf(qp) : Infinity;
      if (current && deadline <= time) return;
      heap.pop();
      if (!current) continue;
      qp.core.heapDeadline = deadline;
      if (deadline < Infinity) heap.push(deadline, qp.qpn);
    }
  }

  #deadlineOf(qp: Qp): number {
    if (qp.core.broken) return Infinity;
    try {
      return qp.core.nextDeadline();
    } catch (error) {
      this.#errors.caught('timeout', error, qp);
      return Infinity;
    }
  }
}
