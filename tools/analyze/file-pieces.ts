/**
 * Reads a file in pieces: the next piece is read while one is in use.
 *
 * Owns the buffers, a few that are used in turn: fresh memory costs more than the reading, because of its page faults.
 */
import { type FileHandle, open } from 'node:fs/promises';

/**
 * The pieces of a file, in order. A piece stays valid while the two after it are in use, not longer. Throws the errors
 * of the system.
 */
export async function* filePieces(path: string, pieceBytes = PIECE_BYTES): AsyncGenerator<Uint8Array> {
  const file = await open(path);
  let reading = read(file, new Uint8Array(pieceBytes));
  try {
    const spare = Array.from({ length: PIECES_IN_USE }, () => new Uint8Array(pieceBytes));
    for (;;) {
      const { bytesRead, buffer } = await reading;
      if (bytesRead === 0) return;
      reading = read(file, spare.shift() as Piece);
      yield buffer.subarray(0, bytesRead);
      spare.push(buffer);
    }
  } finally {
    await reading.catch(() => undefined);
    await file.close();
  }
}

function read(file: FileHandle, into: Piece): Promise<{ bytesRead: number; buffer: Piece }> {
  const reading = file.read(into, 0, into.length, null);
  // The caller may await it only after it has failed.
  reading.catch(() => undefined);
  return reading;
}

type Piece = Uint8Array<ArrayBuffer>;

const PIECE_BYTES = 1024 * 1024;
/** The one looked at and the two before it; one more is being read. */
const PIECES_IN_USE = 3;
