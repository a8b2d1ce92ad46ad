/**
 * Events that wait for the end of a capture, where it is known what the capture lacks: until then a loss may turn out
 * to be `missing`.
 *
 * Owns a file beside the tables, so that any number of events needs no memory. They come back in their order.
 */
import type { TransportEvent } from 'rocev2/pcap';
import { FileSink } from './file-sink.ts';

export class EventSpill {
  readonly #sink: FileSink;
  readonly #blockEvents: number;
  #block: TransportEvent[] = [];
  /** Bytes of each block in the file. */
  readonly #lengths: number[] = [];

  /** Begins the file. Throws the errors of the system, as all methods do. */
  constructor(path: string, blockEvents = BLOCK_EVENTS) {
    this.#sink = new FileSink(path);
    this.#blockEvents = blockEvents;
  }

  add(event: TransportEvent): void {
    this.#block.push(event);
    if (this.#block.length === this.#blockEvents) this.#write();
  }

  /** All of them; no more can be added. */
  *all(): Generator<TransportEvent> {
    this.#write();
    let at = 0;
    for (const length of this.#lengths) {
      const bytes = new Uint8Array(length);
      this.#sink.read(at, bytes);
      at += length;
      const events: TransportEvent[] = JSON.parse(new TextDecoder().decode(bytes));
      yield* events;
    }
  }

  /** Takes the file away. */
  discard(): void {
    this.#sink.discard();
  }

  #write(): void {
    const bytes = new TextEncoder().encode(JSON.stringify(this.#block));
    this.#sink.appendBytes(bytes);
    this.#sink.flush();
    this.#lengths.push(bytes.length);
    this.#block = [];
  }
}

/** Some 1 MB. */
const BLOCK_EVENTS = 4096;
