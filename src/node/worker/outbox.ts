/**
 * The worker's outgoing events. They are gathered and leave in one message once the callback that caused them and every
 * promise it settled have run: events of one turn arrive in one turn, in order.
 */
import type { MessagePort } from 'node:worker_threads';
import { Word } from './control.ts';
import type { FromWorker, WorkerEvent } from './wire.ts';
import { toWire } from './wire-error.ts';

export class Outbox {
  readonly #port: MessagePort;
  readonly #words: Int32Array;
  #events: WorkerEvent[] = [];
  #transfer: ArrayBuffer[] = [];
  #scheduled = false;
  #held = false;

  constructor(port: MessagePort, words: Int32Array) {
    this.#port = port;
    this.#words = words;
  }

  post(event: WorkerEvent): void {
    this.#events.push(event);
    if (event.kind === 'frames') this.#transfer.push(event.packed.buffer);
    if (this.#scheduled) return;
    this.#scheduled = true;
    // Ticks queued by a microtask run when no microtask is left.
    queueMicrotask(() => process.nextTick(() => this.#flushUnlessHeld()));
  }

  /** Answers a call; the answer to a blocking call leaves at once, together with all pending events. */
  answer(id: number, blocks: boolean, value: unknown): void {
    this.#answer(blocks, { kind: 'answer', id, value });
  }

  refuse(id: number, blocks: boolean, error: unknown): void {
    this.#answer(blocks, { kind: 'answer', id, error: toWire(error) });
  }

  /** Stops sending events automatically. */
  hold(): void {
    this.#held = true;
  }

  flush(): void {
    this.#scheduled = false;
    if (this.#events.length === 0) return;
    const events: FromWorker = this.#events;
    const transfer = this.#transfer;
    this.#events = [];
    this.#transfer = [];
    this.#port.postMessage(events, transfer);
  }

  #flushUnlessHeld(): void {
    if (!this.#held) this.flush();
  }

  #answer(blocks: boolean, event: WorkerEvent): void {
    this.post(event);
    if (!blocks) return;
    this.flush();
    Atomics.add(this.#words, Word.Answers, 1);
    Atomics.notify(this.#words, Word.Answers);
  }
}
