/**
 * What the tester found out about Linux rdma_rxe, as data: docs/rxe-findings.md is made from what is published, and
 * tests compare all of it with our own stack and the kernels of the lab. What else is known of rxe, the registry's
 * deviations have.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CRASHES } from './crashes.ts';
import { PROTOCOL_FINDINGS } from './protocol.ts';
import type { RxeFinding } from './types.ts';
import { EMBARGO_DIRECTORY, WITHHELD } from './withheld.ts';
import { WRONG_DATA } from './wrong-data.ts';

export type { FindingSeverity } from './severities.ts';
export type { RxeFinding } from './types.ts';

/** Those that are published, the worst first. */
export const FINDINGS: readonly RxeFinding[] = [...CRASHES, ...WRONG_DATA, ...PROTOCOL_FINDINGS];

/** Those that are not, where this checkout has them. */
export const EMBARGOED: readonly RxeFinding[] = WITHHELD.findings;

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export const FINDINGS_PAGE = join(ROOT, 'docs/rxe-findings.md');
/** Ladders and captures of those that are published. */
export const FINDINGS_DIRECTORY = join(ROOT, 'docs/rxe-findings');
/** Ladders and captures of the others. */
export const WITHHELD_DIRECTORY = join(EMBARGO_DIRECTORY, 'findings');

/** The folder of a finding's ladder and capture. */
export const directoryOf = ({ report }: RxeFinding): string =>
  report === undefined ? FINDINGS_DIRECTORY : WITHHELD_DIRECTORY;

/** The text of its ladder; undefined for a finding that has none. */
export const ladderOf = (one: RxeFinding): string | undefined =>
  one.byRule === true ? undefined : readFileSync(join(directoryOf(one), `${one.name}.ladder`), 'utf8');
