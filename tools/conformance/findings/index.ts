/**
 * What the tester found out about Linux rdma_rxe, as data: docs/rxe-findings.md is made from it, and tests hold it against our own stack and the
 * kernels of the lab. What else is known of rxe, the registry's deviations have.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CRASHES } from './crashes.ts';
import { PROTOCOL } from './protocol.ts';
import type { Finding } from './types.ts';
import { WRONG_DATA } from './wrong-data.ts';

export type { Finding, Severity } from './types.ts';

/** All findings, the worst first. */
export const FINDINGS: readonly Finding[] = [...CRASHES, ...WRONG_DATA, ...PROTOCOL];

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export const FINDINGS_PAGE = join(ROOT, 'docs/rxe-findings.md');
/** Ladders and captures. */
export const FINDINGS_DIRECTORY = join(ROOT, 'docs/rxe-findings');

/** The text of its ladder; undefined for a finding that has none. */
export const ladderOf = ({ name, byRule }: Finding): string | undefined =>
  byRule === true ? undefined : readFileSync(join(FINDINGS_DIRECTORY, `${name}.ladder`), 'utf8');
