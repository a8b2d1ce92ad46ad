/** What tests that boot guests have in common. */
import { KERNELS, type KernelLabel } from '../../tools/lab/recipe.ts';

/**
 * Kernels that tests of all of them boot: those of Debian's releases, and with ROCE_ALL_KERNELS the newest, which may
 * change any day.
 */
export const TESTED_KERNELS: readonly KernelLabel[] = KERNELS.filter(
  (kernel) => kernel !== 'sid' || (process.env['ROCE_ALL_KERNELS'] ?? '') !== '',
);
