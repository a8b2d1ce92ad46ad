/** Exactly so many bytes of a stream. */
import type { RSocket } from 'rocev2/rsockets';

/** Undefined when the stream ends before. */
export async function receiveExactly(socket: RSocket, length: number): Promise<Uint8Array | undefined> {
  const bytes = new Uint8Array(length);
  return (await fillFrom(socket, bytes)) ? bytes : undefined;
}

/** Fills all of `bytes`; false when the stream ends before. */
export async function fillFrom(socket: RSocket, bytes: Uint8Array): Promise<boolean> {
  for (let at = 0; at < bytes.length; ) {
    const received = await socket.recv(bytes.subarray(at));
    if (received === 0) return false;
    at += received;
  }
  return true;
}
