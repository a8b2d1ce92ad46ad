/** Where a long hunt stands, in a file: written whole or not at all, so that a crash loses one seed at most. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

const shape = z.object({
  /** The next seed to run. */
  next: z.number().int(),
  /** Seeds run so far. */
  seeds: z.number().int(),
  /** Frames sent in all, those of the attackers included. */
  frames: z.number().int(),
  /** Virtual seconds in all. */
  virtualSeconds: z.number(),
  /** Seeds that failed. */
  failed: z.array(z.number().int()),
  /** In how many seeds each counter was not 0. */
  counters: z.record(z.string(), z.number().int()),
});
export type HuntState = z.infer<typeof shape>;

export const freshState = (next: number): HuntState => ({
  ...{ next, seeds: 0, frames: 0, virtualSeconds: 0, failed: [], counters: {} },
});

/** What the file says; undefined where there is none. @throws for one that is no state */
export function readState(path: string): HuntState | undefined {
  return existsSync(path) ? shape.parse(JSON.parse(readFileSync(path, 'utf8'))) : undefined;
}

export function writeState(path: string, state: HuntState): void {
  const beside = `${path}.new`;
  writeFileSync(beside, `${JSON.stringify(state)}\n`);
  renameSync(beside, path);
}
