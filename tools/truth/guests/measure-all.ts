/** All runs between guests, with every kernel that docs/analyze.md has figures of. Owns kernels and seeds. */
import type { KernelLabel } from '../../lab/recipe.ts';
import { type GuestTruth, measureGuests } from './measure.ts';
import { plannedRuns } from './plan.ts';

/** Kernels, and the seed of the first run of each. */
export const GUEST_KERNELS: readonly (readonly [KernelLabel, number])[] = [
  ['6.1', 5201],
  ['6.12', 5301],
];

/** @param log gets a line for each run @param keep as in `measureGuests` */
export async function measureAllGuests(log: (line: string) => void, keep?: string): Promise<GuestTruth[]> {
  const truths: GuestTruth[] = [];
  for (const [kernel, seed] of GUEST_KERNELS) truths.push(await measureGuests(kernel, plannedRuns(seed), log, keep));
  return truths;
}
