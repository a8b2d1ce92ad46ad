/**
 * Reads a pipe with a name: a FIFO, or `<(zcat FILE)` of a shell.
 *
 * A file's way of reading cannot be ended while the writer is silent, and the program would wait for it; that of a
 * socket can.
 */
import { open, statSync } from 'node:fs';
import { Socket } from 'node:net';
import { promisify } from 'node:util';

/** Whether there is a pipe at `path`. Throws the errors of the system where one may not look. */
export function isPipe(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFIFO() === true;
}

/** The bytes that come through the pipe, from when it has a writer on. Throws the errors of the system. */
export async function* pipeChunks(path: string): AsyncGenerator<Uint8Array> {
  const fd = await promisify(open)(path, 'r');
  yield* new Socket({ fd, readable: true, writable: false });
}
