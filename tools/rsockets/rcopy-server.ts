/**
 * The server of rcopy: takes files, one client after the other, until it is stopped. Unlike rcopy's own it puts them
 * into one folder under the last part of their names, since any client that can reach it may send one.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { RdmaDevice } from 'rocev2';
import { RoceError } from 'rocev2/packets';
import { RListener, type RSocket } from 'rocev2/rsockets';
import type { ToolOutput } from '../output.ts';
import {
  HEADER_BYTES,
  MAX_PATH_BYTES,
  RcopyCommand,
  type RcopyHeader,
  RESPONSE,
  readHeader,
  readPath,
  readSize,
  SIZE_BYTES,
  writeMessage,
} from './rcopy-protocol.ts';
import { receiveExactly } from './whole.ts';

export interface RcopyServerOptions {
  readonly port: number;
  /** Folder for the files. */
  readonly into: string;
  readonly signal?: AbortSignal;
}

/**
 * Serves until `signal`; resolves with the exit code. Rejects with ERR_ROCE_IN_USE (port), ERR_ROCE_CLOSED (device).
 */
export async function runRcopyServer(
  device: RdmaDevice,
  { port, into, signal }: RcopyServerOptions,
  output: ToolOutput,
): Promise<number> {
  const listener = RListener.listen(device, { port });
  let serving: RSocket | undefined;
  const stop = (): void => {
    void listener.close();
    void serving?.destroy();
  };
  if (signal?.aborted === true) stop();
  signal?.addEventListener('abort', stop);
  try {
    output.line('waiting for connection...');
    for await (const socket of listener) {
      serving = socket;
      output.line(`client: ${socket.remoteAddress}`);
      await serve(new RcopySession(socket, into, output), socket);
      if (signal?.aborted !== true) output.line('waiting for connection...');
    }
    if (signal?.aborted !== true) throw new RoceError('ERR_ROCE_CLOSED', 'the device was closed');
    return 0;
  } finally {
    signal?.removeEventListener('abort', stop);
    await listener.close();
  }
}

async function serve(session: RcopySession, socket: RSocket): Promise<void> {
  try {
    while (await session.next());
    await socket.close();
  } catch (error) {
    // A fault of one client does not affect the next.
    if (!(error instanceof RoceError)) throw error;
  } finally {
    await session.end();
    await socket.destroy();
  }
}

class RcopySession {
  readonly #socket: RSocket;
  readonly #into: string;
  readonly #output: ToolOutput;
  #file: FileHandle | undefined;
  /** What the client has said about the file, so far. */
  #line = '';

  constructor(socket: RSocket, into: string, output: ToolOutput) {
    this.#socket = socket;
    this.#into = into;
    this.#output = output;
  }

  /** Serves one command; false when there is nothing more to serve. */
  async next(): Promise<boolean> {
    const bytes = await receiveExactly(this.#socket, HEADER_BYTES);
    const header = bytes && readHeader(bytes);
    if (header === undefined) return false;
    const status = await this.#serve(header);
    await this.#socket.send(writeMessage(header.command | RESPONSE, status, undefined, header.id));
    if (header.command === RcopyCommand.Close) this.#tell('closing...done', true);
    return status === 0;
  }

  async end(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
    if (this.#line !== '') this.#tell('', true);
  }

  /** The status that the client gets: 0, or a number of errno. */
  async #serve(header: RcopyHeader): Promise<number> {
    switch (header.command) {
      case RcopyCommand.Open:
        return this.#open(header);
      case RcopyCommand.Write:
        return this.#write(header);
      case RcopyCommand.Close:
        await this.#file?.close();
        this.#file = undefined;
        return 0;
      default:
        return Errno.Invalid;
    }
  }

  async #open({ length, data }: RcopyHeader): Promise<number> {
    this.#tell('opening: ');
    if (this.#file !== undefined) return this.#refuse('cannot open another file', Errno.Busy);
    if (length - HEADER_BYTES > MAX_PATH_BYTES) return this.#refuse('cannot allocate path name', Errno.NoMemory);
    const bytes = await receiveExactly(this.#socket, length - HEADER_BYTES);
    if (bytes === undefined) return this.#refuse('error receiving path', Errno.Invalid);
    const name = basename(readPath(bytes));
    // Control characters would be obeyed by a terminal.
    const shown = name.replace(/\p{Cc}/gu, '?');
    this.#tell(`${shown}, `);
    if (name === '' || name === '.' || name === '..' || name !== shown)
      return this.#refuse('unable to open destination file', Errno.Invalid);
    try {
      // A symbolic link in the folder is not followed.
      const { O_RDWR, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
      const flags = O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW;
      this.#file = await open(join(this.#into, name), flags, data & PERMISSION_BITS);
      return 0;
    } catch {
      return this.#refuse('unable to open destination file', Errno.Access);
    }
  }

  async #write({ length }: RcopyHeader): Promise<number> {
    this.#tell('transferring');
    const file = this.#file;
    if (file === undefined) return this.#refuse('...file not opened', Errno.Invalid);
    if (length !== HEADER_BYTES + SIZE_BYTES) return this.#refuse(`...invalid message length ${length}`, Errno.Invalid);
    const bytes = await receiveExactly(this.#socket, SIZE_BYTES);
    const size = bytes && readSize(bytes);
    if (size === undefined) return this.#refuse('...error allocating file', Errno.Invalid);
    this.#tell(`...${size} bytes...`);
    const chunk = new Uint8Array(CHUNK_BYTES);
    for (let at = 0; at < size; ) {
      const received = await this.#socket.recv(chunk.subarray(0, Math.min(chunk.length, size - at)));
      if (received === 0) return this.#refuse('...error receiving data', Errno.Invalid);
      const failure = await writeAt(file, chunk, received, at);
      if (failure !== 0) return this.#refuse('error writing file', failure);
      at += received;
    }
    return 0;
  }

  #refuse(why: string, status: number): number {
    this.#tell(why, true);
    return status;
  }

  #tell(text: string, ends = false): void {
    this.#line += text;
    if (!ends) return;
    this.#output.line(this.#line);
    this.#line = '';
  }
}

/** 0, or why not all of it was written: a number of errno. */
async function writeAt(file: FileHandle, bytes: Uint8Array, length: number, at: number): Promise<number> {
  try {
    const { bytesWritten } = await file.write(bytes, 0, length, at);
    return bytesWritten === length ? 0 : Errno.NoSpace;
  } catch (error) {
    return error instanceof Error && 'errno' in error && typeof error.errno === 'number' ? -error.errno : Errno.Io;
  }
}

/** Numbers of errno(3) on Linux, as they travel. */
const Errno = { Io: 5, NoMemory: 12, Access: 13, Busy: 16, Invalid: 22, NoSpace: 28 } as const;
const PERMISSION_BITS = 0o777;
const CHUNK_BYTES = 1 << 18;
