/**
 * A file that grows by whole records (blocks of a capture, lines of a trace) while a device runs. What a crash, kill -9
 * or a full disk leaves is readable: records are at most `FLUSH_MS` old when they are in the file, as long as the event
 * loop turns, and after a failed write the file ends behind the last record that is whole. Owns the descriptor.
 */
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { RoceError } from 'rocev2/packets';

/** Records that wait to be written. */
export interface RecordSource {
  readonly pendingBytes: number;
  /** All of them, whole ones only. */
  take(): Uint8Array;
}

/** The calls of the system; those of `node:fs` throw. */
export interface FileCalls {
  open(path: string): number;
  /** Returns how many bytes were written, maybe fewer than given. */
  write(file: number, bytes: Uint8Array): number;
  truncate(file: number, length: number): void;
  close(file: number): void;
}

export class RecordFile {
  readonly #path: string;
  readonly #source: RecordSource;
  readonly #calls: FileCalls;
  readonly #failed: (failure: RoceError) => void;
  readonly #file: number;
  #length = 0;
  #timer: NodeJS.Timeout | undefined;
  #failure: RoceError | undefined;
  #closed = false;

  /**
   * Makes the file, with what `source` holds already, such as a header.
   * @param failed called once, when a record could not be written; nothing is written any more then
   * @throws what `open` throws
   */
  constructor(
    path: string,
    source: RecordSource,
    failed: (failure: RoceError) => void = () => {},
    calls: FileCalls = SYSTEM,
  ) {
    this.#path = path;
    this.#source = source;
    this.#failed = failed;
    this.#calls = calls;
    this.#file = calls.open(path);
    this.flush();
  }

  /** Why the file ends early. */
  get failure(): RoceError | undefined {
    return this.#failure;
  }

  /** To be called when the source has grown: writes soon, or at once where much waits. */
  grown(): void {
    if (this.#failure !== undefined || this.#source.pendingBytes >= FLUSH_BYTES) this.flush();
    // Unreferenced: who ends in good order closes.
    else this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref();
  }

  /** Writes what waits. After a failure it is dropped. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#closed || this.#source.pendingBytes === 0) return;
    const bytes = this.#source.take();
    if (this.#failure !== undefined) return;
    try {
      for (let at = 0; at < bytes.length; ) at += this.#calls.write(this.#file, bytes.subarray(at));
      this.#length += bytes.length;
    } catch (cause) {
      this.#fail(cause);
    }
  }

  /** May be called more than once. */
  close(): void {
    if (this.#closed) return;
    this.flush();
    this.#closed = true;
    this.#calls.close(this.#file);
  }

  #fail(cause: unknown): void {
    const why = cause instanceof Error ? cause.message : String(cause);
    const failure = new RoceError('ERR_ROCE_CAPTURE', `${this.#path} ends at byte ${this.#length}: ${why}`, { cause });
    this.#failure = failure;
    try {
      this.#calls.truncate(this.#file, this.#length);
    } catch {
      // A pipe or a device has no end to be moved; a reader of it finds the last record cut.
    }
    this.#failed(failure);
  }
}

const SYSTEM: FileCalls = {
  open: (path) => openSync(path, 'w'),
  write: (file, bytes) => writeSync(file, bytes),
  truncate: ftruncateSync,
  close: closeSync,
};
/** A quarter of a second, or this much: what kill -9 may take. */
const FLUSH_MS = 250;
const FLUSH_BYTES = 1 << 16;
