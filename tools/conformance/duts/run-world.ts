/** How virtual time passes for a script: only when it waits. */

import type { World } from 'rocev2';
import { InvariantError } from 'rocev2/packets';

/**
 * Lets virtual time pass until `promise` settles. A script thinks in no time: all that hangs on promises is over before
 * time passes, however long the chain of them is. `what` names the script in errors. @throws InvariantError for a world
 * that falls silent before, and for a script without end
 */
export async function runWorld<T>(
  world: Pick<World, 'now' | 'steps' | 'step'>,
  promise: Promise<T>,
  what: string,
): Promise<T> {
  const limit = world.steps + MAX_STEPS;
  let settled = false;
  const settle = (): void => {
    settled = true;
  };
  promise.then(settle, settle);
  for (;;) {
    await new Promise((done) => setImmediate(done));
    if (settled) return promise;
    if (!world.step()) throw new InvariantError(`the world fell silent before ${what} ended (${world.now} ns)`);
    if (world.steps >= limit) throw new InvariantError(`${what} took more than ${MAX_STEPS} steps of the world`);
  }
}

/** Some cases wait for hours. */
const MAX_STEPS = 50_000_000;
