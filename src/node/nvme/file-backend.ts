/**
 * A disk of NVMe in a file, sparse where nothing was written.
 *
 * Reads and writes go through the thread pool of Node. What is to be durable is followed by fdatasync(2). Zeros are
 * written only where the file has others, so that deallocating a fresh disk leaves it sparse.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { RoceError } from '../../../packets/errors.ts';
import { LentBuffers } from '../../ground/lent-buffers.ts';
import { type NvmeBackend, NvmeStatus } from '../../ulp/nvme/index.ts';

/** How a file becomes a disk. */
export interface FileBackendOptions {
  /** Its size, in bytes: the file is made, or made longer, never shorter; the disk is never larger [the file's]. */
  readonly bytes?: number;
  /** Nothing is ever written [no]. */
  readonly readOnly?: boolean;
}

/**
 * A disk of NVMe in a file.
 *
 * @example
 * ```ts
 * import { mkdtempSync, rmSync } from 'node:fs';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { FileBackend } from 'rocev2/node';
 * import { NvmeStatus } from 'rocev2/nvme';
 *
 * const folder = mkdtempSync(join(tmpdir(), 'disk-'));
 * const disk = await FileBackend.open(join(folder, 'disk.img'), { bytes: 1 << 20 });
 * // With `true` the bytes are durable when the write ends.
 * const status = await disk.write(4096, Uint8Array.of(1, 2, 3), true);
 * const into = new Uint8Array(4);
 * await disk.read(4096, into);
 * console.log(disk.bytes, status === NvmeStatus.Success, into.join()); // 1048576 true 1,2,3,0
 * await disk.close();
 * rmSync(folder, { recursive: true });
 * ```
 */
export class FileBackend implements NvmeBackend {
  readonly readOnly: boolean;
  #bytes: number;
  readonly #mostBytes: number;
  readonly #file: FileHandle;
  /** Memory for what is read in order to be zeroed. */
  readonly #pieces = new LentBuffers(PIECE_BYTES, PIECES);
  /** How the first fdatasync that failed did, or Success. */
  #lost: number = NvmeStatus.Success;

  private constructor(file: FileHandle, bytes: number, mostBytes: number, readOnly: boolean) {
    this.#file = file;
    this.#bytes = bytes;
    this.#mostBytes = mostBytes;
    this.readOnly = readOnly;
  }

  /** Rejects with ERR_ROCE_ARGUMENT when the file cannot be opened, has not `bytes`, or is empty. */
  static async open(path: string, { bytes, readOnly = false }: FileBackendOptions = {}): Promise<FileBackend> {
    const flags = readOnly ? constants.O_RDONLY : constants.O_RDWR | (bytes === undefined ? 0 : constants.O_CREAT);
    const file = await open(path, flags).catch((cause: unknown) => {
      throw new RoceError('ERR_ROCE_ARGUMENT', `${path} cannot be opened as a disk`, { cause });
    });
    try {
      let { size } = await file.stat();
      if (bytes !== undefined && bytes > size && !readOnly) {
        await file.truncate(bytes);
        size = bytes;
      }
      if (size === 0 || (bytes !== undefined && bytes > size))
        throw new RoceError('ERR_ROCE_ARGUMENT', `${path} has ${size} bytes, too few for a disk`);
      return new FileBackend(file, bytes ?? size, bytes ?? Number.POSITIVE_INFINITY, readOnly);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Takes the size that the file has now. Whether it differs from before; `NvmeSubsystem.resized` tells the hosts. */
  async refresh(): Promise<boolean> {
    const bytes = Math.min((await this.#file.stat()).size, this.#mostBytes);
    const changed = bytes !== this.#bytes;
    this.#bytes = bytes;
    return changed;
  }

  async read(offset: number, into: Uint8Array): Promise<number> {
    for (let done = 0; done < into.length; ) {
      const bytesRead = await this.#file.read(into, done, into.length - done, offset + done).then(
        (result) => result.bytesRead,
        () => 0,
      );
      // At the end of the file: somebody made it shorter.
      if (bytesRead === 0) return NvmeStatus.UnrecoveredReadError;
      done += bytesRead;
    }
    return NvmeStatus.Success;
  }

  async write(offset: number, from: Uint8Array, fua: boolean): Promise<number> {
    try {
      for (let done = 0; done < from.length; ) {
        const { bytesWritten } = await this.#file.write(from, done, from.length - done, offset + done);
        done += bytesWritten;
      }
      return fua ? await this.flush() : NvmeStatus.Success;
    } catch (error) {
      return statusOf(error);
    }
  }

  /**
   * Once fdatasync(2) has failed, every later flush and write with FUA fails with the same status, until the file is
   * opened again: Linux may have dropped the dirty pages, and its next fdatasync would end well without them.
   */
  async flush(): Promise<number> {
    if (this.readOnly) return NvmeStatus.Success;
    if (this.#lost === NvmeStatus.Success) {
      const status = await this.#file.datasync().then(() => NvmeStatus.Success, statusOf);
      if (this.#lost === NvmeStatus.Success) this.#lost = status;
    }
    return this.#lost;
  }

  async zero(offset: number, length: number, fua: boolean): Promise<number> {
    const status = await this.#pieces.lend((buffer) => this.#zeroThrough(buffer, offset, length));
    return status === NvmeStatus.Success && fua ? this.flush() : status;
  }

  async #zeroThrough(buffer: Uint8Array, offset: number, length: number): Promise<number> {
    for (let done = 0; done < length; ) {
      const piece = buffer.subarray(0, Math.min(buffer.length, length - done));
      let status = await this.read(offset + done, piece);
      if (status === NvmeStatus.Success && piece.some((byte) => byte !== 0))
        status = await this.write(offset + done, piece.fill(0), false);
      if (status !== NvmeStatus.Success) return status;
      done += piece.length;
    }
    return NvmeStatus.Success;
  }

  /** Closes the file; what was not flushed is the kernel's to write. */
  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** A full disk below is not an error of the medium: it ends when there is room. */
function statusOf(error: unknown): number {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  return code === 'ENOSPC' || code === 'EDQUOT' ? NvmeStatus.CapacityExceeded : NvmeStatus.WriteFault;
}

const PIECE_BYTES = 1 << 20;
/** Ranges that are zeroed at a time: others wait. */
const PIECES = 4;
