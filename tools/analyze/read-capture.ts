/**
 * Reads a capture for a command: a file or standard input, a large one with a thread of its own and a line of progress.
 *
 * Owns the choice of how a capture is read. Looks at no packet.
 */
import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { InvalidArgumentError } from 'commander';
import { loadNativeCrc32 } from 'rocev2/crc32';
import { ProgressLine, type ProgressTerminal } from '../progress-line.ts';
import { filePieces } from './file-pieces.ts';
import { type PacketTaker, type ReadingResult, readChunks } from './read-chunks.ts';
import { readThreaded } from './threaded-reading.ts';

/** The streams that a reading uses. */
export interface ReadingStreams {
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly stderr: ProgressTerminal;
}

/** How to read. */
export interface ReadingFlags {
  /** Whether ICRCs are to be verified. */
  readonly icrc: boolean;
  /** Threads; default: two for a large file, where there is a processor for it. */
  readonly jobs?: number;
}

/**
 * Hands over the packets of `file` ("-": standard input) up to its first defect. Rejects where a large file cannot be
 * opened, and with what `take` throws.
 */
export async function readCapture(
  file: string,
  { icrc, jobs }: ReadingFlags,
  streams: ReadingStreams,
  take: PacketTaker,
): Promise<ReadingResult> {
  const bytes = file === STANDARD_INPUT ? 0 : (statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  const large = bytes >= LARGE_BYTES;
  if (icrc && large) await loadNativeCrc32();
  const threads = jobs ?? (large ? availableParallelism() : 1);
  const progress = new ProgressLine(streams.stderr, { quiet: !large, nowMs: () => performance.now() });
  const tell = (done: number): void => progress.update(done / bytes, `${gigabytes(done)} of ${gigabytes(bytes)} GB`);
  try {
    if (threads > 1 && file !== STANDARD_INPUT) return await readThreaded(file, icrc, take, tell);
    return await readChunks(counted(openCapture(file, streams), tell), take);
  } finally {
    progress.clear();
  }
}

/** The chunks of a file, or of standard input. */
export function openCapture(file: string, { stdin }: Pick<ReadingStreams, 'stdin'>): AsyncIterable<Uint8Array> {
  return file === STANDARD_INPUT ? stdin : filePieces(file);
}

/** For the option `--jobs`. */
export function parseJobs(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('a number of threads from 1 on is expected.');
  return Number(text);
}

async function* counted(chunks: AsyncIterable<Uint8Array>, tell: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    yield chunk;
    bytes += chunk.length;
    tell(bytes);
  }
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(1);
}

const STANDARD_INPUT = '-';
/** From here on a library for ICRCs, and a thread that reads, cost less than they save. */
const LARGE_BYTES = 64 * 1024 * 1024;
