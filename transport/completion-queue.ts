/**
 * Completion queue: where finished work waits for the application. Bounded; entries are reused. An overflow loses nothing
 * silently: the queue is marked overrun, as verbs do with an asynchronous CQ error.
 */
import { RoceError } from '../packets/errors.ts';
import { Pool, Ring } from './ring.ts';
import { type WcStatus, WorkCompletion } from './work.ts';

const NOT_ARMED = 0;
const ARMED_SOLICITED = 1;
const ARMED_ANY = 2;

const ENTRIES = new Pool(() => new WorkCompletion());

export class CompletionQueue {
  readonly capacity: number;
  /** Set when a completion found no room; the queue then takes no more, and its queue pairs are to be torn down. */
  overrun = false;
  /** Queue pairs that complete into this queue. */
  users = 0;
  readonly #ring: Ring<WorkCompletion>;
  readonly #notified: CompletionQueue[];
  #armed = NOT_ARMED;

  /** `notified` is the list this queue adds itself to when it was armed and a completion arrives. */
  constructor(capacity: number, notified: CompletionQueue[]) {
    if (!Number.isInteger(capacity) || capacity < 1)
      throw new RoceError('ERR_ROCE_ARGUMENT', 'a completion queue has room for at least one entry');
    this.capacity = capacity;
    this.#ring = new Ring(capacity, ENTRIES);
    this.#notified = notified;
  }

  get length(): number {
    return this.#ring.length;
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
    into.qpn = wc.qpn;
    this.#ring.shift();
    return true;
  }

  /** One-shot request to be notified of the next completion, or of the next solicited or failed one (ibv_req_notify_cq). */
  arm(solicitedOnly: boolean): void {
    this.#armed = solicitedOnly ? Math.max(this.#armed, ARMED_SOLICITED) : ARMED_ANY;
  }

  /**
   * A new entry, filled but for what only some receives have (immediate data, invalidated key, solicited), or undefined on
   * overrun. Followed by `pushed`.
   */
  push(qpn: number, wrId: number, status: WcStatus, opcode: number, byteLen: number): WorkCompletion | undefined {
    if (this.overrun || this.#ring.full) {
      this.overrun = true;
      return undefined;
    }
    const wc = this.#ring.push();
    wc.begin(qpn, wrId, status, opcode, byteLen);
    return wc;
  }

  /** The entry is complete: notifies whoever armed the queue for it. */
  pushed(wc: WorkCompletion): void {
    if (this.#armed === NOT_ARMED) return;
    if (this.#armed === ARMED_SOLICITED && !wc.solicited && wc.status === 0) return;
    this.#armed = NOT_ARMED;
    this.#notified.push(this);
  }
}
