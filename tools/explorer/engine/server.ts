/**
 * The other side of the page: takes requests, answers them, and reads and filters in between.
 *
 * Owns the order of work: questions first, then a slice of reading. Knows the worker only as two functions, so that a test can be one.
 */
import { completions } from './filter.ts';
import type { News, Reply, Request, RequestName, Requests } from './protocol.ts';
import { packetDetail, rowWindow } from './rows.ts';
import { Session } from './session.ts';

/** What the server needs of its surroundings. */
export interface Surroundings {
  post(reply: Reply): void;
  /** Calls back when messages that wait have been taken. */
  later(callback: () => void): void;
}

/** Answers requests about one file at a time. */
export class ExplorerServer {
  readonly #surroundings: Surroundings;
  #session: Session | undefined;
  #working = false;
  #slices = 0;
  /** Filters that wait for their end. */
  #waiting: { readonly id: number; readonly fault: Requests['filter']['result']['fault'] }[] = [];

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /** Takes one request; every request is answered or refused, once. */
  handle(request: Request): void {
    try {
      if (request.name === 'filter') this.#filter(request.id, request.params.text);
      else this.#answer(request.id, this.#resultOf(request));
    } catch (error) {
      this.#refuse(request.id, error);
    }
  }

  #resultOf(request: Exclude<Request, { name: 'filter' }>): Requests[RequestName]['result'] {
    switch (request.name) {
      case 'open':
        this.#open(request.params);
        return null;
      case 'rows':
        return rowWindow(this.#open_, request.params.from, request.params.count);
      case 'packet':
        return packetDetail(this.#open_, request.params.number);
      case 'position':
        return this.#open_.rowOfIndex(request.params.number - 1);
      case 'complete':
        return completions(request.params.text, request.params.cursor);
    }
  }

  get #open_(): Session {
    if (this.#session === undefined) throw new Error('no file is open');
    return this.#session;
  }

  #open({ name, bytes }: Requests['open']['params']): void {
    for (const { id } of this.#waiting.splice(0)) this.#refuse(id, new Error('another file was opened'));
    this.#session = new Session(name, new Uint8Array(bytes));
    this.#slices = 0;
    this.#work();
  }

  #filter(id: number, text: string): void {
    const session = this.#open_;
    for (const waiting of this.#waiting.splice(0))
      this.#answer(waiting.id, { shown: session.shown, fault: waiting.fault });
    const fault = session.setFilter(text);
    this.#waiting.push({ id, fault });
    this.#work();
  }

  #work(): void {
    if (this.#working) return;
    this.#working = true;
    this.#surroundings.later(() => {
      this.#working = false;
      const session = this.#session;
      if (session === undefined) return;
      const more = session.work(SLICE);
      if (session.filterIsDone) {
        for (const { id, fault } of this.#waiting.splice(0)) this.#answer(id, { shown: session.shown, fault });
      }
      if (!more || this.#slices++ % NEWS_EVERY === 0) this.#tell(session);
      if (more) this.#work();
    });
  }

  #tell(session: Session): void {
    const news: News = {
      name: session.name,
      packets: session.table.length,
      bytesRead: session.bytesRead,
      bytes: session.size,
      done: session.done,
      problem: session.problem,
      interfaces: session.interfaces,
      startTime: session.startTime,
      shown: session.shown,
      analysis: session.analysis,
    };
    this.#surroundings.post({ kind: 'news', news });
  }

  #answer(id: number, result: unknown): void {
    this.#surroundings.post({ kind: 'answer', id, result });
  }

  #refuse(id: number, error: unknown): void {
    this.#surroundings.post({ kind: 'refusal', id, sentence: error instanceof Error ? error.message : String(error) });
  }
}

/** Packets in one go: a few milliseconds, so that no question waits. */
const SLICE = 2000;
const NEWS_EVERY = 10;
