/**
 * Findings that are not published yet (SECURITY.md). Owns how they are read: from `embargo/` beside the sources, which
 * is in no package. Where that folder is missing there are none, and only their number is known.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { KERNELS } from '../../lab/recipe.ts';
import { SEVERITIES } from './severities.ts';

/** How many there are, for pages and packages that say no more than that. A test compares it with the folder. */
export const WITHHELD_FINDINGS = 7;

/** Of which component, for the same pages. */
export const WITHHELD_COMPONENT = 'Linux rdma_rxe';

/** Where they are, in a checkout that has them. */
export const EMBARGO_DIRECTORY = fileURLToPath(new URL('../../../embargo', import.meta.url));

const kernels = z.array(z.enum(KERNELS));

const FINDING = z.strictObject({
  name: z.string(),
  rule: z.string(),
  title: z.string(),
  severity: z.enum(SEVERITIES),
  kernels,
  security: z.string(),
  byRule: z.literal(true).exactOptional(),
  command: z.string().exactOptional(),
  happens: z.string(),
  source: z.string(),
  users: z.string(),
  since: z.string().exactOptional(),
  /** The file in `embargo/reports/`. Findings with one cause share a report, and count as one. */
  report: z.string(),
});

const DEVIATION = z.strictObject({
  rule: z.string(),
  device: z.string(),
  versions: kernels.exactOptional(),
  does: z.string(),
  evidence: z.string(),
  kills: z.literal(true).exactOptional(),
  report: z.string(),
});

const FILE = z.strictObject({ findings: z.array(FINDING), deviations: z.array(DEVIATION) });

export type WithheldFinding = z.infer<typeof FINDING>;
export type WithheldDeviation = z.infer<typeof DEVIATION>;

/** What the folder holds; empty where it is missing. @throws ZodError for a file of another form */
export function readWithheld(directory = EMBARGO_DIRECTORY): z.infer<typeof FILE> {
  const file = join(directory, 'findings.json');
  return existsSync(file) ? FILE.parse(JSON.parse(readFileSync(file, 'utf8'))) : { findings: [], deviations: [] };
}

export const WITHHELD = readWithheld();
