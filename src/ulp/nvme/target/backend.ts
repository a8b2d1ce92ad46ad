/**
 * Where the bytes of a namespace are: the interface between the target and a disk, and the disk in memory.
 *
 * A backend answers with a status of NVMe, 0 for done, and neither throws nor rejects: an error of a disk is part of
 * its work. One that is done at once says so at once, and the response leaves with those of the same turn. The target
 * asks only for what lies within `bytes`, in whole blocks.
 */
import { RoceError } from '../../../../packets/errors.ts';
import { NvmeStatus } from '../codec/index.ts';

/** A disk. */
export interface NvmeBackend {
  /** Its size, in bytes; it may change, the subsystem is told by `NvmeSubsystem.resized`. */
  readonly bytes: number;
  /** Nothing is ever written. */
  readonly readOnly: boolean;
  /** Fills `into` with the bytes at `offset`. */
  read(offset: number, into: Uint8Array): number | Promise<number>;
  /** Writes `from` at `offset`; with `fua` it is durable when it has ended. */
  write(offset: number, from: Uint8Array, fua: boolean): number | Promise<number>;
  /** What was written before is durable when it has ended. */
  flush(): number | Promise<number>;
  /** `length` bytes read as zeros from now on; with `fua` durably so. */
  zero(offset: number, length: number, fua: boolean): number | Promise<number>;
}

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
  #data: Uint8Array;

  /** A disk. @param content its size in bytes, or bytes that are shared, not copied */
  constructor(content: number | Uint8Array) {
    this.#data = typeof content === 'number' ? new Uint8Array(content) : content;
  }

  get bytes(): number {
    return this.#data.length;
  }

  /** What is on the disk. */
  get content(): Uint8Array {
    return this.#data;
  }

  /** Makes it larger or smaller; what remains keeps its bytes. */
  resize(bytes: number): void {
    if (!(Number.isSafeInteger(bytes) && bytes >= 0))
      throw new RoceError('ERR_ROCE_ARGUMENT', `a disk has a whole number of bytes, not ${bytes}`);
    const data = new Uint8Array(bytes);
    data.set(this.#data.subarray(0, Math.min(bytes, this.#data.length)));
    this.#data = data;
  }

  read(offset: number, into: Uint8Array): number {
    if (offset + into.length > this.#data.length) return NvmeStatus.LbaOutOfRange;
    into.set(this.#data.subarray(offset, offset + into.length));
    return NvmeStatus.Success;
  }

  write(offset: number, from: Uint8Array): number {
    if (offset + from.length > this.#data.length) return NvmeStatus.LbaOutOfRange;
    this.#data.set(from, offset);
    return NvmeStatus.Success;
  }

  flush(): number {
    return NvmeStatus.Success;
  }

  zero(offset: number, length: number): number {
    if (offset + length > this.#data.length) return NvmeStatus.LbaOutOfRange;
    this.#data.fill(0, offset, offset + length);
    return NvmeStatus.Success;
  }
}

/** The same disk, that nobody writes to. */
export function readOnlyBackend(disk: NvmeBackend): NvmeBackend {
  const refuse = (): number => NvmeStatus.NamespaceWriteProtected;
  return {
    get bytes() {
      return disk.bytes;
    },
    readOnly: true,
    read: (offset, into) => disk.read(offset, into),
    write: refuse,
    zero: refuse,
    flush: () => NvmeStatus.Success,
  };
}
