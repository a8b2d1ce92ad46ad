/** A guest with rdma_rxe as a host of programs. Owns what is put there for them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Guest } from '../../lab/guest.ts';
import { type EndedProgram, OWN, PATIENCE_MS, type ProgramHost, type StartedProgram } from './host.ts';

/** Puts into the guest what `{own}` has, at the path that it has here, and makes `{dir}`. */
export async function guestHost(guest: Guest, ipv4: string, ipv6: string): Promise<ProgramHost> {
  await guest.run(`mkdir -p ${OWN} ${DIRECTORY}`);
  for (const path of COPIED.map((name) => join(OWN, name)))
    await guest.run(`echo ${readFileSync(path).toString('base64')} | base64 -d > ${path}`);
  const start = (line: string): StartedProgram => {
    const job = guest.spawn(`export ${SETTINGS}; exec ${line}`);
    const ended = job
      .wait(LONGEST_MS)
      .then(({ code, stdout, stderr }): EndedProgram => ({ code, printed: stdout + stderr }));
    ended.catch(() => undefined);
    const listening = async (): Promise<void> => {
      await Promise.race([guest.run(UNTIL_IT_LISTENS), ended]);
    };
    const end = async (): Promise<void> => {
      await job.kill('KILL');
      await ended;
    };
    return { ended, listening, end };
  };
  return { ipv4, ipv6, directory: DIRECTORY, own: OWN, start };
}

/** UCX drops every datagram on rdma_rxe without it (docs/uverbs.md). */
const SETTINGS = 'UCX_UD_VERBS_ETH_DGID_CHECK=n';
const DIRECTORY = '/tmp/files';
const COPIED = ['verbs.ts', 'allreduce.py'];
const STEP_MS = 50;
/** What an emulated processor needs to look once. */
const LOOK_MS = 200;
const UNTIL_IT_LISTENS = `tries=${PATIENCE_MS / (STEP_MS + LOOK_MS)}
until grep -q ' 0A ' /proc/net/tcp /proc/net/tcp6 || rdma resource show cm_id | grep -q LISTEN; do
  tries=$((tries - 1))
  [ $tries -gt 0 ] || break
  usleep ${STEP_MS * 1000}
done`;
/** Longer than who waits for a program does. */
const LONGEST_MS = 400_000;
