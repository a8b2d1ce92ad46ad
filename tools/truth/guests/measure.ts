/**
 * Plays the runs between guests and sums up what is told of them. Owns the order, and one boot of two guests for each
 * kernel.
 */
import type { KernelLabel } from '../../lab/recipe.ts';
import { GUEST_VANTAGES } from './capture.ts';
import { keepCaptures } from './cases.ts';
import { type GuestRow, type GuestRows, judgeGuestRun, newGuestRow } from './judge.ts';
import { GuestPair, type PairRun, type WireFrame } from './pair.ts';
import { faultsOf, GUEST_KINDS, type PlannedRun } from './plan.ts';
import { type FrameRow, newFrameRows } from './single-frames.ts';

/** The figures of one kernel. */
export interface GuestTruth {
  /** What `uname -r` prints. */
  readonly release: string;
  readonly runs: number;
  readonly requests: readonly GuestRow[];
  readonly frames: readonly FrameRow[];
}

/**
 * @param log gets a line for each run, with its seed
 * @param keep a directory for the captures of every run; default: none is kept
 */
export async function measureGuests(
  kernel: KernelLabel,
  plan: readonly PlannedRun[],
  log: (line: string) => void,
  keep?: string,
): Promise<GuestTruth> {
  const frames = newFrameRows();
  const rows = new Map<string, GuestRows>(
    GUEST_KINDS.map(({ name }) => [
      name,
      { frames, requests: { requester: newGuestRow(name, 'requester'), responder: newGuestRow(name, 'responder') } },
    ]),
  );
  const pair = await GuestPair.boot(kernel);
  try {
    for (const { kind, transfer, seed } of plan) {
      const seen = await played(pair, { ...transfer, rules: kind.rules, seed }, log);
      const touched = seen.filter(({ direction, did }) => direction === 'out' && did.length > 0).length;
      log(`${kernel}, seed ${seed}, ${kind.name}, ${transfer.client}: ${touched} of ${seen.length} frames`);
      const into = rows.get(kind.name);
      if (keep !== undefined) keepCaptures(keep, `${kernel}-${seed}`, seen);
      if (into !== undefined) judgeGuestRun({ seed, frames: seen, faults: faultsOf(kind) }, into);
    }
    const all = [...rows.values()].flatMap(({ requests }) => GUEST_VANTAGES.map((vantage) => requests[vantage]));
    return { release: pair.release, runs: plan.length, requests: all.filter(({ runs }) => runs > 0), frames };
  } finally {
    await pair.close();
  }
}

/** Plays a run, once more where it failed: programs of the guests may fail while they end, as rping does. */
async function played(pair: GuestPair, run: PairRun, log: (line: string) => void): Promise<WireFrame[]> {
  try {
    return await pair.run(run);
  } catch (error) {
    log(`seed ${run.seed}, played once more: ${error instanceof Error ? error.message.trim() : String(error)}`);
    return pair.run(run);
  }
}
