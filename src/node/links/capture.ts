/**
 * A link that shows every frame it carries to a sink, such as a pcapng file.
 * Owns nothing else. Never changes, delays or drops a frame; frames the inner link did not take are not shown until it
 * does. The clock is the caller's: time of day for a file from a real wire, virtual time in a simulation.
 */
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import type { Link, LinkSink } from '../../ground/link.ts';
import { LinkDecorator } from './decorator.ts';

/** Sees every frame of a link. */
export interface CaptureSink {
  /**
   * A frame in [start, end) of `bytes`, valid during the call. `timeNs` is whatever the clock of the capture says, in
   * nanoseconds.
   */
  frame(timeNs: number, direction: 'in' | 'out', bytes: Uint8Array, start: number, end: number, comment?: string): void;
}

export class CaptureLink extends LinkDecorator {
  readonly #sink: CaptureSink;
  readonly #now: () => number;

  /** @param now time in nanoseconds, asked once per batch */
  constructor(inner: Link, sink: CaptureSink, now: () => number) {
    super(inner);
    this.#sink = sink;
    this.#now = now;
  }

  start(sink: LinkSink): Promise<void> {
    return this.inner.start({
      receive: (batch) => {
        if (this.inner.reflects !== true) this.#show('in', batch, 0, batch.count);
        sink.receive(batch);
      },
      writable: () => sink.writable(),
      closed: (error) => sink.closed(error),
    });
  }

  send(batch: FrameBatch, from: number): number {
    const count = this.inner.send(batch, from);
    this.#show('out', batch, from, from + count);
    return count;
  }

  #show(direction: 'in' | 'out', batch: FrameBatch, from: number, to: number): void {
    if (from === to) return;
    const now = this.#now();
    for (let i = from; i < to; i++) {
      const start = batch.starts[i] ?? 0;
      this.#sink.frame(now, direction, batch.bytes, start, start + (batch.lengths[i] ?? 0));
    }
  }
}
