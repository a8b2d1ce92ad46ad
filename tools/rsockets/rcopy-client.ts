/** The client of rcopy: opens a file at the server, sends its bytes, closes it. */
import { open } from 'node:fs/promises';
import type { RdmaDevice } from 'rocev2';
import { type IpAddress, RoceError } from 'rocev2/packets';
import { RSocket } from 'rocev2/rsockets';
import type { ToolOutput } from '../output.ts';
import {
  HEADER_BYTES,
  RcopyCommand,
  RESPONSE,
  readHeader,
  writeMessage,
  writePath,
  writeSize,
} from './rcopy-protocol.ts';
import { rateText } from './report.ts';
import { receiveExactly } from './whole.ts';

export interface RcopyClientOptions {
  readonly port: number;
  readonly server: IpAddress;
  /** File to read. */
  readonly source: string;
  /** What the server is to call it. */
  readonly destination: string;
  readonly signal?: AbortSignal;
}

/**
 * Resolves with the exit code of rcopy: 0, or the status with which the server refused. Rejects as files and connecting
 * do.
 */
export async function runRcopyClient(
  device: RdmaDevice,
  { port, server, source, destination, signal }: RcopyClientOptions,
  output: ToolOutput,
): Promise<number> {
  const file = await open(source, 'r');
  try {
    const { size, mode } = await file.stat();
    const socket = await RSocket.connect(device, { address: server, port });
    const stop = (): void => void socket.destroy();
    signal?.addEventListener('abort', stop);
    try {
      const refused = await ask(socket, RcopyCommand.Open, mode, writePath(destination));
      if (refused !== 0) {
        output.line('opening...');
        return refused;
      }
      await socket.send(writeMessage(RcopyCommand.Write, 0, writeSize(size)));
      const start = performance.now();
      await sendFile(socket, file, size);
      const status = await answer(socket, RcopyCommand.Write);
      const usec = (performance.now() - start) * 1000;
      if (status !== 0) {
        output.line('opening...transferring...');
        return status;
      }
      await ask(socket, RcopyCommand.Close);
      output.line('opening...transferring...closing...done');
      const seconds = (usec / 1e6).toFixed(2);
      output.line(`${size} bytes in ${seconds} seconds = ${rateText(size, usec)} Gb/sec`);
      await socket.close();
      return status;
    } finally {
      signal?.removeEventListener('abort', stop);
      await socket.destroy();
    }
  } finally {
    await file.close();
  }
}

async function sendFile(socket: RSocket, file: Awaited<ReturnType<typeof open>>, size: number): Promise<void> {
  const bytes = new Uint8Array(CHUNK_BYTES);
  for (let sent = 0; sent < size; ) {
    const { bytesRead } = await file.read(bytes, 0, Math.min(bytes.length, size - sent), sent);
    if (bytesRead === 0) throw new RoceError('ERR_ROCE_STATE', 'the file has become shorter meanwhile');
    await socket.send(bytes.subarray(0, bytesRead));
    sent += bytesRead;
  }
}

async function ask(socket: RSocket, command: number, data = 0, rest?: Uint8Array): Promise<number> {
  await socket.send(writeMessage(command, data, rest));
  return answer(socket, command);
}

/** The status of the answer to `command`. */
async function answer(socket: RSocket, command: number): Promise<number> {
  const bytes = await receiveExactly(socket, HEADER_BYTES);
  const header = bytes && readHeader(bytes);
  if (header === undefined || header.length !== HEADER_BYTES || header.command !== (command | RESPONSE))
    throw new RoceError('ERR_ROCE_STATE', 'the server did not answer as rcopy does');
  return header.data;
}

const CHUNK_BYTES = 1 << 18;
