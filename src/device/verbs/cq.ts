/** Completion queue of the verbs API: transport/completion-queue.ts with the promises that an application awaits. */
import { RoceError } from '../../../packets/errors.ts';
import { CompletionQueue, Notification } from '../../../transport/completion-queue.ts';
import type { TransportPools } from '../../../transport/pools.ts';
import { WorkCompletion } from '../../../transport/work.ts';
import { AsyncQueue } from '../../ground/async-queue.ts';
import type { CqEvent, RdmaCq } from '../api.ts';

interface Waiter {
  readonly resolve: (result: IteratorResult<WorkCompletion>) => void;
  readonly reject: (error: RoceError) => void;
}

/**
 * Where completions arrive (ibv_cq): `poll` without waiting, or `for await` over them.
 *
 * @example
 * ```ts
 * import { attachDevice, World, WrOpcode, wcStatusName } from 'rocev2';
 *
 * const world = new World({ seed: 1 });
 * const a = attachDevice(world, 'a', { addresses: ['10.0.0.1/24'] });
 * const b = attachDevice(world, 'b', { addresses: ['10.0.0.2/24'] });
 * const [toA, toB] = [a.createCq(16), b.createCq(16)];
 * const qp = a.allocPd().createQp({ sendCq: toA, recvCq: toA });
 * const peer = b.allocPd().createQp({ sendCq: toB, recvCq: toB });
 * const accepted = b.cm.listen(7471).next().then(({ value }) => value.accept({ qp: peer }));
 * await world.run(Promise.all([a.cm.connect({ address: '10.0.0.2', port: 7471, qp }), accepted]));
 * peer.postRecv({ wrId: 1 });
 * qp.postSend({ wrId: 2, opcode: WrOpcode.SendWithImm, immData: 42 });
 * for (const cq of [toA, toB]) {
 *   const { value: completion } = await world.run(cq.next());
 *   console.log(completion.wrId, wcStatusName(completion.status), completion.immData);
 * }
 * // 2 success -1
 * // 1 success 42
 * ```
 */
export class Cq extends CompletionQueue implements RdmaCq {
  /** Asynchronous events: that the queue has overrun. */
  readonly events = new AsyncQueue<CqEvent>();
  readonly #most: number;
  #waiting: Waiter[] = [];
  /** Pending notification requests: for any completion, and for a solicited one. */
  #notifyAny: ((notified: boolean) => void)[] = [];
  #notifySolicited: ((notified: boolean) => void)[] = [];
  #closed = false;

  /** `most` is the largest capacity of the device. */
  constructor(capacity: number, notified: CompletionQueue[], most = Number.POSITIVE_INFINITY, pools?: TransportPools) {
    super(capacity, notified, pools);
    this.#most = most;
    this.#checkMost(capacity);
  }

  override resize(capacity: number): void {
    this.#checkMost(capacity);
    super.resize(capacity);
  }

  /**
   * The next completion, a fresh object; waits for it. Done when the device closes. Rejects with ERR_ROCE_LIMIT when
   * the queue has overrun and its remaining completions have been polled.
   */
  next(): Promise<IteratorResult<WorkCompletion>> {
    const wc = new WorkCompletion();
    if (this.#waiting.length === 0 && this.poll(wc)) return Promise.resolve({ done: false, value: wc });
    if (this.overrun) return Promise.reject(this.#overrunError());
    if (this.#closed) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.arm(false);
    });
  }

  /** Every completion, until the device closes. */
  [Symbol.asyncIterator](): AsyncIterator<WorkCompletion> {
    return { next: () => this.next() };
  }

  reqNotify(solicitedOnly = false): Promise<boolean> {
    if (this.#closed || this.overrun) return Promise.resolve(false);
    return new Promise((resolve) => {
      (solicitedOnly ? this.#notifySolicited : this.#notifyAny).push(resolve);
      this.arm(solicitedOnly);
    });
  }

  /** For the device: completions arrived while a promise was pending, or did not fit. @internal */
  settle(): void {
    const notifications = this.takeNotifications();
    if ((notifications & Notification.Any) !== 0) answer(this.#notifyAny, true);
    if ((notifications & Notification.Solicited) !== 0) answer(this.#notifySolicited, true);
    this.#settleWaiting();
    if (!this.overrun) return;
    // No further completion can come.
    answer(this.#notifyAny, false);
    answer(this.#notifySolicited, false);
  }

  /** For the device: no more completions will come. @internal */
  close(): void {
    this.settle();
    this.#closed = true;
    for (const { resolve } of this.#waiting.splice(0)) resolve({ done: true, value: undefined });
    answer(this.#notifyAny, false);
    answer(this.#notifySolicited, false);
    this.events.close();
  }

  #settleWaiting(): void {
    while (this.#waiting.length > 0) {
      const wc = new WorkCompletion();
      if (!this.poll(wc)) break;
      this.#waiting.shift()?.resolve({ done: false, value: wc });
    }
    if (this.#waiting.length === 0) return;
    if (this.overrun) for (const { reject } of this.#waiting.splice(0)) reject(this.#overrunError());
    else this.arm(false);
  }

  #checkMost(capacity: number): void {
    if (capacity > this.#most)
      throw new RoceError('ERR_ROCE_ARGUMENT', `a completion queue has at most ${this.#most} entries`);
  }

  #overrunError(): RoceError {
    return new RoceError('ERR_ROCE_LIMIT', `the completion queue of ${this.capacity} entries has overrun`);
  }
}

function answer(waiting: ((notified: boolean) => void)[], notified: boolean): void {
  for (const resolve of waiting.splice(0)) resolve(notified);
}

/**
 * Makes a completion queue that adds itself to `notified` when it is to be settled, and never has more than `most`
 * entries.
 */
export type CqMaker = (capacity: number, notified: Cq[], most: number, pools: TransportPools) => Cq;

export const makeCq: CqMaker = (capacity, notified, most, pools) => new Cq(capacity, notified, most, pools);
