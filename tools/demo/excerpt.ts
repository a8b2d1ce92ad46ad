/**
 * Finds the interesting parts of a run. Owns the choice only: which steps, from where to where.
 */
import { type LadderStep, StepMark } from '../ladder/index.ts';
import type { DemoRun, Phase } from './run.ts';
import { SMALL_MESSAGE } from './settings.ts';

/** A stretch of steps and, where there is one, the step it is about. */
export interface Excerpt {
  readonly steps: readonly LadderStep[];
  /** The frame that had a fault. */
  readonly hurt: LadderStep | undefined;
}

/** The connection, then one message of each operation, the READ with two responses. */
export function introduction(run: DemoRun): Excerpt {
  const [clean] = run.phases;
  const steps = run.steps.slice(0, run.connectSteps);
  const shown = new Set<string>();
  for (const { operation, bytes, fromStep, toStep } of clean?.transfers ?? []) {
    const wanted = operation === 'READ' ? run.settings.mtu + 1 : SMALL_MESSAGE;
    if (shown.has(operation) || (bytes !== wanted && bytes !== ATOMIC_BYTES)) continue;
    shown.add(operation);
    steps.push(...run.steps.slice(fromStep, toStep));
  }
  return { steps, hurt: undefined };
}

/**
 * The first frame of the phase that had a fault and drew a NAK, a lost one if there is any, from a little before it
 * until the requester has retransmitted and is past it. Without a NAK, the first frame with a fault and what followed;
 * no steps without faults.
 */
export function recovery(run: DemoRun, phase: Phase): Excerpt {
  const steps = run.steps.slice(phase.fromStep, phase.toStep);
  for (const kind of [StepMark.Lost, StepMark.Corrupt, StepMark.Late]) {
    const hurtAt = steps.findIndex((step, at) => (step.marks & kind) !== 0 && nakOf(steps, at) > 0);
    const hurt = steps[hurtAt];
    if (hurt === undefined) continue;
    const nakAt = nakOf(steps, hurtAt);
    const again = steps.findIndex((step, at) => at > nakAt && step.fromLeft === hurt.fromLeft && step.psn === hurt.psn);
    const end = again < 0 ? nakAt + STEPS_BEHIND : again + STEPS_BEHIND;
    return { steps: steps.slice(Math.max(0, hurtAt - STEPS_BEFORE), end), hurt };
  }
  const anyAt = steps.findIndex((step) => step.marks !== StepMark.None);
  if (anyAt < 0) return { steps: [], hurt: undefined };
  return { steps: steps.slice(Math.max(0, anyAt - STEPS_BEFORE), anyAt + STEPS_BEHIND), hurt: steps[anyAt] };
}

/** Index of the NAK that answers the faulty step, or -1. */
function nakOf(steps: readonly LadderStep[], hurtAt: number): number {
  const hurt = steps[hurtAt];
  if (hurt === undefined || hurt.psn === undefined) return -1;
  const near = steps.slice(hurtAt + 1, hurtAt + STEPS_TO_NAK);
  const at = near.findIndex(
    (step) => (step.marks & StepMark.Nak) !== 0 && step.fromLeft !== hurt.fromLeft && step.psn === hurt.psn,
  );
  return at < 0 ? -1 : hurtAt + 1 + at;
}

const ATOMIC_BYTES = 8;
const STEPS_BEFORE = 3;
const STEPS_BEHIND = 10;
const STEPS_TO_NAK = 40;
