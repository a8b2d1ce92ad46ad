/**
 * Whether a thread of this process still runs, asked of the system. A worker that runs out of memory, or is terminated,
 * runs no code of its own at its end, and a thread that blocks in a call receives no event of it. Owns nothing.
 */
import { existsSync } from 'node:fs';
import { linkOf } from '../links/proc-files.ts';

/** The number of the calling thread; 0 where the system does not say (only Linux does). */
export function ownThread(): number {
  const [, number] = /\/task\/(\d+)$/.exec(linkOf('/proc/thread-self')) ?? [];
  return Number(number ?? 0);
}

/** False only for a thread of this process that has certainly ended. @param thread of `ownThread` */
export function mayRun(thread: number): boolean {
  return thread === 0 || existsSync(`/proc/self/task/${thread}`);
}
