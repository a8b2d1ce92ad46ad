/** The agent in a guest of the lab: built where it is not, brought in, started on the guest's port. */
import { readFile } from 'node:fs/promises';
import type { Guest } from '../../lab/guest.ts';
import type { BuildOptions } from '../../lab/parts.ts';
import type { AttachedProgram } from '../../lab/port.ts';
import { buildAgent } from './build.ts';

/**
 * Starts the agent for rxe0 in a guest that was booted with `hostControl`; its first line comes through the socket. One
 * that was started before is ended, and with it all that it had made. Rejects as `buildAgent` and `Guest.attach` do.
 */
export async function startAgent(guest: Guest, options: BuildOptions = {}): Promise<AttachedProgram> {
  const program = await readFile(await buildAgent(options));
  return guest.attach(program, ['--device', 'rxe0', '--once', '--console']);
}
