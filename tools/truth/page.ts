/** Where the table is: between two comments of a page. Owns that place, and how many runs the table is made of. */
import { fileURLToPath } from 'node:url';

/** The page. */
export const PAGE = fileURLToPath(new URL('../../docs/analyze.md', import.meta.url));
/** Of each kind and IP version. */
export const SEEDS = 32;

/** The page with another table. */
export function withTable(page: string, table: string): string {
  const [before = '', rest = ''] = page.split(BEGIN);
  const after = rest.slice(rest.indexOf(END));
  return `${before}${BEGIN}\n\n${table}\n\n${after}`;
}

const BEGIN = '<!-- truth: written by npm run docs:truth -->';
const END = '<!-- end of truth -->';
