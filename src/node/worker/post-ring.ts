/**
 * The ring of posts: work requests for the worker, in shared memory. One writer, the application's thread; one reader,
 * the worker. A record is a run of 8-byte cells that never wraps; a filler record pads the end of the ring where it
 * would.
 *
 * ```
 *  cell 0   cells | kind        send only, cell 3   opcode | flags
 *       1   qp    | SGEs                       4   rkey | immediate
 *       2   wrId (double)                      5   key to invalidate | inline bytes
 *  then     3 cells an SGE: key, offset, length   6-8  remote address, compare or add, swap
 *           inline bytes, padded                  9    address handle | remote queue pair
 *                                                 10   remote Q_Key | remote shared receive queue
 * ```
 * Requests with more fields (BIND MW, REG MR, FLUSH) do not go through the ring. A receive for a shared receive queue
 * carries its number instead of a queue pair's.
 */
import { invariant } from '../../../packets/errors.ts';
import type { AddressHandle } from '../../../transport/address-handle.ts';
import type { MemoryRegion } from '../../../transport/memory.ts';
import { PRIVILEGED_QKEY } from '../../../transport/qp-attributes.ts';
import { type RecvWr, type SendWr, type Sge, WrOpcode } from '../../../transport/work.ts';
import { type SharedControl, Word } from './control.ts';
import type { ObjectHandle } from './wire-values.ts';

/** The keys and handles that records carry. */
export interface PostNames {
  /** Of a region: its key, 0 when it is not valid any more. */
  keyOf(mr: MemoryRegion): number;
  /** Of an address handle; 0 when it is not one of this device. */
  ahOf(ah: AddressHandle): ObjectHandle;
}

/** Whether the ring carries requests of this kind. */
export function isRinged(opcode: WrOpcode): boolean {
  return opcode !== WrOpcode.BindMw && opcode !== WrOpcode.RegMr && opcode !== WrOpcode.Flush;
}

abstract class PostRing {
  protected readonly words: Int32Array;
  protected readonly u32: Uint32Array;
  protected readonly f64: Float64Array;
  protected readonly u64: BigUint64Array;
  protected readonly u8: Uint8Array;
  protected readonly cells: number;

  constructor({ words, posts }: SharedControl) {
    this.words = new Int32Array(words);
    this.u32 = new Uint32Array(posts);
    this.f64 = new Float64Array(posts);
    this.u64 = new BigUint64Array(posts);
    this.u8 = new Uint8Array(posts);
    this.cells = this.f64.length;
  }
}

export class PostWriter extends PostRing {
  #tail = 0;

  /** Writes a request that was checked; false when there is no room, and nothing is written. */
  send(qp: ObjectHandle, wr: SendWr, names: PostNames): boolean {
    const inline = wr.inline?.length ?? 0;
    const sges = wr.sges ?? NO_SGES;
    const size = SEND_CELLS + sges.length * SGE_CELLS + Math.ceil(inline / 8);
    const at = this.#reserve(size);
    if (at < 0) return false;
    const { u32, u64 } = this;
    this.#head(at, size, KIND_SEND, qp, wr.wrId, sges.length);
    u32[at * 2 + 6] = wr.opcode;
    u32[at * 2 + 7] = flagsOf(wr);
    u32[at * 2 + 8] = wr.rkey ?? 0;
    u32[at * 2 + 9] = wr.immData ?? 0;
    u32[at * 2 + 10] = wr.invalidateRkey ?? 0;
    u32[at * 2 + 11] = inline;
    u64[at + 6] = wr.remoteAddr ?? 0n;
    u64[at + 7] = wr.compareAdd ?? 0n;
    u64[at + 8] = wr.swap ?? 0n;
    u32[at * 2 + 18] = wr.ah === undefined ? 0 : names.ahOf(wr.ah);
    u32[at * 2 + 19] = wr.remoteQpn ?? 0;
    u32[at * 2 + 20] = wr.remoteQkey ?? PRIVILEGED_QKEY;
    u32[at * 2 + 21] = wr.xrcRemoteSrqn ?? 0;
    const end = this.#sges(at + SEND_CELLS, sges, names);
    if (wr.inline !== undefined) this.u8.set(wr.inline, end * 8);
    this.#publish(size);
    return true;
  }

