/**
 * A namespace as a stream of bytes, from any offset on: several reads or writes under way, in order for the caller.
 *
 * Owns the pieces and the blocks at the edges. A write that begins or ends within a block reads that block first; who
 * else writes the same block meanwhile loses.
 */
import { RoceError } from '../../../../packets/errors.ts';
import type { NvmeNamespace } from './namespace.ts';

/** How a stream is cut. */
export interface NvmeStreamOptions {
  /** Bytes of a piece, rounded up to whole blocks [256 KiB]. */
  readonly pieceBytes?: number;
  /** Pieces under way at a time [4]. */
  readonly ahead?: number;
}

/**
 * `length` bytes from byte `offset` on, in pieces; default up to the end. Throws ERR_ROCE_ARGUMENT for what is beyond
 * the end, and rejects as `NvmeNamespace.read`.
 */
export async function* readNvme(
  disk: NvmeNamespace,
  offset = 0,
  length = disk.bytes - offset,
  options: NvmeStreamOptions = {},
): AsyncGenerator<Uint8Array> {
  demandBytes(disk, offset, length);
  const { pieceBytes, ahead } = cutOf(disk, options);
  const end = offset + length;
  const running: Promise<Uint8Array>[] = [];
  let next = offset - (offset % disk.blockBytes);
  try {
    while (next < end || running.length > 0) {
      for (; next < end && running.length < ahead; next += pieceBytes) {
        const piece = pieceOf(disk, next, Math.min(next + pieceBytes, end), offset);
        // Looked at in its turn; a failure before that is not unhandled.
        piece.catch(() => {});
        running.push(piece);
      }
      yield await (running.shift() as Promise<Uint8Array>);
    }
  } finally {
    await Promise.allSettled(running);
  }
}

/**
 * Writes pieces one behind the other from byte `offset` on; resolves with the number of bytes when all are answered.
 * Nothing is flushed. Rejects as `NvmeNamespace.write`, with ERR_ROCE_ARGUMENT for what is beyond the end; what was
 * before that is written.
 */
export async function writeNvme(
  disk: NvmeNamespace,
  offset: number,
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: NvmeStreamOptions = {},
): Promise<number> {
  demandBytes(disk, offset, 0);
  const { pieceBytes, ahead } = cutOf(disk, options);
  const running: Promise<void>[] = [];
  let at = offset;
  // A piece is filled from byte `at % blockBytes` on; what is before that is on the disk already.
  let piece = new Uint8Array(pieceBytes);
  let filled = at % disk.blockBytes;
  if (filled > 0) await disk.read(Math.floor(at / disk.blockBytes), piece.subarray(0, disk.blockBytes));
  const send = async (bytes: Uint8Array): Promise<void> => {
    const lba = Math.floor((at - filled) / disk.blockBytes);
    if (running.length >= ahead) await running.shift();
    const write = disk.write(lba, bytes);
    write.catch(() => {});
    running.push(write);
  };
  try {
    for await (const bytes of source) {
      demandBytes(disk, at, bytes.length);
      for (let from = 0; from < bytes.length; ) {
        const some = bytes.subarray(from, from + pieceBytes - filled);
        piece.set(some, filled);
        from += some.length;
        at += some.length;
        filled += some.length;
        if (filled < pieceBytes) continue;
        await send(piece);
        piece = new Uint8Array(pieceBytes);
        filled = 0;
      }
    }
    if (filled > 0 && at > offset) await send(await wholeBlocks(disk, piece, filled, at));
    for (const write of running) await write;
    return at - offset;
  } finally {
    await Promise.allSettled(running);
  }
}

/** The piece up to the end of its last block, whose rest is read from the disk. */
async function wholeBlocks(disk: NvmeNamespace, piece: Uint8Array, filled: number, at: number): Promise<Uint8Array> {
  const rest = filled % disk.blockBytes;
  if (rest === 0) return piece.subarray(0, filled);
  const last = new Uint8Array(disk.blockBytes);
  await disk.read(Math.floor(at / disk.blockBytes), last);
  piece.set(last.subarray(rest), filled);
  return piece.subarray(0, filled - rest + disk.blockBytes);
}

/** Bytes `from`, the start of a block, to `to`, without those before `first`. */
async function pieceOf(disk: NvmeNamespace, from: number, to: number, first: number): Promise<Uint8Array> {
  const { blockBytes } = disk;
  const bytes = new Uint8Array(Math.ceil((to - from) / blockBytes) * blockBytes);
  await disk.read(from / blockBytes, bytes);
  return bytes.subarray(Math.max(0, first - from), to - from);
}

function cutOf(disk: NvmeNamespace, { pieceBytes = 1 << 18, ahead = 4 }: NvmeStreamOptions) {
  if (!(Number.isSafeInteger(pieceBytes) && pieceBytes > 0 && Number.isSafeInteger(ahead) && ahead > 0))
    throw new RoceError('ERR_ROCE_ARGUMENT', `a stream is cut into pieces of 1 byte or more, 1 or more at a time`);
  return { pieceBytes: Math.ceil(pieceBytes / disk.blockBytes) * disk.blockBytes, ahead };
}

function demandBytes(disk: NvmeNamespace, offset: number, length: number): void {
  if (!(Number.isSafeInteger(offset) && offset >= 0 && Number.isSafeInteger(length) && length >= 0))
    throw new RoceError('ERR_ROCE_ARGUMENT', `${length} bytes from ${offset} on are no range`);
  if (offset + length > disk.bytes)
    throw new RoceError('ERR_ROCE_ARGUMENT', `bytes ${offset} to ${offset + length} of a disk with ${disk.bytes}`);
}
