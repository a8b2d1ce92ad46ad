/**
 * The tables in `docs/export.md`: made from the columns themselves; a test compares the two. The rest of the page is
 * written by hand.
 *
 * Run as a program it writes them into the page: `npx tsx tools/export/page.ts`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SCHEMA_VERSION, type Table } from './schema.ts';
import { TABLES } from './tables.ts';

/** The page with its tables as they are now. */
export function exportPage(page: string): string {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error('docs/export.md has lost the marks around its tables');
  const tables = Object.values(TABLES).flatMap((table) => tableLines(table as Pick<Table<never>, keyof Table<never>>));
  return `${page.slice(0, from)}${[BEGIN, '', `Schema version ${SCHEMA_VERSION}.`, '', ...tables].join('\n')}${page.slice(to)}`;
}

function tableLines({ name, about, key, columns }: Table<never>): string[] {
  const identity = key.length === 0 ? 'Rows have no key.' : `Key: ${key.map((column) => `\`${column}\``).join(', ')}.`;
  const rows = columns.map((column) => `| \`${column.name}\` | ${column.type} | ${column.about} |`);
  return [
    `### ${name}`,
    '',
    `${about} ${identity}`,
    '',
    '| column | type | meaning |',
    '| --- | --- | --- |',
    ...rows,
    '',
  ];
}

const BEGIN = '<!-- tables: written by npx tsx tools/export/page.ts -->';
const END = '<!-- end of tables -->';

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = fileURLToPath(new URL('../../docs/export.md', import.meta.url));
  writeFileSync(file, exportPage(readFileSync(file, 'utf8')));
}
