/** How bad a finding is. Data only. */

/**
 * `crash`: a kernel that panics, oopses or hangs. `wrong data`: a program gets a wrong result, or memory is open
 * that must not be.
 */
export const SEVERITIES = ['crash', 'wrong data', 'protocol', 'cosmetic'] as const;
export type FindingSeverity = (typeof SEVERITIES)[number];
