/**
 * Starting PSNs that a case is run with: one, or all that lie at a border of the number space
 * (ref:conformance#RSP-PSN).
 */
import type { Case } from '../tester/case.ts';

export const BORDER_PSNS: readonly number[] = [0, 0x7f_ff_ff, 0x80_00_00, 0xff_ff_fe, 0xff_ff_ff];

/** Undefined stands for the tester's own choice. */
export const sweepPsns = (one: Case): readonly (number | undefined)[] =>
  one.psnSweep === true ? BORDER_PSNS : [undefined];
