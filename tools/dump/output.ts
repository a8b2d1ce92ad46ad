/**
 * A stream that may go away while it is written to: `roce dump ... | head` is no error.
 *
 * Owns backpressure and the difference between "nobody reads any more" and a real failure to write.
 */

import { once } from 'node:events';
import type { Writable } from 'node:stream';

export class Output {
  private readonly stream: Writable;
  private failure: Error | undefined;

  constructor(stream: Writable) {
    this.stream = stream;
    // Listened to for the life of the process: an EPIPE can arrive after the last write.
    stream.on('error', (error) => {
      this.failure ??= error;
    });
  }

  /** True when nobody reads any more: stop. */
  get closed(): boolean {
    return this.failure !== undefined || this.stream.destroyed;
  }

  /** Writes and, when the stream asks for it, waits until it has caught up. Throws what a write really failed with. */
  async write(chunk: string | Uint8Array): Promise<void> {
    if (this.closed || chunk.length === 0) return;
    if (!this.stream.write(chunk)) await this.settled('drain');
    this.check();
  }

  /** Waits until everything written has left the process. */
  async flush(): Promise<void> {
    if (!this.closed && this.stream.writableLength > 0) await this.settled('drain');
    this.check();
  }

  /** Ends a stream that is ours to end, and waits for it; standard output stays open. */
  async end(): Promise<void> {
    if (this.closed || this.stream === process.stdout) return this.flush();
    this.stream.end();
    await this.settled('finish');
    this.check();
  }

  private async settled(event: 'drain' | 'finish'): Promise<void> {
    // 'close' comes after an error too, where the event waited for never does.
    const gaveUp = new AbortController();
    const { signal } = gaveUp;
    try {
      await Promise.race([once(this.stream, event, { signal }), once(this.stream, 'close', { signal })]);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      this.failure ??= error;
    } finally {
      gaveUp.abort();
    }
  }

  private check(): void {
    if (this.failure !== undefined && !isBrokenPipe(this.failure)) throw this.failure;
  }
}

function isBrokenPipe(error: Error): boolean {
  return 'code' in error && error.code === 'EPIPE';
}
