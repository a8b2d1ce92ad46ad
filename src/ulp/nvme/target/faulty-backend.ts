/**
 * A disk that fails as it is told to: waits, errors, writes of which only the beginning arrives. For experiments.
 */
import { NvmeStatus } from '../codec/index.ts';
import type { NvmeBackend } from './backend.ts';

/** What can be done to one operation; nothing of it does no harm. */
export interface DiskFault {
  /** Waited for before the disk is asked. */
  readonly wait?: Promise<void> | undefined;
  /** A status of NVMe instead of the disk's. */
  readonly status?: number | undefined;
  /** Writes: bytes that arrive; the status is an error unless `status` says otherwise. */
  readonly tornAt?: number | undefined;
}

/** An operation of the disk. */
export interface DiskOperation {
  /** Which one. */
  readonly kind: 'read' | 'write' | 'flush' | 'zero';
  /** First byte. */
  readonly offset: number;
  /** Bytes. */
  readonly length: number;
}

/**
 * Asks `faultOf` before each operation what is to go wrong with it.
 *
 * @example
 * ```ts
 * import { FaultyBackend, MemoryBackend, NvmeStatus } from 'rocev2/nvme';
 *
 * const broken = new FaultyBackend(new MemoryBackend(1 << 20), ({ kind }) =>
 *   kind === 'read' ? { status: NvmeStatus.UnrecoveredReadError } : undefined,
 * );
 * console.log((await broken.write(0, new Uint8Array(512), false)) === NvmeStatus.Success); // true
 * console.log((await broken.read(0, new Uint8Array(512))) === NvmeStatus.UnrecoveredReadError); // true
 * ```
 */
export class FaultyBackend implements NvmeBackend {
  readonly #disk: NvmeBackend;
  readonly #faultOf: (operation: DiskOperation) => DiskFault | undefined;

  /** A disk before another. @param faultOf the fault of an operation, or undefined: it is done */
  constructor(disk: NvmeBackend, faultOf: (operation: DiskOperation) => DiskFault | undefined) {
    this.#disk = disk;
    this.#faultOf = faultOf;
  }

  get bytes(): number {
    return this.#disk.bytes;
  }

  get readOnly(): boolean {
    return this.#disk.readOnly;
  }

  read(offset: number, into: Uint8Array): Promise<number> {
    return this.#run({ kind: 'read', offset, length: into.length }, () => this.#disk.read(offset, into));
  }

  async write(offset: number, from: Uint8Array, fua: boolean): Promise<number> {
    const operation: DiskOperation = { kind: 'write', offset, length: from.length };
    const fault = this.#faultOf(operation);
    await fault?.wait;
    if (fault?.tornAt !== undefined) {
      await this.#disk.write(offset, from.subarray(0, fault.tornAt), fua);
      return fault.status ?? NvmeStatus.WriteFault;
    }
    return fault?.status ?? this.#disk.write(offset, from, fua);
  }

  flush(): Promise<number> {
    return this.#run({ kind: 'flush', offset: 0, length: 0 }, () => this.#disk.flush());
  }

  zero(offset: number, length: number, fua: boolean): Promise<number> {
    return this.#run({ kind: 'zero', offset, length }, () => this.#disk.zero(offset, length, fua));
  }

  async #run(operation: DiskOperation, ask: () => number | Promise<number>): Promise<number> {
    const fault = this.#faultOf(operation);
    await fault?.wait;
    return fault?.status ?? ask();
  }
}
