/**
 * Reads a large capture in a thread of its own, which also dissects the packets and verifies their ICRCs, while this
 * one analyzes what has been read. Packets arrive in the order of the file, so the analysis is the same as without.
 *
 * Owns the thread and the memory shared with it. Bounded: a few pieces of the file are on their way at most.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { RoceError, type RoceErrorCode } from 'rocev2/errors';
import { type CapturedPacket, type CaptureInterface, Dissection, type IcrcState } from 'rocev2/pcap/read';
import { workerSource } from 'rocev2/thread';
import { PacketBatch, type Rests } from './packet-batch.ts';
import { type PacketFeed, type PacketTaker, type ReadingResult, readFeed } from './packet-feed.ts';

/** What the thread is told at its start. */
export interface ReadingTask {
  /** Descriptor of the open file. */
  readonly file: number;
  readonly memories: readonly SharedArrayBuffer[];
  /** Whether ICRCs are verified. */
  readonly icrc: boolean;
}

/** What the thread says; a number sent to it gives the memory of a batch back. */
export type FromReader =
  | {
      readonly kind: 'batch';
      readonly slot: number;
      /** Packets in it. */
      readonly count: number;
      /** Bytes of the file. */
      readonly length: number;
      readonly rests: Rests;
    }
  | {
      readonly kind: 'end';
      readonly interfaces: readonly CaptureInterface[];
      readonly damage: { readonly message: string; readonly code?: string; readonly syscall?: string } | undefined;
    };

/** Reads the file at `path`, as `openThreaded`. */
export async function readThreaded(
  path: string,
  icrc: boolean,
  take: PacketTaker,
  progress: (bytes: number) => void,
): Promise<ReadingResult> {
  return await readFeed(await openThreaded(path, icrc, progress), take);
}

/**
 * Begins to read the file at `path`. `progress` is called with the bytes that were handed over so far. Rejects with the
 * errors of the system where the file cannot be opened.
 */
export async function openThreaded(
  path: string,
  icrc: boolean,
  progress: (bytes: number) => void,
): Promise<PacketFeed> {
  const { source, options } = workerSource(import.meta.url, 'reading-thread');
  const file = await open(path);
  const batches = Array.from({ length: BATCHES }, () => new PacketBatch());
  const task: ReadingTask = { file: file.fd, memories: batches.map(({ memory }) => memory), icrc };
  const worker = new Worker(source, { ...options, workerData: task, name: 'rocev2 capture' });
  return new ThreadFeed(file, worker, batches, progress);
}

class ThreadFeed implements PacketFeed {
  interfaces: readonly CaptureInterface[] = [];
  damage: Error | undefined;
  icrc: IcrcState | undefined;
  dissection: Dissection | undefined;
  readonly #own = new Dissection();
  readonly #file: FileHandle;
  readonly #worker: Worker;
  readonly #batches: readonly PacketBatch[];
  readonly #progress: (bytes: number) => void;
  /** What the thread said and nobody has looked at yet. */
  readonly #said: FromReader[] = [];
  #failure: Error | undefined;
  #wake: (() => void) | undefined;
  #batch: (FromReader & { kind: 'batch' }) | undefined;
  /** Packets of the batch that were handed over. */
  #taken = 0;
  #bytes = 0;
  #ended = false;

  constructor(file: FileHandle, worker: Worker, batches: readonly PacketBatch[], progress: (bytes: number) => void) {
    this.#file = file;
    this.#worker = worker;
    this.#batches = batches;
    this.#progress = progress;
    worker.once('error', (error) => this.#fail(error));
    // After all that it said, its error included.
    worker.once('exit', () => this.#fail(new Error('the thread that reads the capture has ended')));
    worker.on('message', (message: FromReader) => {
      this.#said.push(message);
      this.#wake?.();
    });
  }

  next(): CapturedPacket | undefined {
    const batch = this.#batch;
    if (batch === undefined || this.#taken === batch.count) return undefined;
    const memory = this.#batches[batch.slot] as PacketBatch;
    const at = this.#taken++;
    this.icrc = memory.icrc(at);
    this.dissection = memory.dissection(at, this.#own) ? this.#own : undefined;
    return memory.packet(at, batch.rests);
  }

  async more(): Promise<boolean> {
    this.#giveBack();
    if (this.#ended) return false;
    while (this.#said.length === 0 && this.#failure === undefined)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    const message = this.#said.shift();
    if (message === undefined) throw this.#failure;
    if (message.kind === 'batch') this.#batch = message;
    else {
      this.#ended = true;
      this.interfaces = message.interfaces;
      this.damage = errorOf(message.damage);
    }
    return !this.#ended;
  }

  async close(): Promise<void> {
    this.#ended = true;
    await this.#worker.terminate();
    await this.#file.close();
  }

  #fail(failure: Error): void {
    this.#failure ??= failure;
    this.#wake?.();
  }

  #giveBack(): void {
    const batch = this.#batch;
    if (batch === undefined) return;
    this.#batch = undefined;
    this.#taken = 0;
    this.#bytes += batch.length;
    this.#worker.postMessage(batch.slot);
    this.#progress(this.#bytes);
  }
}

function errorOf(damage: (FromReader & { kind: 'end' })['damage']): Error | undefined {
  if (damage === undefined) return undefined;
  const { message, code, syscall } = damage;
  // Only errors of the system have a call.
  if (syscall === undefined) return new RoceError(code as RoceErrorCode, message);
  return Object.assign(new Error(message), { code, syscall });
}

const BATCHES = 4;
