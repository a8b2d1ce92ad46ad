/**
 * Where the bytes of a table go: a file under a hidden name, which gets its own name when it is whole.
 *
 * Owns that file. A row group is in memory until the library has made all of it.
 */
import { closeSync, fsyncSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ByteWriter } from 'hyparquet-writer';

/** What the library writes to. Its methods throw the errors of the system. */
export class FileSink extends ByteWriter {
  readonly #path: string;
  /** Spark skips names with a dot before them, and nobody takes this for a Parquet file. */
  readonly #hidden: string;
  readonly #file: number;
  #isOpen = true;
  #isPublished = false;

  /** Makes the file, or empties what a run before has left. */
  constructor(path: string) {
    super(FIRST_BYTES);
    this.#path = path;
    this.#hidden = join(dirname(path), `.${basename(path)}.partial`);
    this.#file = openSync(this.#hidden, 'w+');
  }

  /** Called by the library after each row group. */
  flush(): void {
    this.#writeAll(new Uint8Array(this.buffer, 0, this.index), null);
    this.index = 0;
  }

  /** Called by the library at the end. */
  override finish(): void {
    this.flush();
  }

  /** Reads what was flushed. */
  read(at: number, into: Uint8Array): void {
    for (let done = 0; done < into.length; ) {
      const count = readSync(this.#file, into, done, into.length - done, at + done);
      if (count === 0) throw Object.assign(new Error(`${this.#hidden} has become shorter`), { code: 'EIO' });
      done += count;
    }
  }

  /** Writes over what was flushed. */
  overwrite(at: number, bytes: Uint8Array): void {
    this.#writeAll(bytes, at);
  }

  /** All of it is on the disk, still under the hidden name. */
  close(): void {
    fsyncSync(this.#file);
    this.#closeOnce();
  }

  /** Gives the closed file its name. */
  publish(): void {
    renameSync(this.#hidden, this.#path);
    this.#isPublished = true;
  }

  /** Takes the file away, whatever its state. */
  discard(): void {
    this.#closeOnce();
    rmSync(this.#isPublished ? this.#path : this.#hidden, { force: true });
  }

  #closeOnce(): void {
    if (this.#isOpen) closeSync(this.#file);
    this.#isOpen = false;
  }

  #writeAll(bytes: Uint8Array, at: number | null): void {
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(this.#file, bytes, done, bytes.length - done, at === null ? null : at + done);
    }
  }
}

const FIRST_BYTES = 1024 * 1024;
