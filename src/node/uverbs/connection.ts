/**
 * One connection of a client: a Unix stream socket that does not block, in the event loop of this thread.
 * Owns the descriptor and what waits to be sent, which is bounded: a client that does not read is cut off. Never knows
 * what frames mean.
 */

import { sendWithDescriptor } from '../links/descriptor-message.ts';
import { EAGAIN, EINTR, FAILED, type Libc, MSG_NOSIGNAL, READABLE, WRITABLE } from '../links/libc.ts';
import { DescriptorWatch } from '../links/poller.ts';
import { type Frame, FrameReader, HEADER_BYTES, MAX_BODY, writeHeader } from './wire.ts';

/** What becomes of a connection. */
export interface ConnectionEvents {
  /** A whole frame, valid during the call; false cuts the client off. */
  frame(frame: Frame): boolean;
  /** Comes once, not from inside a call of the connection. */
  closed(): void;
}

export class Connection {
  /** The process that connected, as the kernel knows it. */
  readonly pid: number;
  readonly #libc: Libc;
  readonly #fd: number;
  readonly #watch: DescriptorWatch;
  readonly #reader = new FrameReader();
  readonly #scratch = new Uint8Array(SCRATCH_BYTES);
  readonly #view = new DataView(this.#scratch.buffer);
  readonly #events: ConnectionEvents;
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #isClosed = false;

  /** Takes over `fd`. */
  constructor(libc: Libc, fd: number, pid: number, events: ConnectionEvents) {
    this.#libc = libc;
    this.#fd = fd;
    this.pid = pid;
    this.#events = events;
    this.#watch = new DescriptorWatch(libc, fd, (bits) => this.#ready(bits));
  }

  /** Sends a frame. */
  send(type: number, id: number, error: number, body: Uint8Array): void {
    const length = HEADER_BYTES + body.length;
    const small = length <= SCRATCH_BYTES;
    const bytes = small ? this.#scratch : new Uint8Array(length);
    writeHeader(small ? this.#view : new DataView(bytes.buffer), body.length, type, id, error);
    bytes.set(body, HEADER_BYTES);
    this.sendBytes(small ? bytes.subarray(0, length) : bytes);
  }

  /** Sends a frame with a descriptor of this process, as the first: a client that has no room for it is cut off. */
  sendDescriptor(type: number, id: number, body: Uint8Array, descriptor: number): void {
    if (this.#isClosed) return;
    const bytes = new Uint8Array(HEADER_BYTES + body.length);
    writeHeader(new DataView(bytes.buffer), body.length, type, id, 0);
    bytes.set(body, HEADER_BYTES);
    if (this.#pendingBytes > 0 || !sendWithDescriptor(this.#libc, this.#fd, bytes, descriptor)) this.close();
  }

  /** Sends bytes as they are; they are the caller's again when this returns. */
  sendBytes(bytes: Uint8Array): void {
    if (this.#isClosed) return;
    const sent = this.#pendingBytes > 0 ? 0 : this.#write(bytes);
    if (sent === bytes.length) return;
    this.#pending.push(bytes.slice(sent));
    this.#pendingBytes += bytes.length - sent;
    if (this.#pendingBytes > MOST_PENDING_BYTES) this.close();
    else this.#watch.wantWritable(true);
  }

  /** Ends it. May be called more than once. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#watch.stop();
    this.#libc.close(this.#fd);
    this.#pending = [];
    queueMicrotask(() => this.#events.closed());
  }

  #ready(bits: number): void {
    if ((bits & WRITABLE) !== 0) this.#flush();
    if ((bits & (READABLE | FAILED)) !== 0) this.#read();
  }

  /** Once in each round of the loop: it comes back for the rest. */
  #read(): void {
    if (this.#isClosed) return;
    const { room, used } = this.#reader;
    const count = this.#libc.read(this.#fd, room.subarray(used), room.length - used);
    if (count < 0) {
      const errno = this.#libc.errno();
      if (errno !== EAGAIN && errno !== EINTR) this.close();
    } else if (count === 0 || !this.#reader.push(count, this.#handle)) this.close();
  }

  readonly #handle = (frame: Frame): boolean => !this.#isClosed && this.#events.frame(frame);

  #flush(): void {
    while (this.#pending.length > 0 && !this.#isClosed) {
      const [bytes = NOTHING] = this.#pending;
      const sent = this.#write(bytes);
      this.#pendingBytes -= sent;
      if (sent < bytes.length) {
        this.#pending[0] = bytes.subarray(sent);
        return;
      }
      this.#pending.shift();
    }
    if (!this.#isClosed) this.#watch.wantWritable(false);
  }

  /** How many bytes the kernel took. A broken connection takes all: its end is read. */
  #write(bytes: Uint8Array): number {
    const sent = this.#libc.sendto(this.#fd, bytes, bytes.length, MSG_NOSIGNAL, null, 0);
    if (sent >= 0) return sent;
    const errno = this.#libc.errno();
    return errno === EAGAIN || errno === EINTR ? 0 : bytes.length;
  }
}

const NOTHING = new Uint8Array();
/** A response of most commands. */
const SCRATCH_BYTES = 1024;
const MOST_PENDING_BYTES = 16 * (HEADER_BYTES + MAX_BODY);
