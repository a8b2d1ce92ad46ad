/**
 * One connected socket that carries framed frames both ways.
 * Owns the socket, its splitter and the buffers that wait to be written. Never decides what follows its end: its owner
 * does. Everything that was taken is written in one call per batch; what may wait is bounded, beyond it `send` takes no
 * more.
 */
import type { Socket } from 'node:net';
import { RoceError } from '../../../packets/errors.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import type { ConnectionEnd } from './connection-end.ts';
import { FrameSplitter, framedBytes, LENGTH_BYTES, packFrames } from './length-framing.ts';

/** Bytes handed to the socket and not yet gone to the kernel, at most. */
const MAX_PENDING_BYTES = 0x20_00_00;
const BUFFER_BYTES = 0x2_00_00;
const MAX_SPARE_BUFFERS = 16;
const LINGER_MS = 1000;

/** Events of a connection. `ended` comes once and last. */
export interface ConnectionEvents {
  receive(batch: FrameBatch): void;
  writable(): void;
  ended(end: ConnectionEnd, error: RoceError): void;
}

interface OutBuffer {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

export class StreamConnection {
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  readonly #spare: OutBuffer[] = [];
  #pendingBytes = 0;
  #blocked = false;
  #closing = false;
  #end: ConnectionEnd = 'left';
  #error = new RoceError('ERR_ROCE_CLOSED', 'the peer closed the connection');

  constructor(socket: Socket, events: ConnectionEvents) {
    this.#socket = socket;
    this.#events = events;
    const splitter = new FrameSplitter((batch) => {
      if (!socket.destroyed && !this.#closing) events.receive(batch);
    });
    socket.on('data', (chunk) => this.#receive(splitter, chunk));
    socket.on('error', (cause) => {
      this.#end = 'broken';
      this.#error = new RoceError('ERR_ROCE_CLOSED', `the connection broke: ${cause.message}`, { cause });
    });
    socket.on('close', () => events.ended(this.#end, this.#error));
  }

  /** Takes frames as `Link.send` does. */
  send(batch: FrameBatch, from: number): number {
    let to = from;
    let bytes = 0;
    while (to < batch.count && this.#pendingBytes + bytes < MAX_PENDING_BYTES) {
      bytes += LENGTH_BYTES + (batch.lengths[to] ?? 0);
      to++;
    }
    if (to < batch.count) this.#blocked = true;
    if (to > from) this.#write(batch, from, to);
    return to - from;
  }

  /**
   * Lets what was taken drain, then ends the connection; a peer that no longer reads gets a second. Nothing is received
   * meanwhile.
   */
  async close(): Promise<void> {
    const socket = this.#socket;
    this.#closing = true;
    if (socket.destroyed) return;
    await new Promise<void>((resolve) => {
      const impatience = setTimeout(() => socket.destroy(), LINGER_MS).unref();
      socket.once('close', () => {
        clearTimeout(impatience);
        resolve();
      });
      // The stream must be read to its end for the end event.
      socket.resume();
      socket.end();
    });
  }

  #receive(splitter: FrameSplitter, chunk: Uint8Array): void {
    const absurd = splitter.push(chunk);
    if (absurd === undefined) return;
    this.#end = 'nonsense';
    this.#error = new RoceError(
      'ERR_ROCE_CLOSED',
      `the peer announced a frame of ${absurd} bytes: this is no stream of frames`,
    );
    this.#socket.destroy();
  }

  #write(batch: FrameBatch, from: number, to: number): void {
    const needed = framedBytes(batch, from, to);
    const buffer = this.#takeBuffer(needed);
    const length = packFrames(batch, from, to, buffer.bytes, buffer.view);
    this.#pendingBytes += length;
    this.#socket.write(buffer.bytes.subarray(0, length), () => this.#written(buffer, length));
  }

  #written(buffer: OutBuffer, length: number): void {
    this.#pendingBytes -= length;
    if (buffer.bytes.length === BUFFER_BYTES && this.#spare.length < MAX_SPARE_BUFFERS) this.#spare.push(buffer);
    if (!this.#blocked || this.#pendingBytes > MAX_PENDING_BYTES / 2) return;
    this.#blocked = false;
    this.#events.writable();
  }

  #takeBuffer(needed: number): OutBuffer {
    const spare = needed <= BUFFER_BYTES ? this.#spare.pop() : undefined;
    if (spare !== undefined) return spare;
    const bytes = new Uint8Array(Math.max(needed, BUFFER_BYTES));
    return { bytes, view: new DataView(bytes.buffer) };
  }
}
