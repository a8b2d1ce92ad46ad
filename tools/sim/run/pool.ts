/**
 * Threads that carry out runs side by side, so that this one can listen to ctrl-C and draw. Owns the threads and who
 * does what; results come in the order of the jobs, whoever is ready first, so that a file of them is always the same.
 */
import { Worker } from 'node:worker_threads';
import { workerSource } from 'rocev2/node';
import { invariant } from 'rocev2/packets';
import type { Job, JobResult } from './execute.ts';
import type { WorkerMessage } from './worker.ts';

export interface PoolOptions {
  /** Threads at most. */
  readonly threads: number;
  /** Ends all of them at once when it is aborted; what was done by then has been handed over. */
  readonly signal: AbortSignal;
  /** As soon as a job has ended, in any order. */
  readonly ended: (result: JobResult) => void;
  /** In the order of the jobs. */
  readonly done: (result: JobResult) => void;
  /** Of all jobs together, 0..1; also how many have ended. */
  readonly progress: (share: number, ended: number) => void;
}

/** Resolves when all is done, or the signal has ended it. @throws what a thread throws, which is a bug of ours */
export async function runJobs(jobs: readonly Job[], options: PoolOptions): Promise<void> {
  const queue = new JobQueue(jobs, options);
  const threads = Math.min(options.threads, jobs.length);
  await Promise.all(Array.from({ length: threads }, () => serve(queue, options.signal)));
}

/** Who gets which job, and results put back in order. */
class JobQueue {
  readonly #jobs: readonly Job[];
  readonly #options: PoolOptions;
  readonly #shares: number[];
  readonly #waiting = new Map<number, JobResult>();
  #next = 0;
  #handedOver = 0;
  #ended = 0;

  constructor(jobs: readonly Job[], options: PoolOptions) {
    this.#jobs = jobs;
    this.#options = options;
    this.#shares = jobs.map(() => 0);
  }

  take(): { readonly job: Job; readonly place: number } | undefined {
    const place = this.#next;
    const job = this.#jobs[place];
    if (job === undefined) return undefined;
    this.#next++;
    return { job, place };
  }

  progress(place: number, share: number): void {
    this.#shares[place] = share;
    this.#tell();
  }

  done(place: number, result: JobResult): void {
    this.#shares[place] = 1;
    this.#ended++;
    this.#options.ended(result);
    this.#waiting.set(place, result);
    for (;;) {
      const next = this.#waiting.get(this.#handedOver);
      if (next === undefined) break;
      this.#waiting.delete(this.#handedOver++);
      this.#options.done(next);
    }
    this.#tell();
  }

  #tell(): void {
    const sum = this.#shares.reduce((total, share) => total + share, 0);
    this.#options.progress(sum / this.#jobs.length, this.#ended);
  }
}

/** One thread from its start to its end. */
function serve(queue: JobQueue, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const { source, options } = workerSource(import.meta.url, 'worker');
    const worker = new Worker(source, { ...options, name: 'rocev2 simulation' });
    let place = -1;
    const stop = (): void => {
      signal.removeEventListener('abort', stop);
      void worker.terminate();
    };
    const next = (): void => {
      const taken = signal.aborted ? undefined : queue.take();
      if (taken === undefined) {
        stop();
        return;
      }
      place = taken.place;
      worker.postMessage(taken.job);
    };
    signal.addEventListener('abort', stop);
    worker.on('message', (told: WorkerMessage) => {
      if (told.kind === 'progress') {
        queue.progress(place, told.share);
        return;
      }
      invariant(place >= 0, 'a finished worker had a task');
      queue.done(place, told.result);
      next();
    });
    worker.on('error', (error) => {
      stop();
      reject(error);
    });
    worker.on('exit', () => {
      signal.removeEventListener('abort', stop);
      resolve();
    });
    next();
  });
}