  recv(qp: ObjectHandle, wr: RecvWr, names: PostNames): boolean {
    return this.#recv(KIND_RECV, qp, wr, names);
  }

  srqRecv(srqn: ObjectHandle, wr: RecvWr, names: PostNames): boolean {
    return this.#recv(KIND_SRQ_RECV, srqn, wr, names);
  }

  #recv(kind: number, queue: ObjectHandle, wr: RecvWr, names: PostNames): boolean {
    const sges = wr.sges ?? NO_SGES;
    const size = RECV_CELLS + sges.length * SGE_CELLS;
    const at = this.#reserve(size);
    if (at < 0) return false;
    this.#head(at, size, kind, queue, wr.wrId, sges.length);
    this.#sges(at + RECV_CELLS, sges, names);
    this.#publish(size);
    return true;
  }

  /** The cell at which a record of `size` may be written, or -1. */
  #reserve(size: number): number {
    const used = (this.#tail - Atomics.load(this.words, Word.PostHead)) | 0;
    const start = this.#tail & (this.cells - 1);
    const toEnd = this.cells - start;
    const filler = toEnd < size ? toEnd : 0;
    if (used + filler + size > this.cells) return -1;
    if (filler === 0) return start;
    this.u32[start * 2] = filler;
    this.u32[start * 2 + 1] = KIND_FILLER;
    this.#tail = (this.#tail + filler) | 0;
    return 0;
  }

  #head(at: number, size: number, kind: number, qp: ObjectHandle, wrId: number, sges: number): void {
    const { u32 } = this;
    u32[at * 2] = size;
    u32[at * 2 + 1] = kind;
    u32[at * 2 + 2] = qp;
    u32[at * 2 + 3] = sges;
    this.f64[at + 2] = wrId;
  }

  #sges(at: number, sges: readonly Sge[], names: PostNames): number {
    const { u32, f64 } = this;
    for (let i = 0; i < sges.length; i++) {
      const sge = sges[i] as Sge;
      const offset = sge.offset ?? 0;
      u32[at * 2] = names.keyOf(sge.mr);
      f64[at + 1] = offset;
      f64[at + 2] = sge.length ?? Math.max(0, sge.mr.length - offset);
      at += SGE_CELLS;
    }
    return at;
  }

  #publish(size: number): void {
    this.#tail = (this.#tail + size) | 0;
    Atomics.store(this.words, Word.PostTail, this.#tail);
  }
}

/** Receives the posts. The request objects are reused: the sink must not keep them. */
export interface PostSink {
  send(qp: ObjectHandle, wr: SendWr): void;
  recv(qp: ObjectHandle, wr: RecvWr): void;
  srqRecv(srqn: ObjectHandle, wr: RecvWr): void;
  region(key: number): MemoryRegion;
  ah(handle: ObjectHandle): AddressHandle | undefined;
}

export class PostReader extends PostRing {
  #head = 0;
  readonly #wr = new RingedWr();
  readonly #spare: RingedSge[] = [];

  get empty(): boolean {
    return Atomics.load(this.words, Word.PostTail) === this.#head;
  }

