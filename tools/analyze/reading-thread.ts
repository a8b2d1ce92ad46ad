/**
 * The thread that reads a large capture for `roce analyze`: finds the packets, dissects them and verifies their ICRCs,
 * a batch for each piece of the file. Analyzes nothing. Its messages are in `threaded-reading.ts`.
 */
import { readSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { loadNativeCrc32 } from 'rocev2/crc32';
import { invariant } from 'rocev2/errors';
import { CaptureReader, Dissection, dissectPlaced, IcrcState, icrcState } from 'rocev2/pcap/read';
import { isDamage } from './damage.ts';
import { PacketBatch, type Rest } from './packet-batch.ts';
import type { FromReader, ReadingTask } from './threaded-reading.ts';

const { file, memories, icrc }: ReadingTask = workerData;
invariant(parentPort !== null, 'this is a thread');
const port = parentPort;
const reader = new CaptureReader();
const dissection = new Dissection();
const batches = memories.map((memory) => new PacketBatch(memory));
const free = batches.map((_, slot) => slot);

if (icrc) await loadNativeCrc32(memories);
port.on('message', (slot: number) => {
  free.push(slot);
  readOn();
});
readOn();

/** Reads as long as there is memory for it. */
function readOn(): void {
  try {
    for (let slot = free.shift(); slot !== undefined; slot = free.shift()) {
      if (readPiece(slot)) continue;
      reader.end();
      end();
      return;
    }
  } catch (error) {
    if (!isDamage(error)) throw error;
    end(error);
  }
}

/** Returns whether there was one more. What came before a defect is told first. */
function readPiece(slot: number): boolean {
  const batch = batches[slot];
  invariant(batch !== undefined, 'slots are positions in the list');
  const length = readSync(file, batch.piece, 0, batch.piece.length, null);
  if (length === 0) return false;
  const rests = new Map<number, Rest>();
  let count = 0;
  batch.clear();
  try {
    reader.push(batch.piece.subarray(0, length));
    for (let packet = reader.nextPlaced(); packet !== undefined; packet = reader.nextPlaced()) {
      dissectPlaced(packet, dissection);
      batch.set(count++, packet, dissection, icrc ? icrcState(dissection) : IcrcState.Unknown, rests);
    }
  } finally {
    tell({ kind: 'batch', slot, count, length, rests });
  }
  return true;
}

function end(error?: Error): void {
  const damage = error === undefined ? undefined : { message: error.message, ...codesOf(error) };
  tell({ kind: 'end', interfaces: reader.interfaces, damage });
  port.close();
}

/** Errors lose their properties on the way to another thread. */
function codesOf(error: Error): { code?: string; syscall?: string } {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return { ...(code === undefined ? {} : { code }), ...(syscall === undefined ? {} : { syscall }) };
}

function tell(message: FromReader): void {
  port.postMessage(message);
}
