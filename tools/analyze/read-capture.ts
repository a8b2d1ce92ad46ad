/**
 * Reads a capture for a command: a file or standard input, a large one with a thread of its own and a line of progress.
 *
 * Owns the choice of how a capture is read. Looks at no packet.
 */
import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { loadNativeCrc32 } from 'rocev2/crc32';
import { isPipe, pipeChunks } from '../pipe-chunks.ts';
import { ProgressLine, type ProgressTerminal } from '../progress-line.ts';
import { filePieces } from './file-pieces.ts';
import { type NamedFeed, readMerged } from './merged-reading.ts';
import { type PacketTaker, type ReadingResult, readFeed } from './packet-feed.ts';
import { ChunkFeed } from './read-chunks.ts';
import { openThreaded } from './threaded-reading.ts';

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

/** Captures whose reading has begun. */
export interface OpenReading {
  /** Hands over the packets, once. Rejects with what `take` throws. */
  read(take: PacketTaker): Promise<ReadingResult>;
}

/**
 * Hands over the packets of `file` ("-": standard input) up to its first defect. Rejects where a large file cannot be
 * opened, and with what `take` throws.
 */
export async function readCapture(
  file: string,
  flags: ReadingFlags,
  streams: ReadingStreams,
  take: PacketTaker,
): Promise<ReadingResult> {
  return await (await openReading([file], flags, streams)).read(take);
}

/**
 * Begins to read a file, or several as one capture (`readMerged`), in the way that fits their size. Rejects where a
 * large file cannot be opened.
 */
export async function openReading(
  files: readonly string[],
  { icrc, jobs }: ReadingFlags,
  streams: ReadingStreams,
): Promise<OpenReading> {
  const total = files.reduce((sum, file) => sum + bytesOf(file), 0);
  const large = total >= LARGE_BYTES;
  const threads = jobs ?? (large ? availableParallelism() : 1);
  const threaded = threads > 1 && files.length <= MOST_THREADS;
  if (icrc && large && !threaded) await loadNativeCrc32();
  const progress = new ProgressLine(streams.stderr, { quiet: !large, nowMs: () => performance.now() });
  let done = 0;
  /** For one file: told how many of its bytes are read. */
  const teller = () => {
    let before = 0;
    return (bytes: number): void => {
      done += bytes - before;
      before = bytes;
      // A file may grow meanwhile, and standard input has no length.
      progress.update(Math.min(1, done / total), `${gigabytes(done)} of ${gigabytes(total)} GB`);
    };
  };
  const captures: NamedFeed[] = [];
  try {
    for (const file of files) {
      const feed =
        threaded && file !== STANDARD_INPUT && !isPipe(file)
          ? await openThreaded(file, icrc, teller())
          : new ChunkFeed(counted(openCapture(file, streams, pieceBytes(files.length)), teller()));
      captures.push({ name: nameAmong(file, files), feed });
    }
  } catch (error) {
    for (const { feed } of captures) await feed.close();
    throw error;
  }
  const [first] = captures;
  return {
    async read(take) {
      try {
        const alone = captures.length === 1 && first !== undefined;
        return await (alone ? readFeed(first.feed, take) : readMerged(captures, take));
      } finally {
        progress.clear();
      }
    },
  };
}

/** The chunks of a file, a pipe or standard input. */
export function openCapture(
  file: string,
  { stdin }: Pick<ReadingStreams, 'stdin'>,
  pieceBytes?: number,
): AsyncIterable<Uint8Array> {
  if (file === STANDARD_INPUT) return stdin;
  return isPipe(file) ? pipeChunks(file) : filePieces(file, pieceBytes);
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

function bytesOf(file: string): number {
  return file === STANDARD_INPUT ? 0 : (statSync(file, { throwIfNoEntry: false })?.size ?? 0);
}

/** Of each of several files that are read at the same time; undefined: as one file is read. */
function pieceBytes(files: number): number | undefined {
  return files === 1 ? undefined : Math.max(LEAST_PIECE_BYTES, Math.floor(ALL_PIECES_BYTES / files));
}

/** The name of a file without its folders, where that distinguishes it from the others. */
function nameAmong(file: string, files: readonly string[]): string {
  const name = basename(file);
  return files.filter((other) => basename(other) === name).length === 1 ? name : file;
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(1);
}

const STANDARD_INPUT = '-';
/** Each file has a thread of its own. */
const MOST_THREADS = 4;
/** Of several files: four pieces of each are in use. */
const ALL_PIECES_BYTES = 4 * 1024 * 1024;
const LEAST_PIECE_BYTES = 64 * 1024;
/** From here on a library for ICRCs, and a thread that reads, cost less than they save. */
const LARGE_BYTES = 64 * 1024 * 1024;
