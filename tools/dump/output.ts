/**
 * A stream whose reader may go away while it is written to: `roce dump ... | head` is no error.
 *
 * Owns backpressure, the distinction of a closed pipe from a real write error, and when buffered bytes are written:
 * when there are many, and at the latest at the end of the event loop's turn, so that the reader of a pipe sees packets
 * as they come.
 */

import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { visible } from '../visible-text.ts';

/** Bytes that wait to be written. */
export interface OutputBuffer {
  readonly pendingBytes: number;
  take(): string | Uint8Array;
}

/** Lines of text that wait to be written, `visible` whatever packets and comments have in them. */
export class TextBuffer implements OutputBuffer {
  readonly #kept: RegExp | undefined;
  #text = '';

  /** @param kept see `visible` */
  constructor(kept?: RegExp) {
    this.#kept = kept;
  }

  get pendingBytes(): number {
    return this.#text.length;
  }

  add(text: string): void {
    this.#text += text;
  }

  take(): string {
    const text = visible(this.#text, this.#kept);
    this.#text = '';
    return text;
  }
}

export class Output {
  readonly #stream: Writable;
  readonly #buffer: OutputBuffer;
  readonly #endOfTurn: () => void;
  #scheduled = false;
  #failure: Error | undefined;

  /** `endOfTurn` is called before what was gathered in a turn is written: the last chance to add to it. */
  constructor(stream: Writable, buffer: OutputBuffer, endOfTurn: () => void = () => {}) {
    this.#stream = stream;
    this.#buffer = buffer;
    this.#endOfTurn = endOfTurn;
    // Listened to for the life of the process: an EPIPE can arrive after the last write.
    stream.on('error', (error) => {
      this.#failure ??= error;
    });
  }

  /** True when the reader is gone: stop. */
  get closed(): boolean {
    return this.#failure !== undefined || this.#stream.destroyed;
  }

  /** To be called after the buffer has grown. Await the result. Throws the error of a failed write. */
  added(): Promise<void> | undefined {
    if (this.#buffer.pendingBytes >= MOST_BUFFERED_BYTES || this.#stream.writableNeedDrain) return this.flush();
    if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.#endOfTurn();
        this.#push();
      });
    }
    return undefined;
  }

  /** Writes the buffered bytes and waits for the stream if it needs that. */
  async flush(): Promise<void> {
    this.#push();
    if (!this.closed && this.#stream.writableNeedDrain) await this.#settled('drain');
    this.#check();
  }

  /** Ends a stream that is ours to end, and waits for it; standard output stays open. */
  async end(): Promise<void> {
    this.#push();
    if (this.#stream === process.stdout) return this.drained();
    if (!this.closed) {
      this.#stream.end();
      await this.#settled('finish');
    }
    this.#check();
  }

  /** Waits until everything has left the process; the stream stays open. */
  async drained(): Promise<void> {
    this.#push();
    // Called back when everything before it has been written, or has failed.
    if (!this.closed) await new Promise<void>((resolve) => this.#stream.write('', () => resolve()));
    this.#check();
  }

  #push(): void {
    if (!this.closed && this.#buffer.pendingBytes > 0) this.#stream.write(this.#buffer.take());
  }

  async #settled(event: 'drain' | 'finish'): Promise<void> {
    // 'close' comes after an error too, where the event waited for never does.
    const gaveUp = new AbortController();
    const { signal } = gaveUp;
    try {
      await Promise.race([once(this.#stream, event, { signal }), once(this.#stream, 'close', { signal })]);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      this.#failure ??= error;
    } finally {
      gaveUp.abort();
    }
  }

  #check(): void {
    // A stream is destroyed some ticks before it emits why.
    const failure = this.#failure ?? this.#stream.errored ?? undefined;
    if (failure !== undefined && !isBrokenPipe(failure)) throw failure;
  }
}

function isBrokenPipe(error: Error): boolean {
  return 'code' in error && error.code === 'EPIPE';
}

const MOST_BUFFERED_BYTES = 65_536;
