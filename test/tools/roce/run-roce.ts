/** Runs the `roce` command as a user does, in a process of its own. */
import { type Running, startProgram } from '../../support/running.ts';

export type { Ended, Running } from '../../support/running.ts';

export function startRoce(args: readonly string[]): Running {
  return startProgram('tools/roce.ts', args);
}
