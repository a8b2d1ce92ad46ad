/**
 * The page's side of the worker: requests as promises, news to a listener.
 *
 * Owns the worker. A worker that fails altogether is reported as a sentence, once.
 */
import type { News, RequestName, Requests, WorkerReply } from '../engine/protocol.ts';
import EngineWorker from './worker.ts?worker&inline';

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A worker with one open file. */
export class Client {
  /** Called with every piece of news. */
  onNews: (news: News) => void = () => undefined;
  /** Called when the worker itself has failed. */
  onFailure: (sentence: string) => void = () => undefined;
  readonly #worker = new EngineWorker();
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  /** Files opened so far. */
  #files = 0;

  constructor() {
    this.#worker.onmessage = ({ data }: MessageEvent<WorkerReply>) => this.#take(data);
    this.#worker.onerror = (event) => this.onFailure(`the worker failed: ${event.message}`);
    this.#worker.onmessageerror = () => this.onFailure('the worker sent what cannot be read');
  }

  /** Asks the worker. Rejects with a sentence when it refuses. */
  ask<Name extends RequestName>(
    name: Name,
    params: Requests[Name]['params'],
    transfer: Transferable[] = [],
  ): Promise<Requests[Name]['result']> {
    const id = ++this.#lastId;
    if (name === 'open') this.#files++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: (result) => resolve(result as Requests[Name]['result']), reject });
      this.#worker.postMessage({ id, name, params }, transfer);
    });
  }

  /**
   * Sends a request to the worker and uses the answer; a refusal is reported, unless another file has been opened by
   * then.
   */
  look<Name extends RequestName>(
    name: Name,
    params: Requests[Name]['params'],
    use: (result: Requests[Name]['result']) => void,
  ): void {
    const file = this.#files;
    this.ask(name, params).then(use, (error: Error) => {
      if (file === this.#files) this.onFailure(error.message);
    });
  }

  #take(reply: WorkerReply): void {
    if (reply.kind === 'news') {
      this.onNews(reply.news);
      return;
    }
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (reply.kind === 'answer') waiting?.resolve(reply.result);
    else waiting?.reject(new Error(reply.sentence));
  }
}
