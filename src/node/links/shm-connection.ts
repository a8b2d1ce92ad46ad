/**
 * Two processes that share two rings: what goes out, what comes in, and who has to be woken.
 *
 * Owns the socket between them, the mapping and a slab that frames are copied to before anybody looks at them. Never
 * decides what follows the end of the connection: its owner does.
 */
import { RoceError } from '../../../packets/errors.ts';
import type { FrameBatch } from '../../../packets/frame-writer.ts';
import type { LinkPoller } from '../../ground/link.ts';
import type { ConnectionEnd } from './connection-end.ts';
import { isOversize, MAX_HEADER_BYTES } from './descriptor-link.ts';
import { EAGAIN, EINTR, type Libc, MSG_DONTWAIT, MSG_NOSIGNAL, systemError } from './libc.ts';
import type { Mapping } from './mapping.ts';
import { DescriptorWatch } from './poller.ts';
import { MAX_RING_FRAME_BYTES, RING_BYTES, RingConsumer, RingProducer } from './shm-ring.ts';

/** Bytes of the memory that both sides map: the ring from the listening side, then the one to it. */
export const SHARED_BYTES = 2 * RING_BYTES;

/** Frames of a `ShmLink`, by what became of them. */
export interface ShmCounters {
  /** Frames put into shared memory. */
  sent: number;
  /** Frames that arrived and were handed on. */
  received: number;
  /** Sent while no peer was connected, and lost. */
  unplugged: number;
  /** Frames over the MTU, sent or received, and dropped. */
  oversize: number;
  /** Connections turned away because one was there. */
  refused: number;
  /** Times that the other side slept and was woken: a kernel call each. */
  wakes: number;
}

/** Events of a connection. `ended` comes once and last. */
export interface ShmEvents {
  receive(batch: FrameBatch): void;
  writable(): void;
  ended(end: ConnectionEnd, error: RoceError): void;
}

/** What a connection is made of; all of it is the connection's then. */
export interface ShmParts {
  readonly libc: Libc;
  readonly socket: number;
  readonly mapping: Mapping;
  readonly listens: boolean;
  readonly mtu: number;
}

export class ShmConnection implements FrameBatch {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly starts = new Int32Array(BATCH_FRAMES);
  readonly lengths = new Int32Array(BATCH_FRAMES);
  count = 0;
  readonly poller: LinkPoller = {
    begin: () => this.#beginPolling(),
    poll: () => this.#receive(),
    end: () => this.#endPolling(),
  };
  readonly #parts: ShmParts;
  readonly #counters: ShmCounters;
  readonly #events: ShmEvents;
  readonly #outgoing: RingProducer;
  readonly #incoming: RingConsumer;
  readonly #watch: DescriptorWatch;
  readonly #stride: number;
  readonly #bells = new Uint8Array(BELLS);
  #polled = false;
  #closed = false;
  #left = false;
  #again: NodeJS.Immediate | undefined;

