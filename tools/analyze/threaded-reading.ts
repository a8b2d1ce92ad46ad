/**
 * Reads a large capture in a thread of its own, which also verifies the ICRCs, while this one analyzes what has been
 * read. Packets arrive in the order of the file, so the analysis is the same as without.
 *
 * Owns the thread and the memory shared with it. Bounded: a few pieces of the file are on their way at most.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { RoceError, type RoceErrorCode } from 'rocev2/packets';
import type { CaptureInterface } from 'rocev2/pcap';
import { PacketBatch, type Rests } from './packet-batch.ts';
import type { PacketTaker, ReadingResult } from './read-chunks.ts';

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

/**
 * Reads the file at `path`. `progress` is called with the bytes read so far. Rejects with the errors of the system
 * where the file cannot be opened.
 */
export async function readThreaded(
  path: string,
  icrc: boolean,
  take: PacketTaker,
  progress: (bytes: number) => void,
): Promise<ReadingResult> {
  const file = await open(path);
  try {
    return await readOpen(file, icrc, take, progress);
  } finally {
    await file.close();
  }
}

async function readOpen(
  file: FileHandle,
  icrc: boolean,
  take: PacketTaker,
  progress: (bytes: number) => void,
): Promise<ReadingResult> {
  const batches = Array.from({ length: BATCHES }, () => new PacketBatch());
  const task: ReadingTask = { file: file.fd, memories: batches.map(({ memory }) => memory), icrc };
  // Loaded here alone: it brings every link, and most captures are small.
  const { workerSource } = await import('rocev2/node');
  const { source, options } = workerSource(import.meta.url, 'reading-thread');
  const worker = new Worker(source, { ...options, workerData: task, name: 'rocev2 capture' });
  let bytes = 0;
  try {
    return await new Promise<ReadingResult>((resolve, reject) => {
      worker.once('error', reject);
      worker.on('message', (message: FromReader) => {
        try {
          if (message.kind === 'end') {
            resolve({ interfaces: message.interfaces, damage: errorOf(message.damage) });
            return;
          }
          const { slot, count, length, rests } = message;
          const batch = batches[slot] as PacketBatch;
          for (let i = 0; i < count; i++) take(batch.packet(i, rests), batch.icrc(i));
          worker.postMessage(slot);
          bytes += length;
          progress(bytes);
        } catch (error) {
          reject(error);
        }
      });
    });
  } finally {
    await worker.terminate();
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
