/**
 * Tests that need the lab: they run where it can, are skipped with one printed reason where it cannot, and fail where it must
 * (CI is set), so that a skip never passes for a success.
 */
import { labAvailable } from '../../tools/lab/probe.ts';
import { KERNELS, type KernelLabel } from '../../tools/lab/recipe.ts';
import { describeWhere } from '../support/gate.ts';

/** `describe` for tests that boot guests. */
export function describeWithLab(name: string, body: () => void): void {
  describeWhere(labAvailable(), name, body);
}

/** Kernels that tests of all of them boot: those of Debian's releases, and with ROCE_ALL_KERNELS the newest, which may change any day. */
export const TESTED_KERNELS: readonly KernelLabel[] = KERNELS.filter(
  (kernel) => kernel !== 'sid' || (process.env['ROCE_ALL_KERNELS'] ?? '') !== '',
);
