/**
 * Frames of a switched network while they are under way: equal slots in one slab, each with a record of what switches
 * need to know of its frame. Owns the memory. A slot is in one list at a time (a queue or a link), so that one
 * successor serves all lists. Allocates only when it grows. A slot freed last is used first, while it is still cached;
 * the record is the cache line in front of the frame, for where queues are deep nothing of a frame is cached. A store
 * may keep the first bytes of each frame only, and its length.
 *
 * ```
 *   record: next | length | priority | fate | host | ingress | egress | IP offset | arrival, 64 | tail, 64 | serial, 64 | unused, 64
 *   frame, up to the end of the slot
 * ```
 */
import { invariant } from '../../../packets/errors.ts';
import { copyFrame } from '../../ground/copy-frame.ts';

export class FrameStore {
  /** Replaced when the store grows, as `view` is: read it again after `copyIn` and `take`. */
  bytes: Uint8Array;
  view: DataView;
  /** Most that is kept of a frame. */
  readonly keptBytes: number;
  readonly #frameBytes: number;
  /** Bytes of one slot. */
  readonly #stride: number;
  /** The same in words of a record. */
  readonly #ints: number;
  readonly #doubles: number;
  /** Slots in use. */
  used = 0;
  #int: Int32Array;
  #double: Float64Array;
  #slots = FIRST_SLOTS;
  #free = new Int32Array(FIRST_SLOTS);
  #freeCount = 0;
  #serial = 0;

  /** Room for frames of up to `frameBytes` bytes each, of which no more than `keptBytes` are kept. */
  constructor(frameBytes: number, keptBytes = frameBytes) {
    this.keptBytes = keptBytes;
    this.#frameBytes = frameBytes;
    this.#stride = LINE_BYTES * (Math.ceil((RECORD_BYTES + keptBytes) / LINE_BYTES) | 1);
    this.#ints = this.#stride / 4;
    this.#doubles = this.#stride / 8;
    this.bytes = new Uint8Array(FIRST_SLOTS * this.#stride);
    this.view = new DataView(this.bytes.buffer);
    this.#int = new Int32Array(this.bytes.buffer);
    this.#double = new Float64Array(this.bytes.buffer);
    this.#release(0, FIRST_SLOTS);
  }

  /** A free slot for a frame of `length` bytes, whose bytes are whatever they were. */
  take(length: number, priority: number, host: number): number {
    invariant(length <= this.#frameBytes, 'a frame is no longer than the store was made for');
    if (this.#freeCount === 0) this.#grow();
    const slot = this.#free[--this.#freeCount] as number;
    this.used++;
    const record = slot * this.#ints;
    this.#int[record + LENGTH] = length;
    this.#int[record + PRIORITY] = priority;
    this.#int[record + FATE] = 0;
    this.#int[record + HOST] = host;
    this.#double[slot * this.#doubles + SERIAL] = ++this.#serial;
    return slot;
  }

  /** The same with a copy of the frame at `start`. */
  copyIn(bytes: Uint8Array, view: DataView, start: number, length: number, priority: number, host: number): number {
    const slot = this.take(length, priority, host);
    copyFrame(bytes, view, start, Math.min(length, this.keptBytes), this, this.start(slot));
    return slot;
  }

  drop(slot: number): void {
    this.#free[this.#freeCount++] = slot;
    this.used--;
  }

  /** Where the frame begins in `bytes`. */
  start(slot: number): number {
    return slot * this.#stride + RECORD_BYTES;
  }

  /** Bytes of the frame. */
  length(slot: number): number {
    return this.#int[slot * this.#ints + LENGTH] as number;
  }

  /** Priority 0..7, or `CONTROL`. */
  priority(slot: number): number {
    return this.#int[slot * this.#ints + PRIORITY] as number;
  }

  /** The one behind it in its list; -1 for none. */
  next(slot: number): number {
    return this.#int[slot * this.#ints + NEXT] as number;
  }

  setNext(slot: number, next: number): void {
    this.#int[slot * this.#ints + NEXT] = next;
  }

  /** Bits of `Fate`. */
  fate(slot: number): number {
    return this.#int[slot * this.#ints + FATE] as number;
  }

  setFate(slot: number, fate: number): void {
    this.#int[slot * this.#ints + FATE] = fate;
  }

  /** The host it is for. */
  host(slot: number): number {
    return this.#int[slot * this.#ints + HOST] as number;
  }

  /** Index of the port whose link it came by last. */
  ingress(slot: number): number {
    return this.#int[slot * this.#ints + INGRESS] as number;
  }

  setIngress(slot: number, port: number): void {
    this.#int[slot * this.#ints + INGRESS] = port;
  }

  /** Index of the port it is to leave by. */
  egress(slot: number): number {
    return this.#int[slot * this.#ints + EGRESS] as number;
  }

  setEgress(slot: number, port: number): void {
    this.#int[slot * this.#ints + EGRESS] = port;
  }

  /** Where the IPv4 header begins, from the start of the frame. */
  ipOffset(slot: number): number {
    return this.#int[slot * this.#ints + IP_OFFSET] as number;
  }

  setIpOffset(slot: number, offset: number): void {
    this.#int[slot * this.#ints + IP_OFFSET] = offset;
  }

  /** When as much of it comes out of the link it is on as the other end needs. */
  arrival(slot: number): number {
    return this.#double[slot * this.#doubles + ARRIVAL] as number;
  }

  /** When all of it does. */
  tail(slot: number): number {
    return this.#double[slot * this.#doubles + TAIL] as number;
  }

  setTimes(slot: number, arrival: number, tail: number): void {
    const record = slot * this.#doubles;
    this.#double[record + ARRIVAL] = arrival;
    this.#double[record + TAIL] = tail;
  }

  /** Number of the frame in the network, from 1. */
  serial(slot: number): number {
    return this.#double[slot * this.#doubles + SERIAL] as number;
  }

  #grow(): void {
    const before = this.#slots;
    // What is not touched costs nothing; what is copied does.
    const slots = before < MANY_SLOTS ? before * 4 : before * 2;
    invariant(slots * this.#stride < MAX_BYTES, 'frames under way stay within the offsets of a batch');
    const bytes = new Uint8Array(slots * this.#stride);
    bytes.set(this.bytes);
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer);
    this.#int = new Int32Array(bytes.buffer);
    this.#double = new Float64Array(bytes.buffer);
    const free = new Int32Array(slots);
    free.set(this.#free);
    this.#free = free;
    this.#slots = slots;
    this.#release(before, slots);
  }

  /** Puts fresh slots on the stack of free ones, lowest on top. */
  #release(from: number, to: number): void {
    for (let slot = to - 1; slot >= from; slot--) this.#free[this.#freeCount++] = slot;
  }
}

/**
 * Slots are whole cache lines, and an odd number of them: those of a power of two would all begin in the same set of
 * the cache.
 */
const LINE_BYTES = 64;
const RECORD_BYTES = 64;
const FIRST_SLOTS = 256;
const MANY_SLOTS = 65_536;
/** Starts of frames in a batch are 32-bit integers. */
const MAX_BYTES = 2 ** 31;
// Of a record, in words of 32 bits.
const NEXT = 0;
const LENGTH = 1;
const PRIORITY = 2;
const FATE = 3;
const HOST = 4;
const INGRESS = 5;
const EGRESS = 6;
const IP_OFFSET = 7;
// In words of 64 bits.
const ARRIVAL = 4;
const TAIL = 5;
const SERIAL = 6;
