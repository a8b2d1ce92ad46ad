/**
 * When the worker reads the ring of posts: on a wake-up, before every call, and for a short time after a post or an
 * event to the application, which is likely to post the next request then and saves the wake-up.
 */
import { monotonicNs } from '../clock.ts';
import { type SharedControl, Word } from './control.ts';
import { PostReader, type PostSink } from './post-ring.ts';

export class PostPoller {
  readonly #words: Int32Array;
  readonly #reader: PostReader;
  readonly #sink: PostSink;
  readonly #check = (): void => this.#look();
  #awake = false;
  #until = 0;

  constructor(control: SharedControl, sink: PostSink) {
    this.#words = new Int32Array(control.words);
    this.#reader = new PostReader(control);
    this.#sink = sink;
  }

  /** Passes on everything that was posted. */
  drain(): void {
    if (this.#reader.drain(this.#sink)) this.linger();
  }

  /** Polls the ring for a short time, as posts are likely. */
  linger(): void {
    this.#until = monotonicNs() + LINGER_NS;
    if (this.#awake) return;
    this.#awake = true;
    Atomics.store(this.#words, Word.Asleep, 0);
    setImmediate(this.#check);
  }

  #look(): void {
    this.drain();
    if (monotonicNs() < this.#until) {
      setImmediate(this.#check);
      return;
    }
    this.#awake = false;
    Atomics.store(this.#words, Word.Asleep, 1);
    // A post before that word was set did not wake the worker.
    this.drain();
  }
}

/**
 * Turns of an idle event loop are a few microseconds each; being woken takes several times that (measured: a round trip
 * by half).
 */
const LINGER_NS = 50_000;
