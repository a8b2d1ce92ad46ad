/**
 * The receive queue: buffers waiting for the peer's SENDs, taken strictly in order. The responder takes a buffer out
 * and owns it until its completion, so that a shared receive queue (srq.ts) can stand in for this class. A queue has
 * the protection domain of its buffers and the queue where they complete, for both may be others than the queue pair's.
 *
 * Receives may also lie with the application until they are needed (`ReceiveSource`): in a ring that it writes without
 * telling anyone, as the user provider of rdma_rxe does. Then the queue looks there when it is asked for one.
 */
import { RoceError } from '../packets/errors.ts';
import type { CompletionQueue } from './completion-queue.ts';
import type { ReceiveInspection } from './inspection.ts';
import type { ProtectionDomain } from './memory.ts';
import { RecvEntry } from './recv-entry.ts';
import { type Pool, Ring } from './ring.ts';
import { checkSges } from './segments.ts';
import { type RecvWr, WcOpcode, WcStatus } from './work.ts';

/** Where receives wait until one is needed. What is in it may change at any time. */
export interface ReceiveSource {
  /** Receives that wait. */
  readonly length: number;
  /**
   * Takes the oldest out and fills `entry` with it, of which nothing is left from before; false when there is none.
   * What is wrong with it shows when its memory is used.
   *
   * @internal
   */
  pull(entry: RecvEntry): boolean;
  /**
   * One that was taken out will not complete: its queue pair was reset or destroyed.
   *
   * @internal
   */
  forget?(entry: RecvEntry): void;
}

export class RecvQueue {
  /** The domain that the memory of the buffers belongs to. */
  readonly pd: ProtectionDomain;
  /** Where buffers complete that were taken out; undefined: in the queue pair's own completion queue. */
  readonly cq: CompletionQueue | undefined;
  /** Pieces of memory of one receive at most. */
  readonly maxSge: number;
  protected readonly ring: Ring<RecvEntry>;
  /** Where receives come from that nobody has posted here. */
  readonly #source: ReceiveSource | undefined;

  constructor(
    capacity: number,
    maxSge: number,
    pd: ProtectionDomain,
    pool: Pool<RecvEntry>,
    cq?: CompletionQueue,
    source?: ReceiveSource,
  ) {
    this.ring = new Ring(capacity, pool);
    this.#source = source;
    this.maxSge = maxSge;
    this.pd = pd;
    this.cq = cq;
  }

  /** Receives posted and not yet taken. */
  get length(): number {
    return this.#source === undefined ? this.ring.length : this.ring.length + this.#source.length;
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
    if (this.ring.length === 0 && this.#source === undefined) return undefined;
    spent.segments.release();
    if (this.ring.length > 0) return this.ring.exchange(spent);
    return this.#source?.pull(spent) === true ? spent : undefined;
  }

  /** A buffer that was taken out will not complete. @internal */
  forget(taken: RecvEntry): void {
    this.#source?.forget?.(taken);
  }

  /** Completes all that wait as flushed, for queue pair `qpn`. @internal */
  flush(qpn: number, cq: CompletionQueue): void {
    let spent = new RecvEntry();
    // A source cannot be trusted to end: an application that goes on posting would keep this loop going.
    let most = this.length;
    for (let taken = this.take(spent); taken !== undefined; taken = --most > 0 ? this.take(spent) : undefined) {
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
