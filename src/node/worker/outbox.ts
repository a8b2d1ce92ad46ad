/**
 * What the worker has to tell. Events are gathered and leave in one message once the callback that caused them and every
 * promise it settled have run: what happened in one breath in the worker arrives in one breath, in order.
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
    // Ticks that are asked for by a microtask run when no microtask is left.
    queueMicrotask(() => process.nextTick(() => this.#flushUnlessHeld()));
  }

  /** Answers a call; one that blocks takes everything there is to tell along, at once. */
  answer(id: number, blocks: boolean, value: unknown): void {
    this.#answer(blocks, { kind: 'answer', id, value });
  }

  refuse(id: number, blocks: boolean, error: unknown): void {
    this.#answer(blocks, { kind: 'answer', id, error: toWire(error) });
  }

  /** Nothing leaves by itself any more. */
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
