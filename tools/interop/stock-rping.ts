/**
 * What an unmodified rping in a guest has to say for success. Its exit code alone does not tell: after all pings went
 * well it sometimes complains of a bad file descriptor in rdma_get_cm_event and exits with 255, also between two
 * programs of one guest (seen once in some hundreds of runs; by the message, its main thread has closed the event
 * channel its other thread waits on). So every ping must have been printed, and only that very complaint is excused.
 */
import type { RunResult } from '../lab/guest.ts';

const CLOSED_UNDER_ITS_THREAD = 'rdma_get_cm_event: Bad file descriptor';

/** Why a run of `rping -v` with so many pings did not succeed; empty when it did. */
export function rpingFault({ code, stdout, stderr }: RunResult, pings: number): string {
  const seen = stdout.match(/ping data: rdma-ping-\d+: /g)?.length ?? 0;
  const ended = code === 0 || (code === 255 && stderr.includes(CLOSED_UNDER_ITS_THREAD));
  if (seen === pings && ended) return '';
  return `the guest's rping printed ${seen} of ${pings} pings and ended with exit code ${code}\n${stdout}${stderr}`;
}
