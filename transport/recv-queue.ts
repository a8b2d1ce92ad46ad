/**
 * The receive queue: buffers waiting for the peer's SENDs, taken strictly in order. The responder takes a buffer out and
 * owns it until its completion, so that a shared receive queue can stand in for this class.
 */
import { RoceError } from '../packets/errors.ts';
import { Pool, Ring } from './ring.ts';
import { checkSges, SegmentList } from './segments.ts';
import type { RecvWr } from './work.ts';

export class RecvEntry {
  wrId = 0;
  readonly segments = new SegmentList();
}

const ENTRIES = new Pool(() => new RecvEntry());

export class RecvQueue {
  readonly #ring: Ring<RecvEntry>;
  readonly #maxSge: number;

  constructor(capacity: number, maxSge: number) {
    this.#ring = new Ring(capacity, ENTRIES);
    this.#maxSge = maxSge;
  }

  get length(): number {
    return this.#ring.length;
  }

  /** Copies a work request into the queue; throws before anything is changed. */
  post(wr: RecvWr): void {
    checkSges(wr.sges, this.#maxSge);
    if (this.#ring.full) {
      throw new RoceError('ERR_ROCE_QUEUE_FULL', `all ${this.#ring.capacity} receive work requests are outstanding`);
    }
    const entry = this.#ring.push();
    entry.wrId = wr.wrId;
    entry.segments.assign(wr.sges ?? []);
  }

  /** The oldest buffer in exchange for a spent entry, or undefined when no receive is posted. */
  take(spent: RecvEntry): RecvEntry | undefined {
    if (this.#ring.length === 0) return undefined;
    spent.segments.release();
    return this.#ring.exchange(spent);
  }

  /** Forgets all buffers, and the memory they named. */
  clear(): void {
    const ring = this.#ring;
    for (let position = ring.head; position < ring.tail; position++) ring.at(position).segments.release();
    ring.clear();
  }
}
