/** The disk in memory: reads of it can be sent from where their bytes are. */
import { RoceError } from '../../../../packets/errors.ts';
import { NvmeStatus } from '../codec/index.ts';
import type { NvmeBackend, NvmeLoan } from './backend.ts';
import { LendingMemory } from './lending-memory.ts';

/**
 * A disk in memory. Durable as long as the process lives.
 *
 * @example
 * ```ts
 * import { MemoryBackend, NvmeStatus } from 'rocev2/nvme';
 *
 * const disk = new MemoryBackend(4096);
 * console.log(disk.write(512, Uint8Array.of(1, 2, 3)) === NvmeStatus.Success); // true
 * const back = new Uint8Array(3);
 * disk.read(512, back);
 * console.log(disk.bytes, back.join(' ')); // 4096 1 2 3
 * ```
 */
export class MemoryBackend implements NvmeBackend {
  readonly readOnly = false;
  #memory: LendingMemory;

  /** A disk. @param content its size in bytes, or bytes that are shared, not copied */
  constructor(content: number | Uint8Array) {
    this.#memory = new LendingMemory(typeof content === 'number' ? new Uint8Array(content) : content);
  }

  get bytes(): number {
    return this.content.length;
  }

  /**
   * What is on the disk. What is written to bytes that are on their way to a host shows here when those have arrived.
   * Who changes it meanwhile changes what that host reads.
   */
  get content(): Uint8Array {
    return this.#memory.bytes;
  }

  /** Makes it larger or smaller; what remains keeps its bytes. */
  resize(bytes: number): void {
    if (!(Number.isSafeInteger(bytes) && bytes >= 0))
      throw new RoceError('ERR_ROCE_ARGUMENT', `a disk has a whole number of bytes, not ${bytes}`);
    const content = new Uint8Array(bytes);
    this.#memory.read(0, content.subarray(0, Math.min(bytes, this.bytes)));
    // What is lent stays as it is, in the memory of before.
    this.#memory = new LendingMemory(content);
  }

  read(offset: number, into: Uint8Array): number {
    if (offset + into.length > this.bytes) return NvmeStatus.LbaOutOfRange;
    this.#memory.read(offset, into);
    return NvmeStatus.Success;
  }

  lend(offset: number, length: number): NvmeLoan | undefined {
    return offset + length > this.bytes ? undefined : this.#memory.lend(offset, length);
  }

  write(offset: number, from: Uint8Array): number {
    if (offset + from.length > this.bytes) return NvmeStatus.LbaOutOfRange;
    this.#memory.write(offset, from.length, from);
    return NvmeStatus.Success;
  }

  flush(): number {
    return NvmeStatus.Success;
  }

  zero(offset: number, length: number): number {
    if (offset + length > this.bytes) return NvmeStatus.LbaOutOfRange;
    this.#memory.write(offset, length);
    return NvmeStatus.Success;
  }
}