  constructor(parts: ShmParts, counters: ShmCounters, events: ShmEvents) {
    const { libc, socket, mapping, listens, mtu } = parts;
    this.#parts = parts;
    this.#counters = counters;
    this.#events = events;
    this.#outgoing = new RingProducer(mapping.buffer, listens ? 0 : RING_BYTES);
    this.#incoming = new RingConsumer(mapping.buffer, listens ? RING_BYTES : 0);
    this.#stride = Math.ceil((mtu + MAX_HEADER_BYTES) / PAGE_BYTES) * PAGE_BYTES;
    this.bytes = new Uint8Array(BATCH_FRAMES * this.#stride);
    this.view = new DataView(this.bytes.buffer);
    this.#watch = new DescriptorWatch(libc, socket, () => this.#ready());
    this.#sleep();
  }

  /** As `Link.send`. */
  send(batch: FrameBatch, from: number): number {
    let next = from;
    while (next < batch.count) {
      if (this.#isOversize(batch, next)) this.#counters.oversize++;
      else if (this.#put(batch, next)) this.#counters.sent++;
      else break;
      next++;
    }
    if (next > from && this.#outgoing.publish()) this.#ring();
    return next - from;
  }

  /** What was sent stays in the memory, which the other side has as well. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#again !== undefined) clearImmediate(this.#again);
    this.#watch.stop();
    const { libc, socket, mapping } = this.#parts;
    libc.close(socket);
    mapping.close();
  }

  #put(batch: FrameBatch, index: number): boolean {
    if (this.#outgoing.put(batch, index)) return true;
    // Who is full shows what it has before it waits; room may have come meanwhile.
    if (this.#outgoing.publish()) this.#ring();
    this.#outgoing.wantRoom();
    return this.#outgoing.put(batch, index);
  }

  #isOversize({ view, starts, lengths }: FrameBatch, index: number): boolean {
    const length = lengths[index] as number;
    return length > MAX_RING_FRAME_BYTES || isOversize(view, starts[index] as number, length, this.#parts.mtu);
  }

  /** A byte for the other side. One that has too many unread is awake. */
  #ring(): void {
    this.#counters.wakes++;
    this.#parts.libc.sendto(this.#parts.socket, BELL, 1, MSG_DONTWAIT | MSG_NOSIGNAL, null, 0);
  }

  /** The other side has rung, or is gone. */
  #ready(): void {
    const { libc, socket } = this.#parts;
    const count = libc.read(socket, this.#bells, BELLS);
    const errno = count < 0 ? libc.errno() : 0;
    if (errno !== 0 && errno !== EAGAIN && errno !== EINTR) {
      this.#end('broken', systemError('ERR_ROCE_CLOSED', errno, 'the connection broke'));
      return;
    }
    if (count === 0) {
      this.#watch.stop();
      this.#left = true;
    }
    this.#drain();
    if (!this.#closed) this.#events.writable();
  }

  /** Delivers what is there, a bounded number in this round of the loop, then sleeps or goes on in the next. */
  #drain(): void {
    this.#again = undefined;
    if (this.#receive()) this.#drainSoon();
    else if (this.#left) this.#end('left', new RoceError('ERR_ROCE_CLOSED', 'the peer closed the connection'));
    else this.#sleep();
  }

  #drainSoon(): void {
    if (this.#closed) return;
    this.#again ??= setImmediate(() => this.#drain());
  }

  #sleep(): void {
    if (!this.#closed && !this.#polled && this.#incoming.sleep()) this.#drainSoon();
  }

  #beginPolling(): void {
    this.#polled = true;
    this.#incoming.wake();
  }

  #endPolling(): void {
    this.#polled = false;
    this.#sleep();
  }

  /** Whether there was something. */
  #receive(): boolean {
    if (this.#closed) return false;
    const incoming = this.#incoming;
    const taken = this.#take();
    if (taken === 0) return false;
    if (incoming.release()) this.#ring();
    const { count } = this;
    this.#counters.received += count;
    if (count > 0) this.#events.receive(this);
    if (taken < 0) this.#end('nonsense', new RoceError('ERR_ROCE_CLOSED', 'what the peer wrote is no ring of frames'));
    return true;
  }

  /** Copies the next frames into the slab; how many there were, those over the MTU included, or -1 at nonsense. */
  #take(): number {
    const incoming = this.#incoming;
    this.count = 0;
    let taken = 0;
    for (; taken < BATCH_FRAMES; taken++) {
      const at = this.count * this.#stride;
      const length = incoming.take(this, at, this.#stride);
      if (length === 0) break;
      if (length < 0) return -1;
      if (length > this.#stride || isOversize(this.view, at, length, this.#parts.mtu)) {
        this.#counters.oversize++;
        continue;
      }
      this.starts[this.count] = at;
      this.lengths[this.count] = length;
      this.count++;
    }
    return taken;
  }

  #end(end: ConnectionEnd, error: RoceError): void {
    if (this.#closed) return;
    this.close();
    this.#events.ended(end, error);
  }
}

/** Frames in one delivery. */
const BATCH_FRAMES = 64;
/** Frames start at whole pages, as those of `FrameWriter` do and for the same reason (ref:platform#6). */
const PAGE_BYTES = 4096;
/** Bytes read from the socket at once; what is left is read in the next round. */
const BELLS = 256;
const BELL = Uint8Array.of(1);
