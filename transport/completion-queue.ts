/**
 * Completion queue: where finished work waits for the application. Bounded; entries are reused. An overflow loses
 * nothing silently: the queue is marked overrun for good, which verbs report as an asynchronous CQ error, and keeps
 * what had fitted. Resizing and arming: ibv_resize_cq(3), ibv_req_notify_cq(3).
 */
import { RoceError } from '../packets/errors.ts';
import { TransportPools } from './pools.ts';
import { Ring } from './ring.ts';
import type { QpTrace } from './trace.ts';
import type { WcStatus, WorkCompletion } from './work.ts';

/** What a completion queue is armed for, and which notifications have come: one-shot, each by itself. */
export const Notification = {
  /** Nothing. */
  None: 0,
  /** The next completion that was solicited or failed. */
  Solicited: 1,
  /** The next completion. */
  Any: 2,
} as const;
const BOTH = Notification.Solicited | Notification.Any;

/**
 * A completion queue, sans I/O.
 *
 * @example
 * ```ts
 * import { CompletionQueue, WcOpcode, WcStatus, WorkCompletion } from 'rocev2/transport';
 *
 * const notified: CompletionQueue[] = [];
 * const cq = new CompletionQueue(2, notified);
 * cq.arm(false);
 * // What a queue pair does when work is done.
 * for (const wrId of [1, 2, 3]) {
 *   const entry = cq.push(0x11, wrId, WcStatus.Success, WcOpcode.Send, 0);
 *   if (entry !== undefined) cq.pushed(entry);
 * }
 * // Told once for what it was armed for, and once for the third, for which there was no room.
 * console.log(notified.length, cq.overrun); // 2 true
 * const completion = new WorkCompletion();
 * while (cq.poll(completion)) console.log(completion.wrId);
 * // 1
 * // 2
 * ```
 */
export class CompletionQueue {
  /** Set when a completion found no room; the queue then takes no more, and its queue pairs are to be torn down. */
  overrun = false;
  /** Queue pairs that complete into this queue. */
  users = 0;
  /** Receives every completion. */
  trace: QpTrace | undefined = undefined;
  readonly #ring: Ring<WorkCompletion>;
  readonly #notified: CompletionQueue[];
  /** Bit sets of `Notification`: requested, and come since the last poll. */
  #armed: number = Notification.None;
  #fired: number = Notification.None;

  /**
   * `notified` is the list this queue adds itself to when it was armed and a completion arrives, and when it overruns.
   * `pools`: those of the device.
   */
  constructor(capacity: number, notified: CompletionQueue[], { completions } = new TransportPools()) {
    checkCapacity(capacity);
    this.#ring = new Ring(capacity, completions);
    this.#notified = notified;
  }

  /** Completions there is room for. */
  get capacity(): number {
    return this.#ring.capacity;
  }

  /** Completions that wait to be polled. */
  get length(): number {
    return this.#ring.length;
  }

  /** Changes the room (ibv_resize_cq). Throws ERR_ROCE_ARGUMENT for less than the queue holds, or less than one. */
  resize(capacity: number): void {
    checkCapacity(capacity);
    if (capacity < this.length)
      throw new RoceError('ERR_ROCE_ARGUMENT', `the completion queue holds ${this.length} entries, not ${capacity}`);
    this.#ring.resize(capacity);
  }

  /** Moves the oldest completion into `into`; false when there is none. */
  poll(into: WorkCompletion): boolean {
    if (this.#ring.length === 0) return false;
    const wc = this.#ring.at(this.#ring.head);
    into.wrId = wc.wrId;
    into.status = wc.status;
    into.opcode = wc.opcode;
    into.byteLen = wc.byteLen;
    into.immData = wc.immData;
    into.invalidatedRkey = wc.invalidatedRkey;
    into.solicited = wc.solicited;
    into.srcQpn = wc.srcQpn;
    into.grh = wc.grh;
    into.ipVersion = wc.ipVersion;
    into.qpn = wc.qpn;
    this.#ring.shift();
    return true;
  }

  /**
   * One-shot request to be notified of the next completion, or of the next solicited or failed one (ibv_req_notify_cq).
   * Neither weakens the other.
   */
  arm(solicitedOnly: boolean): void {
    this.#armed |= solicitedOnly ? Notification.Solicited : Notification.Any;
  }

  /** The notifications, a bit set of `Notification`, that have come since the last call. */
  takeNotifications(): number {
    const fired = this.#fired;
    this.#fired = Notification.None;
    return fired;
  }

  /**
   * A new entry, filled but for what only some receives have (immediate data, invalidated key, solicited), or undefined
   * on overrun. Followed by `pushed`.
   */
  push(qpn: number, wrId: number, status: WcStatus, opcode: number, byteLen: number): WorkCompletion | undefined {
    if (this.overrun || this.#ring.full) {
      this.#overflow();
      return undefined;
    }
    const wc = this.#ring.push();
    wc.begin(qpn, wrId, status, opcode, byteLen);
    return wc;
  }

  /** The entry is complete: notifies if the queue is armed for it. */
  pushed(wc: WorkCompletion): void {
    this.trace?.completed(wc);
    if (this.#armed === Notification.None) return;
    const fired = this.#armed & (wc.solicited || wc.status !== 0 ? BOTH : Notification.Any);
    if (fired === Notification.None) return;
    this.#armed &= ~fired;
    this.#fired |= fired;
    this.#notified.push(this);
  }

  #overflow(): void {
    if (this.overrun) return;
    this.overrun = true;
    this.#notified.push(this);
  }
}

function checkCapacity(capacity: number): void {
  if (!Number.isInteger(capacity) || capacity < 1)
    throw new RoceError('ERR_ROCE_ARGUMENT', 'a completion queue has room for at least one entry');
}
