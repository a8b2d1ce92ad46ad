/**
 * An event channel: what a client has been told, or will be once it has opened it, and has not read.
 * Owns the records and their ordinals. Events that were taken back stay on their way, and the shim passes over them.
 */
import type { Connection } from './connection.ts';
import { MAX_EVENT_BYTES, RECORD_BYTES } from './wire.ts';

interface Unread {
  readonly ordinal: number;
  readonly bytes: Uint8Array;
  readonly about: object;
}

export class EventChannel {
  readonly number: number;
  #connection: Connection | undefined;
  #unread: Unread[] = [];
  #nextOrdinal = 0;
  readonly #record = new Uint8Array(RECORD_BYTES);
  readonly #view = new DataView(this.#record.buffer);

  constructor(number: number) {
    this.number = number;
  }

  /** The client opens it: once. */
  attach(connection: Connection): boolean {
    if (this.#connection !== undefined) return false;
    this.#connection = connection;
    return true;
  }

  /** Sends what came before the client had opened it; after the answer to that. */
  sendEarlier(): void {
    for (const unread of this.#unread) this.#send(unread);
  }

  /** One event, whole; false when it is lost. */
  event(bytes: Uint8Array, about: object): boolean {
    // A client that arms its queues and never reads: it has no use for more.
    if (this.#unread.length >= MOST_UNREAD || bytes.length > MAX_EVENT_BYTES) return false;
    const unread = { ordinal: this.#nextOrdinal, bytes: bytes.slice(), about };
    this.#nextOrdinal = (this.#nextOrdinal + 1) >>> 0;
    this.#unread.push(unread);
    if (this.#connection !== undefined) this.#send(unread);
    return true;
  }

  /** The client has read it. */
  read(ordinal: number): void {
    const at = this.#unread.findIndex((unread) => unread.ordinal === ordinal);
    if (at >= 0) this.#unread.splice(at, 1);
  }

  /** Takes back those about this object; their ordinals, for the client. */
  cancel(about: object): number[] {
    const gone = this.#unread.filter((unread) => unread.about === about);
    if (gone.length > 0) this.#unread = this.#unread.filter((unread) => unread.about !== about);
    return gone.map(({ ordinal }) => ordinal);
  }

  close(): void {
    this.#connection?.close();
    this.#unread = [];
  }

  #send({ ordinal, bytes }: Unread): void {
    this.#record.fill(0);
    this.#view.setUint32(0, ordinal, true);
    this.#view.setUint32(4, bytes.length, true);
    this.#record.set(bytes, RECORD_BYTES - MAX_EVENT_BYTES);
    this.#connection?.sendBytes(this.#record);
  }
}

const MOST_UNREAD = 4096;
