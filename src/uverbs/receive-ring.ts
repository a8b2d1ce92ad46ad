/**
 * A ring of receives as a source of the transport: the client puts receives in without telling anyone, and they are
 * looked for when a message comes. An entry is the server's as soon as it is taken, and its place the client's again.
 */
import type { RecvEntry } from '../../transport/recv-entry.ts';
import type { ReceiveSource } from '../../transport/recv-queue.ts';
import { RXE_RECV_WQE } from './abi/rxe.ts';
import { Fields } from './fields.ts';
import type { SharedRing } from './host.ts';
import { InboundRing, type RingSize } from './ring.ts';
import type { WorkIds } from './work-ids.ts';
import { readReceive, type WorkObjects } from './work-requests.ts';

export class ReceiveRing implements ReceiveSource {
  readonly ids: WorkIds;
  readonly maxSge: number;
  #ring: InboundRing;
  #wqe: Fields;
  readonly #objects: WorkObjects;

  constructor(ring: InboundRing, maxSge: number, ids: WorkIds, objects: WorkObjects) {
    this.#ring = ring;
    this.#wqe = new Fields(new Uint8Array(ring.size.stride));
    this.maxSge = maxSge;
    this.ids = ids;
    this.#objects = objects;
  }

  get shared(): SharedRing {
    return this.#ring.shared;
  }

  get size(): RingSize {
    return this.#ring.size;
  }

  get length(): number {
    return this.#ring.waiting;
  }

  pull(entry: RecvEntry): boolean {
    const ring = this.#ring;
    if (ring.waiting === 0) return false;
    const wqe = this.#wqe;
    ring.take(wqe.bytes);
    ring.release(ring.next);
    const { wr_id } = RXE_RECV_WQE.at;
    entry.wrId = this.ids.keep(wqe.u32(wr_id + 4), wqe.u32(wr_id));
    entry.segments.assign(readReceive(wqe, this.maxSge, this.#objects));
    return true;
  }

  forget({ wrId }: RecvEntry): void {
    this.ids.take(wrId);
  }

  /** RESET: what waits is forgotten (rxe:rxe_resp.c#flush_recv_queue). */
  drop(): void {
    this.#ring.drop();
  }

  /** Goes on with another ring, to which what waits is copied; the one before is returned. */
  replace(shared: SharedRing, size: RingSize): SharedRing {
    const old = this.#ring;
    const fresh = new InboundRing(shared, size);
    fresh.adopt(old);
    this.#ring = fresh;
    this.#wqe = new Fields(new Uint8Array(size.stride));
    return old.shared;
  }
}
