/**
 * The application's end of the port: blocking calls, asynchronous calls, and the worker's events.
 *
 * A blocking call posts its message and blocks until the worker has answered; events that precede the answer are
 * handled first, so that the order is that of one thread. It cannot block infinitely: a worker that ends sets a word in
 * shared memory, the system says of one that could not (out of memory) that its thread has ended, and a worker that
 * does not answer for longer than any turn lasts is given up.
 */
import { type MessagePort, receiveMessageOnPort, type Worker } from 'node:worker_threads';
import { RoceError } from '../../../packets/errors.ts';
import { Word } from './control.ts';
import { mayRun } from './thread-life.ts';
import type { AsyncVerb, SilentVerb, SyncVerb, Verb, VerbArgs, VerbResults } from './verbs.ts';
import type { FromWorker, WireCall, WorkerEvent } from './wire.ts';
import { fromWire } from './wire-error.ts';

type Answer = Extract<WorkerEvent, { kind: 'answer' }>;
export type WorkerNotification = Exclude<WorkerEvent, { kind: 'answer' }>;

interface PendingCall {
  readonly take: (value: unknown) => void;
  readonly fail: (error: Error) => void;
}

export class Channel {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #words: Int32Array;
  readonly #tell: (event: WorkerNotification) => void;
  readonly #asking = new Map<number, PendingCall>();
  readonly #answers = new Map<number, Answer>();
  #lastId = 0;
  #gone = false;

  /** @param tell receives the worker's events, in order */
  constructor(worker: Worker, port: MessagePort, words: Int32Array, tell: (event: WorkerNotification) => void) {
    this.#worker = worker;
    this.#port = port;
    this.#words = words;
    this.#tell = tell;
    port.on('message', (events: FromWorker) => this.#take(events));
    // The worker keeps the process alive for as long as its link is open, as a local link would.
    port.unref();
  }

  /** Whether the worker has ended. */
  get gone(): boolean {
    return this.#gone;
  }

  /**
   * Calls a verb and blocks until the answer. Throws what the verb throws; ERR_ROCE_CLOSED when the worker has ended.
   */
  call<V extends SyncVerb>(verb: V, ...args: VerbArgs[V]): VerbResults[V] {
    const id = this.#post(verb, args, true);
    const { error, value } = this.#await(id);
    if (error !== undefined) throw fromWire(error);
    return value as VerbResults[V];
  }

  /** Calls a verb; `take` converts the answer as soon as it comes, before later events are handled. */
  ask<V extends AsyncVerb, T>(verb: V, take: (value: Awaited<VerbResults[V]>) => T, ...args: VerbArgs[V]): Promise<T> {
    return new Promise((resolve, reject) => {
      const id = this.#post(verb, args, false);
      this.#asking.set(id, {
        take: (value) => resolve(take(value as Awaited<VerbResults[V]>)),
        fail: reject,
      });
    });
  }

  tell<V extends SilentVerb>(verb: V, ...args: VerbArgs[V]): void {
    if (!this.#gone) this.#send<V>({ id: 0, blocks: false, verb, args });
  }

  /** Makes the worker read the ring of posts. */
  wake(): void {
    if (Atomics.load(this.#words, Word.Asleep) === 0 || this.#gone) return;
    if (Atomics.exchange(this.#words, Word.Asleep, 0) === 1) this.#port.postMessage(0);
  }

  /** The worker has ended: rejects every pending call. */
  end(): void {
    this.drain();
    this.#gone = true;
    for (const { fail } of this.#asking.values()) fail(closedError());
    this.#asking.clear();
    this.#port.close();
  }

  /** Handles received messages that are not handled yet. */
  drain(): void {
    for (;;) {
      const received = receiveMessageOnPort(this.#port);
      if (received === undefined) return;
      this.#take(received.message as FromWorker);
    }
  }

  #post<V extends Verb>(verb: V, args: VerbArgs[V], blocks: boolean): number {
    if (this.#gone) throw closedError();
    const id = ++this.#lastId;
    this.#send<V>({ id, blocks, verb, args });
    return id;
  }

  #send<V extends Verb>(call: WireCall<V>): void {
    this.#port.postMessage(call);
  }

  #await(id: number): Answer {
    const words = this.#words;
    for (let slice = 0; slice < SLICES; slice++) {
      const seen = Atomics.load(words, Word.Answers);
      this.drain();
      const answer = this.#answers.get(id);
      if (answer !== undefined) {
        this.#answers.delete(id);
        return answer;
      }
      if (Atomics.load(words, Word.Gone) === 1) throw this.#lost();
      if (Atomics.wait(words, Word.Answers, seen, SLICE_MS) !== 'timed-out') slice = 0;
      else if (!mayRun(Atomics.load(words, Word.Thread))) throw this.#lost();
    }
    void this.#worker.terminate();
    throw this.#lost();
  }

  #lost(): RoceError {
    this.#gone = true;
    return closedError();
  }

  #take(events: FromWorker): void {
    for (const event of events) {
      if (event.kind === 'answer') this.#answered(event);
      else this.#tell(event);
    }
  }

  #answered(answer: Answer): void {
    const { id, value, error } = answer;
    const asking = this.#asking.get(id);
    if (asking === undefined) {
      this.#answers.set(id, answer);
      return;
    }
    this.#asking.delete(id);
    if (error === undefined) asking.take(value);
    else asking.fail(fromWire(error));
  }
}

export function closedError(): RoceError {
  return new RoceError('ERR_ROCE_CLOSED', 'the device is closed');
}

const SLICE_MS = 100;
/** Half a minute: a turn of the worker is far shorter. */
const SLICES = 300;
