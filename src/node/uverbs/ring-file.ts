/**
 * The file that a client maps, and the rings in it. Memory without a name: it is gone with the last of the processes
 * that have it open, however they end. Owns the file, its mappings and the offsets, which are not used twice.
 *
 * It cannot be made shorter: a client that could do that would end this process, which reads beyond the end then. The
 * first page is for what needs no command: word 0 counts completions, word 16 is the number of those who wait for one
 * (futex), and from word 32 on clients arm their completion queues.
 */
import { ftruncateSync } from 'node:fs';
import type { RoceError } from '../../../packets/errors.ts';
import type { SharedRing } from '../../uverbs/host.ts';
import { type Libc, systemError } from '../links/libc.ts';
import { Mapping } from '../links/mapping.ts';
import { createSealed } from '../links/sealed-memory.ts';
import { ARMED, PAGE_BYTES } from './wire.ts';

interface Ring extends SharedRing {
  readonly mapping: Mapping;
}

export class RingFile {
  /** Of this process; a client opens it by its path in /proc. */
  readonly fd: number;
  /** See `UverbsFileHost.armed`. */
  readonly armed: Int32Array;
  readonly #libc: Libc;
  readonly #page: Mapping;
  readonly #progress: Int32Array;
  readonly #rings = new Set<Ring>();
  #end = PAGE_BYTES;
  #live = 0;
  #wakes = false;
  #isClosed = false;

  private constructor(libc: Libc, fd: number, page: Mapping) {
    this.#libc = libc;
    this.fd = fd;
    this.#page = page;
    this.#progress = new Int32Array(page.buffer);
    this.armed = this.#progress.subarray(ARMED_FROM, ARMED_FROM + ARMED);
  }

  /** @throws RoceError ERR_ROCE_LINK_UNAVAILABLE when the kernel has no room for it */
  static create(libc: Libc): RingFile {
    const fd = createSealed(libc, 'rocev2-uverbs', PAGE_BYTES);
    const failed = (): RoceError =>
      systemError('ERR_ROCE_LINK_UNAVAILABLE', libc.errno(), 'a file for the rings of a client');
    if (fd < 0) throw failed();
    const page = Mapping.open(libc, fd, PAGE_BYTES);
    if (page !== undefined) return new RingFile(libc, fd, page);
    const error = failed();
    libc.close(fd);
    throw error;
  }

  /** See `UverbsFileHost.allocate`. */
  allocate(length: number): SharedRing | undefined {
    const bytes = Math.ceil(length / PAGE_BYTES) * PAGE_BYTES;
    if (!(bytes > 0) || this.#live + bytes > MOST_BYTES || this.#rings.size >= MOST_RINGS) return undefined;
    const offset = this.#end;
    try {
      ftruncateSync(this.fd, offset + bytes);
    } catch {
      return undefined;
    }
    // A client may have written here already, beyond what was the end.
    this.#clear(offset, bytes);
    const mapping = Mapping.open(this.#libc, this.fd, bytes, offset);
    if (mapping === undefined) return undefined;
    const ring = { offset, bytes: new Uint8Array(mapping.buffer), mapping };
    this.#rings.add(ring);
    this.#end += bytes;
    this.#live += bytes;
    return ring;
  }

  /** See `UverbsFileHost.free`. The client sees zeros there, the server too. */
  free(ring: SharedRing): void {
    for (const one of this.#rings) {
      if (one.offset !== ring.offset) continue;
      this.#rings.delete(one);
      const { byteLength } = one.mapping.buffer;
      this.#live -= byteLength;
      one.mapping.close();
      this.#clear(one.offset, byteLength);
    }
  }

  /**
   * Tells clients that poll that there is a completion; one that sleeps is woken at the end of this turn, for all that
   * completes in it. Who is about to sleep sees the count and does not.
   */
  completed(): void {
    Atomics.add(this.#progress, COMPLETIONS, 1);
    if (this.#wakes || Atomics.load(this.#progress, WAITING) === 0) return;
    this.#wakes = true;
    void TURN.then(this.#wake);
  }

  readonly #wake = (): void => {
    this.#wakes = false;
    if (!this.#isClosed) this.#libc.futexWake(this.#page.address, ALL);
  };

  #clear(offset: number, length: number): void {
    this.#libc.fallocate(this.fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, offset, length);
  }

  close(): void {
    this.#isClosed = true;
    for (const { mapping } of this.#rings) mapping.close();
    this.#rings.clear();
    this.#page.close();
    this.#libc.close(this.fd);
  }
}

/** What is to come at the end of a turn: a device completes within one call, and microtasks run after it. */
const TURN = Promise.resolve();
const COMPLETIONS = 0;
const WAITING = 16;
const ARMED_FROM = 32;
const ALL = 0x7f_ff_ff_ff;
/** Of one client: a queue of the largest size has 16 MiB. */
const MOST_BYTES = 2 ** 30;
const MOST_RINGS = 65_536;
const FALLOC_FL_KEEP_SIZE = 0x1;
const FALLOC_FL_PUNCH_HOLE = 0x2;
