/**
 * Shared receive queue: one queue of buffers from which many queue pairs take, each the oldest there is. It reports
 * once when it runs low, and can be resized. What a queue pair has taken belongs to that queue pair (receive-slot.ts).
 * Rules: ibv_create_srq(3), ibv_modify_srq(3); rxe:rxe_srq.c#rxe_srq_chk_attr, rxe:rxe_resp.c#get_srq_wqe.
 */
import { RoceError } from '../packets/errors.ts';
import type { CompletionQueue } from './completion-queue.ts';
import type { ProtectionDomain } from './memory.ts';
import { TransportPools } from './pools.ts';
import type { RecvEntry } from './recv-entry.ts';
import { type ReceiveSource, RecvQueue } from './recv-queue.ts';
import type { RecvWr } from './work.ts';
import type { XrcDomain } from './xrc-domain.ts';

/** Asynchronous events of a shared receive queue, names after ibv_event_type. */
export type SrqEvent = 'srq-limit-reached' | 'srq-err';

/** What may be changed later (ibv_srq_attr). */
export interface SrqAttributes {
  /** Receives there is room for. */
  readonly maxWr?: number;
  /** Reports when fewer receives than this are left, once; 0 for never. At most `maxWr`. */
  readonly limit?: number;
}

/** What a shared receive queue is made with. */
export interface SrqIdentity {
  /** 24 bits; what XRC packets name. */
  readonly srqn: number;
  /** The domain its memory belongs to. */
  readonly pd: ProtectionDomain;
  /** Receives there is room for, 1 or more. */
  readonly maxWr: number;
  /** Pieces of memory of one receive at most. */
  readonly maxSge: number;
  /** For XRC: whose target queue pairs may take, and where their receives complete. */
  readonly xrc?: {
    /** Whose target queue pairs may take. */
    readonly domain: XrcDomain;
    /** Where their receives complete. */
    readonly cq: CompletionQueue;
  };
  /** Those of the device; absent: the queue has its own. */
  readonly pools?: TransportPools;
  /** Where receives wait that are not posted here. */
  readonly source?: ReceiveSource;
}

/**
 * A shared receive queue, sans I/O.
 *
 * @example
 * ```ts
 * import { ProtectionDomain, SharedReceiveQueue } from 'rocev2/transport';
 *
 * const identity = { srqn: 5, pd: new ProtectionDomain(1), maxWr: 16, maxSge: 1 };
 * const srq = new SharedReceiveQueue(identity, []);
 * for (const wrId of [1, 2, 3]) srq.post({ wrId });
 * // Armed: when fewer than two receives are left, it says so once.
 * srq.modify({ limit: 2 }, 1024);
 * console.log(srq.length, srq.maxWr, srq.limit, srq.pollEvent()); // 3 16 2 undefined
 * ```
 */
export class SharedReceiveQueue extends RecvQueue {
  /** Its number, 24 bits: what XRC packets name. */
  readonly srqn: number;
  /** The XRC domain it belongs to, if any. */
  readonly domain: XrcDomain | undefined;
  /** Queue pairs that take from this queue. */
  users = 0;
  /** Set when buffers taken could not be completed any more: nothing is posted or taken from then on. */
  failed = false;
  readonly #notified: SharedReceiveQueue[];
  #limit = 0;
  #events: SrqEvent[] | undefined = undefined;

  /** `notified` is the list this queue adds itself to when it has an event. */
  constructor(
    { srqn, pd, maxWr, maxSge, xrc, pools = new TransportPools(), source }: SrqIdentity,
    notified: SharedReceiveQueue[],
  ) {
    super(maxWr, maxSge, pd, pools.receives, xrc?.cq, source);
    this.srqn = srqn;
    this.domain = xrc?.domain;
    this.#notified = notified;
  }

  override get shared(): boolean {
    return true;
  }

  /** Receives there is room for. */
  get maxWr(): number {
    return this.ring.capacity;
  }

  /** The limit the queue is armed with; 0 when it is not, or not any more. */
  get limit(): number {
    return this.#limit;
  }

  /**
   * Changes room and limit; a limit arms the queue. `most` is the most receives the device allows. Throws
   * ERR_ROCE_ARGUMENT and changes nothing for less room than receives posted or than the limit, and ERR_ROCE_STATE
   * after an error.
   */
  modify({ maxWr = this.maxWr, limit = this.#limit }: SrqAttributes, most: number): void {
    this.#demandAlive();
    if (!Number.isInteger(maxWr) || maxWr < 1 || maxWr > most)
      throw new RoceError('ERR_ROCE_ARGUMENT', `maxWr is a whole number from 1 to ${most}`);
    if (!Number.isInteger(limit) || limit < 0 || limit > maxWr)
      throw new RoceError('ERR_ROCE_ARGUMENT', `limit is a whole number from 0 to maxWr, which is ${maxWr}`);
    if (maxWr < this.length)
      throw new RoceError(
        'ERR_ROCE_ARGUMENT',
        `${this.length} receives are posted; there is no room for ${maxWr} only`,
      );
    this.ring.resize(maxWr);
    this.#limit = limit;
  }

  override post(wr: RecvWr): void {
    this.#demandAlive();
    super.post(wr);
  }

  /**
   * As a receive queue; below the limit the queue disarms itself and reports (IBV_EVENT_SRQ_LIMIT_REACHED).
   *
   * @internal
   */
  override take(spent: RecvEntry): RecvEntry | undefined {
    if (this.failed) return undefined;
    const taken = super.take(spent);
    if (taken !== undefined && this.length < this.#limit) {
      this.#limit = 0;
      this.#note('srq-limit-reached');
    }
    return taken;
  }

  /**
   * The completion queue of an XRC shared receive queue has overrun.
   *
   * @internal
   */
  fail(): void {
    if (this.failed) return;
    this.failed = true;
    this.#note('srq-err');
  }

  /** The next asynchronous event, or undefined. */
  pollEvent(): SrqEvent | undefined {
    return this.#events?.shift();
  }

  #note(event: SrqEvent): void {
    this.#events ??= [];
    this.#events.push(event);
    this.#notified.push(this);
  }

  #demandAlive(): void {
    if (this.failed) throw new RoceError('ERR_ROCE_STATE', 'the shared receive queue is in error');
  }
}
