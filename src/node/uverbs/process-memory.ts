/**
 * The memory of a client: read and written by the kernel's process_vm_readv and process_vm_writev, for which client and
 * server have to be of one user. Owns the descriptor that tells of the client's end, after which its number may be
 * another process's. A copy allocates nothing.
 *
 * Measured with Node 20, the least of many calls: 64 bytes 1.9 us, 4 KiB 2.1 us (written: 2.9), 64 KiB 6.3 us, 1 MiB
 * 78 us.
 */
import type { ProcessMemory } from '../../uverbs/host.ts';
import type { Libc } from '../links/libc.ts';
import { DescriptorWatch } from '../links/poller.ts';

export class ClientMemory implements ProcessMemory {
  readonly #libc: Libc;
  readonly #pid: number;
  readonly #pidfd: number;
  readonly #watch: DescriptorWatch | undefined;
  readonly #vectors = new Uint32Array(8);
  readonly #local: number;
  #isGone = false;

  constructor(libc: Libc, pid: number) {
    this.#libc = libc;
    this.#pid = pid;
    this.#local = libc.address(this.#vectors.buffer);
    this.#pidfd = libc.pidfdOpen(pid);
    if (this.#pidfd < 0) this.#isGone = true;
    else this.#watch = new DescriptorWatch(libc, this.#pidfd, () => this.close());
  }

  read(address: number, to: Uint8Array, toAt: number, length: number): boolean {
    if (length === 0) return true;
    if (!this.#prepare(address, to, toAt, length)) return false;
    return this.#libc.processVmReadv(this.#pid, this.#local, this.#local + VECTOR_BYTES) === length;
  }

  write(address: number, from: Uint8Array, fromAt: number, length: number): boolean {
    if (length === 0) return true;
    if (!this.#prepare(address, from, fromAt, length)) return false;
    return this.#libc.processVmWritev(this.#pid, this.#local, this.#local + VECTOR_BYTES) === length;
  }

  /** Reaches nothing any more. May be called more than once. */
  close(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#watch?.stop();
    this.#libc.close(this.#pidfd);
  }

  /** Puts both places into the vectors. False for a place that no process has, or bytes that `buffer` does not have. */
  #prepare(address: number, buffer: Uint8Array, at: number, length: number): boolean {
    if (this.#isGone || !(address >= 0 && address + length <= END_OF_USER)) return false;
    if (!(at >= 0 && length >= 0 && at + length <= buffer.length)) return false;
    const local = addressOf(this.#libc, buffer) + at;
    const vectors = this.#vectors;
    vectors[0] = local;
    vectors[1] = local / WORD;
    vectors[2] = length;
    vectors[3] = length / WORD;
    vectors[4] = address;
    vectors[5] = address / WORD;
    vectors[6] = length;
    vectors[7] = length / WORD;
    return true;
  }
}

/** Asked for once for each buffer: the answer of koffi is a BigInt. */
function addressOf(libc: Libc, bytes: Uint8Array): number {
  const { buffer } = bytes;
  let address = ADDRESSES.get(buffer);
  if (address === undefined) {
    address = libc.address(new Uint8Array(buffer));
    ADDRESSES.set(buffer, address);
  }
  return address + bytes.byteOffset;
}

const ADDRESSES = new WeakMap<ArrayBufferLike, number>();
const VECTOR_BYTES = 16;
const WORD = 2 ** 32;
const END_OF_USER = 2 ** 47;