  /**
   * Passes on every record, oldest first; false when the ring was empty. Whatever the memory holds, the work is bounded
   * by the cells of the ring; what no writer writes is an InvariantError.
   */
  drain(sink: PostSink): boolean {
    if (this.empty) return false;
    do {
      const at = this.#head & (this.cells - 1);
      const used = (Atomics.load(this.words, Word.PostTail) - this.#head) | 0;
      const size = this.u32[at * 2] as number;
      invariant(used > 0 && used <= this.cells, 'the tail of the ring of posts is ahead by what it holds at most');
      invariant(
        size > 0 && size <= used && size <= this.cells - at,
        'a record lies in the ring of posts, before the tail',
      );
      this.#read(at, size, sink);
      this.#head = (this.#head + size) | 0;
      Atomics.store(this.words, Word.PostHead, this.#head);
    } while (!this.empty);
    return true;
  }

  #read(at: number, size: number, sink: PostSink): void {
    const { u32 } = this;
    const kind = u32[at * 2 + 1] as number;
    if (kind === KIND_FILLER) return;
    const qp = u32[at * 2 + 2] as number;
    const count = u32[at * 2 + 3] as number;
    const fixed = kind === KIND_SEND ? SEND_CELLS : RECV_CELLS;
    invariant(
      kind <= KIND_SRQ_RECV && fixed + count * SGE_CELLS <= size,
      'a record of a post has its pieces inside it',
    );
    const wr = this.#wr;
    wr.wrId = this.f64[at + 2] as number;
    if (kind === KIND_RECV) {
      this.#takeSges(at + RECV_CELLS, count, sink);
      sink.recv(qp, wr);
      return;
    }
    if (kind === KIND_SRQ_RECV) {
      this.#takeSges(at + RECV_CELLS, count, sink);
      sink.srqRecv(qp, wr);
      return;
    }
    const flags = u32[at * 2 + 7] as number;
    wr.opcode = u32[at * 2 + 6] as WrOpcode;
    wr.signaled = (flags & SIGNALED) !== 0;
    wr.fence = (flags & FENCE) !== 0;
    wr.solicited = (flags & SOLICITED) !== 0;
    wr.rkey = u32[at * 2 + 8] as number;
    wr.immData = u32[at * 2 + 9] as number;
    wr.invalidateRkey = u32[at * 2 + 10] as number;
    wr.remoteAddr = this.u64[at + 6] as bigint;
    wr.compareAdd = this.u64[at + 7] as bigint;
    wr.swap = this.u64[at + 8] as bigint;
    wr.ah = (flags & TO_AH) === 0 ? undefined : sink.ah(u32[at * 2 + 18] as number);
    wr.remoteQpn = u32[at * 2 + 19] as number;
    wr.remoteQkey = u32[at * 2 + 20] as number;
    wr.xrcRemoteSrqn = u32[at * 2 + 21] as number;
    const end = this.#takeSges(at + SEND_CELLS, count, sink);
    const inline = u32[at * 2 + 11] as number;
    invariant((end - at) * 8 + inline <= size * 8, 'a record of a post has its inline bytes inside it');
    wr.inline = (flags & INLINE) === 0 ? undefined : this.u8.subarray(end * 8, end * 8 + inline);
    sink.send(qp, wr as SendWr);
  }

  #takeSges(at: number, count: number, sink: PostSink): number {
    const { sges } = this.#wr;
    while (sges.length > count) this.#spare.push(sges.pop() as RingedSge);
    while (sges.length < count) sges.push(this.#spare.pop() ?? new RingedSge(sink.region(0)));
    for (let i = 0; i < count; i++) {
      const sge = sges[i] as RingedSge;
      sge.mr = sink.region(this.u32[at * 2] as number);
      sge.offset = this.f64[at + 1] as number;
      sge.length = this.f64[at + 2] as number;
      at += SGE_CELLS;
    }
    return at;
  }
}

class RingedSge implements Sge {
  mr: MemoryRegion;
  offset = 0;
  length = 0;

  constructor(mr: MemoryRegion) {
    this.mr = mr;
  }
}

/** A work request with a fixed object shape, so that reading stays monomorphic. */
class RingedWr {
  wrId = 0;
  opcode: WrOpcode = 0;
  readonly sges: RingedSge[] = [];
  inline: Uint8Array | undefined = undefined;
  signaled = true;
  fence = false;
  solicited = false;
  rkey = 0;
  immData = 0;
  invalidateRkey = 0;
  remoteAddr = 0n;
  compareAdd = 0n;
  swap = 0n;
  xrcRemoteSrqn = 0;
  ah: AddressHandle | undefined = undefined;
  remoteQpn = 0;
  remoteQkey = 0;
}

function flagsOf(wr: SendWr): number {
  return (
    (wr.signaled === false ? 0 : SIGNALED) |
    (wr.fence === true ? FENCE : 0) |
    (wr.solicited === true ? SOLICITED : 0) |
    (wr.inline === undefined ? 0 : INLINE) |
    (wr.ah === undefined ? 0 : TO_AH)
  );
}

const NO_SGES: readonly Sge[] = [];
const KIND_FILLER = 0;
const KIND_SEND = 1;
const KIND_RECV = 2;
const KIND_SRQ_RECV = 3;
const RECV_CELLS = 3;
const SEND_CELLS = 11;
const SGE_CELLS = 3;
const SIGNALED = 1;
const FENCE = 2;
const SOLICITED = 4;
const INLINE = 8;
const TO_AH = 16;
