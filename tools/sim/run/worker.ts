/** A thread that carries out runs, one after the other. Owns nothing: the pool sends jobs and takes results. */
import { parentPort } from 'node:worker_threads';
import { installBulkCrc32 } from 'rocev2/crc32';
import { invariant } from 'rocev2/packets';
import { execute, type Job, type JobResult } from './execute.ts';

/** The messages of a thread. */
export type WorkerMessage =
  | { readonly kind: 'progress'; readonly share: number }
  | { readonly kind: 'done'; readonly result: JobResult };

invariant(parentPort !== null, 'this is the entry of a thread');
const port = parentPort;
installBulkCrc32();

port.on('message', (job: Job) => {
  let lastMs = performance.now();
  const tell = (share: number): void => {
    const nowMs = performance.now();
    if (nowMs - lastMs < PROGRESS_MS) return;
    lastMs = nowMs;
    port.postMessage({ kind: 'progress', share } satisfies WorkerMessage);
  };
  port.postMessage({ kind: 'done', result: execute(job, tell) } satisfies WorkerMessage);
});

const PROGRESS_MS = 100;
