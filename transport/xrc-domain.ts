/**
 * XRC domain: which shared receive queues the XRC target queue pairs of one domain may take from, by the number that
 * XRC packets carry. Rules: ibv_open_xrcd(3), ibv_create_srq_ex(3).
 */
import { RoceError } from '../packets/errors.ts';
import type { RecvQueue } from './recv-queue.ts';

/** A shared receive queue, as its domain knows it. */
export interface XrcReceiveQueue extends RecvQueue {
  /** Its number, 24 bits: what XRC packets name. */
  readonly srqn: number;
}

/**
 * An XRC domain, sans I/O.
 *
 * @example
 * ```ts
 * import { ProtectionDomain, SharedReceiveQueue, XrcDomain } from 'rocev2/transport';
 *
 * const domain = new XrcDomain();
 * const identity = { srqn: 5, pd: new ProtectionDomain(1), maxWr: 16, maxSge: 1 };
 * domain.add(new SharedReceiveQueue(identity, []));
 * // Packets carry the number; a target queue pair of the domain looks it up.
 * console.log(domain.find(5)?.srqn, domain.find(6)); // 5 undefined
 * ```
 */
export class XrcDomain {
  readonly #srqs = new Map<number, XrcReceiveQueue>();
  /** Target queue pairs that belong to this domain. */
  targets = 0;

  /** Takes a queue in, under its number. */
  add(srq: XrcReceiveQueue): void {
    this.#srqs.set(srq.srqn, srq);
  }

  /** Takes it out. */
  remove(srq: XrcReceiveQueue): void {
    this.#srqs.delete(srq.srqn);
  }

  /** The queue that a packet names, or undefined when this domain has none of that number. */
  find(srqn: number): XrcReceiveQueue | undefined {
    return this.#srqs.get(srqn);
  }

  /** Throws ERR_ROCE_IN_USE while something belongs to it. */
  demandUnused(): void {
    const { size } = this.#srqs;
    if (size + this.targets > 0)
      throw new RoceError('ERR_ROCE_IN_USE', `${size} queues and ${this.targets} queue pairs use this XRC domain`);
  }
}
