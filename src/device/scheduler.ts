/**
 * Schedules queue pairs: those with packets to send in the order they became ready, and the deadlines of all. The cost
 * grows with the active queue pairs, not with the existing ones.
 */
import type { FrameWriter } from '../../packets/frame-writer.ts';
import { EventQueue } from '../ground/event-queue.ts';
import type { Qp } from './verbs/index.ts';

/** Turns taken from the front of the list before it is compacted. */
const COMPACT_AFTER = 1024;

export class Scheduler {
  readonly #qps: ReadonlyMap<number, Qp>;
  readonly #ready: Qp[] = [];
  #head = 0;
  /** At most one entry of a queue pair is valid: the one whose time is its `heapDeadline`. */
  readonly #deadlines = new EventQueue();

  /** `qps` is the device's table; a destroyed queue pair has no deadline, but may still send a last packet. */
  constructor(qps: ReadonlyMap<number, Qp>) {
    this.#qps = qps;
  }

  /** Lists a queue pair if it has something to send, and notes its deadline if it moved forward. */
  note(qp: Qp): void {
    const { core } = qp;
    if (!core.listed && core.pending) {
      core.listed = true;
      this.#ready.push(qp);
    }
    const deadline = core.nextDeadline();
    if (deadline !== Infinity && deadline < core.heapDeadline) {
      core.heapDeadline = deadline;
      this.#deadlines.push(deadline, core.qpn);
    }
  }

  /**
   * Lets queue pairs transmit until none has packets to send or the writer is full; true in the second case.
   * @param failed called where one of them throws, an error of ours; the others go on
   */
  transmit(
    now: number,
    writer: FrameWriter,
    after: (qp: Qp) => void,
    failed: (qp: Qp, error: unknown) => void,
  ): boolean {
    while (!writer.full && this.#head < this.#ready.length) {
      const qp = this.#ready[this.#head++] as Qp;
      qp.core.listed = false;
      try {
        qp.core.transmit(now, writer);
        after(qp);
      } catch (error) {
        failed(qp, error);
      }
    }
    const more = this.#head < this.#ready.length;
    if (!more || this.#head > COMPACT_AFTER) {
      this.#ready.splice(0, this.#head);
      this.#head = 0;
    }
    return more;
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
      const core = this.#qps.get(heap.peek())?.core;
      const current = core !== undefined && core.heapDeadline === time;
      const deadline = core?.nextDeadline() ?? Infinity;
      if (current && deadline <= time) return;
      heap.pop();
      if (!current) continue;
      core.heapDeadline = deadline;
      if (deadline < Infinity) heap.push(deadline, core.qpn);
    }
  }
}
