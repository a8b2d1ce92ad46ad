/**
 * What a finding is: a rule that Linux rdma_rxe breaks, shown by a ladder of docs/rxe-findings or by the cases of the
 * rule. Data only.
 */
import type { KernelLabel } from '../../lab/recipe.ts';
import type { FindingSeverity } from './severities.ts';

export interface RxeFinding {
  /** `RULE-words`; names the ladder and the capture, where there is one. */
  readonly name: string;
  /** Its id in the registry. */
  readonly rule: string;
  /** What it is about, a few words. */
  readonly title: string;
  readonly severity: FindingSeverity;
  /** Kernels of the lab that do it. */
  readonly kernels: readonly KernelLabel[];
  /** It looks like a security problem: which attacker can use it, and for what. */
  readonly security?: string;
  /** There is no ladder: the cases of the rule show it, or `command`. */
  readonly byRule?: true;
  /** What shows it, where neither a ladder nor the cases of the rule do. */
  readonly command?: string;
  /** What the device does, in a sentence or two. */
  readonly happens: string;
  /** Functions below drivers/infiniband/sw/rxe, and why they do that. */
  readonly source: string;
  /** What it means for users of the device. */
  readonly users: string;
  /** What is known of versions beyond those of the lab. */
  readonly since?: string;
  /** It is not published: the name of its report in `embargo/reports/`. */
  readonly report?: string;
}

export const ALL_KERNELS: readonly KernelLabel[] = ['6.1', '6.12', 'sid'];
export const NEWER_KERNELS: readonly KernelLabel[] = ['6.12', 'sid'];
