/**
 * The receive queue: buffers waiting for the peer's SENDs, taken strictly in order. The responder takes a buffer out
 * and owns it until its completion, so that a shared receive queue (srq.ts) can stand in for this class. A queue has
 * the protection domain of its buffers and the queue where they complete, for both may be others than the queue pair's.
 */
import { RoceError } from '../packets/errors.ts';
import type { CompletionQueue } from './completion-queue.ts';
import type { ReceiveInspection } from './inspection.ts';
import type { ProtectionDomain } from './memory.ts';
import { RecvEntry } from './recv-entry.ts';
import { type Pool, Ring } from './ring.ts';
import { checkSges } from './segments.ts';
import { type RecvWr, WcOpcode, WcStatus } from './work.ts';

export class RecvQueue {
  /** The domain that the memory of the buffers belongs to. */
  readonly pd: ProtectionDomain;
  /** Where buffers complete that were taken out; undefined: in the queue pair's own completion queue. */
  readonly cq: CompletionQueue | undefined;
  /** Pieces of memory of one receive at most. */
  readonly maxSge: number;
  protected readonly ring: Ring<RecvEntry>;

  constructor(capacity: number, maxSge: number, pd: ProtectionDomain, pool: Pool<RecvEntry>, cq?: CompletionQueue) {
    this.ring = new Ring(capacity, pool);
    this.maxSge = maxSge;
    this.pd = pd;
    this.cq = cq;
  }

  /** Receives posted and not yet taken. */
  get length(): number {
    return this.ring.length;
  }

  /** Whether queue pairs share it. */
  get shared(): boolean {
    return false;
  }

  /** Copies a work request into the queue; throws before anything is changed. */
  post(wr: RecvWr): void {
    checkSges(wr.sges, this.maxSge);
    if (this.ring.full) {
      throw new RoceError('ERR_ROCE_QUEUE_FULL', `all ${this.ring.capacity} receive work requests are outstanding`);
    }
    const entry = this.ring.push();
    entry.wrId = wr.wrId;
    entry.segments.assign(wr.sges ?? []);
  }

  /**
   * The oldest buffer in exchange for a spent entry, or undefined when no receive is posted.
   *
   * @internal
   */
  take(spent: RecvEntry): RecvEntry | undefined {
    if (this.ring.length === 0) return undefined;
    spent.segments.release();
    return this.ring.exchange(spent);
  }

  /** Completes all that wait as flushed, for queue pair `qpn`. @internal */
  flush(qpn: number, cq: CompletionQueue): void {
    let spent = new RecvEntry();
    for (let taken = this.take(spent); taken !== undefined; taken = this.take(spent)) {
      const wc = cq.push(qpn, taken.wrId, WcStatus.WrFlushErr, WcOpcode.Recv, 0);
      if (wc !== undefined) cq.pushed(wc);
      spent = taken;
    }
  }

  /** The receives that wait, oldest first, as plain data. @internal */
  inspect(): ReceiveInspection[] {
    const { ring } = this;
    const list: ReceiveInspection[] = [];
    for (let position = ring.head; position < ring.tail; position++) {
      const { wrId, segments } = ring.at(position);
      list.push({ wrId, length: segments.length });
    }
    return list;
  }

  /** Forgets all buffers, and the memory they named. */
  clear(): void {
    const { ring } = this;
    for (let position = ring.head; position < ring.tail; position++) ring.at(position).segments.release();
    ring.clear();
  }
}
