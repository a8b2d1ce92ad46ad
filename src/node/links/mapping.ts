/**
 * Memory that the kernel shares with us, shown as a buffer.
 * Owns mapping and unmapping, so that a batch kept by mistake after the link has closed reads zeros and never crashes
 * the process: `close` puts empty pages in the place of the shared ones, and the addresses are released when the buffer
 * has been collected.
 */
import type { Libc } from './libc.ts';

export class Mapping {
  readonly buffer: ArrayBuffer;
  /** Where it is. */
  readonly address: number;
  readonly #libc: Libc;

  private constructor(libc: Libc, address: number, length: number) {
    this.#libc = libc;
    this.address = address;
    this.buffer = libc.view(address, length);
  }

  /**
   * Maps `length` bytes of what `fd` shares, from `offset` on; undefined when that fails, and `errno` says why.
   */
  static open(libc: Libc, fd: number, length: number, offset = 0): Mapping | undefined {
    const address = libc.mmap(null, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    return address < 0 ? undefined : new Mapping(libc, address, length);
  }

  /** Gives the shared memory back. Once only. */
  close(): void {
    const { byteLength: length } = this.buffer;
    const flags = MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS | MAP_NORESERVE;
    this.#libc.mmap(this.address, length, PROT_READ | PROT_WRITE, flags, -1, 0);
    const libc = this.#libc;
    const address = this.address;
    FORGOTTEN.register(this.buffer, () => libc.munmap(address, length));
  }
}

/** Runs what is registered when the buffer it is registered with has been collected. */
const FORGOTTEN = new FinalizationRegistry((unmap: () => void) => unmap());

const PROT_READ = 0x1;
const PROT_WRITE = 0x2;
const MAP_SHARED = 0x01;
const MAP_PRIVATE = 0x02;
const MAP_FIXED = 0x10;
const MAP_ANONYMOUS = 0x20;
const MAP_NORESERVE = 0x40_00;
