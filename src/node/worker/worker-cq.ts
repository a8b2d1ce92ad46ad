/**
 * Completion queue of a device in a worker, on the application's side: polls shared memory, and waits for
 * notifications.
 */
import { RoceError } from '../../../packets/errors.ts';
import { WorkCompletion } from '../../../transport/work.ts';
import type { CqEvent, RdmaCq, RdmaDevice } from '../../device/api.ts';
import { AsyncQueue } from '../../ground/async-queue.ts';
import { CompletionReader, NotifyMode } from './completion-ring.ts';
import type { ObjectHandle } from './wire-values.ts';
import type { WorkerKeys } from './worker-keys.ts';
import type { WorkerStack } from './worker-stack.ts';

interface Waiter {
  readonly resolve: (result: IteratorResult<WorkCompletion>) => void;
  readonly reject: (error: RoceError) => void;
}

interface NotifyRequest {
  readonly resolve: (notified: boolean) => void;
  readonly solicitedOnly: boolean;
  /** Completions before the request. */
  readonly since: number;
}

export class WorkerCq implements RdmaCq {
  readonly device: RdmaDevice;
  readonly handle: ObjectHandle;
  /** Queues that complete into this queue. */
  users = 0;
  readonly events = new AsyncQueue<CqEvent>();
  readonly #stack: WorkerStack;
  readonly #keys: WorkerKeys;
  readonly #reader: CompletionReader;
  #capacity: number;
  #waiting: Waiter[] = [];
  #listening: NotifyRequest[] = [];
  #closed = false;

  constructor(stack: WorkerStack, keys: WorkerKeys, handle: ObjectHandle, capacity: number, memory: SharedArrayBuffer) {
    this.device = stack.device;
    this.#stack = stack;
    this.#keys = keys;
    this.handle = handle;
    this.#capacity = capacity;
    this.#reader = new CompletionReader(capacity, memory);
  }

  get capacity(): number {
    return this.#capacity;
  }

  get length(): number {
    return this.#reader.length;
  }

  get overrun(): boolean {
    return this.#reader.overrun;
  }

  poll(into: WorkCompletion): boolean {
    if (!this.#reader.poll(into)) return false;
    this.#keys.look();
    return true;
  }

  next(): Promise<IteratorResult<WorkCompletion>> {
    const wc = new WorkCompletion();
    if (this.#waiting.length === 0 && this.poll(wc)) return Promise.resolve({ done: false, value: wc });
    // An overrun is reported after all earlier completions.
    if (this.overrun && this.length === 0) return Promise.reject(this.#overrunError());
    if (this.#closed) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#listen();
    });
  }

  [Symbol.asyncIterator](): AsyncIterator<WorkCompletion> {
    return { next: () => this.next() };
  }

  reqNotify(solicitedOnly = false): Promise<boolean> {
    if (this.#closed || this.overrun) return Promise.resolve(false);
    const since = this.#reader.count(solicitedOnly);
    return new Promise((resolve) => {
      this.#listening.push({ resolve, solicitedOnly, since });
      this.#listen();
    });
  }

  resize(capacity: number): void {
    const memory = this.#stack.channel.call('resizeCq', this.handle, capacity);
    this.#reader.moveTo(capacity, memory);
    this.#capacity = capacity;
  }

  /** Completions may have arrived for a pending promise. */
  settle(): void {
    this.#serve();
    this.#listen();
  }

  /** No more completions will come. */
  close(): void {
    this.settle();
    this.#closed = true;
    for (const { resolve } of this.#waiting.splice(0)) resolve({ done: true, value: undefined });
    for (const { resolve } of this.#listening.splice(0)) resolve(false);
    this.events.close();
  }

  /**
   * Requests notifications for pending promises, and polls again: a completion may have come before the worker saw the
   * request.
   */
  #listen(): void {
    for (let wanted = this.#wanted(); wanted !== 0; wanted = this.#wanted()) {
      this.#reader.want(wanted);
      if (!this.#due()) return;
      this.#serve();
    }
  }

  #wanted(): number {
    let wanted = this.#waiting.length > 0 ? NotifyMode.Next : 0;
    for (const { solicitedOnly } of this.#listening) wanted |= solicitedOnly ? NotifyMode.Solicited : NotifyMode.Any;
    return wanted;
  }

  #due(): boolean {
    if (this.overrun || (this.#waiting.length > 0 && this.length > 0)) return true;
    return this.#listening.some((one) => this.#hasCome(one));
  }

  #hasCome({ solicitedOnly, since }: NotifyRequest): boolean {
    return this.#reader.count(solicitedOnly) !== since;
  }

  #serve(): void {
    // Read before the entries: an overrun is reported after the completions that fitted.
    const { overrun } = this;
    if (this.#listening.length > 0) this.#notify(overrun);
    while (this.#waiting.length > 0) {
      const wc = new WorkCompletion();
      if (!this.poll(wc)) break;
      this.#waiting.shift()?.resolve({ done: false, value: wc });
    }
    if (overrun) for (const { reject } of this.#waiting.splice(0)) reject(this.#overrunError());
  }

  #notify(overrun: boolean): void {
    const still: NotifyRequest[] = [];
    for (const one of this.#listening) {
      if (this.#hasCome(one)) one.resolve(true);
      else if (overrun) one.resolve(false);
      else still.push(one);
    }
    this.#listening = still;
  }

  #overrunError(): RoceError {
    return new RoceError('ERR_ROCE_LIMIT', `the completion queue of ${this.capacity} entries has overrun`);
  }
}
