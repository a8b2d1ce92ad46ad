/**
 * Writes the tables of docs/counters.md: kinds, and the names of counters with their sources.
 *
 * Owns what stands between the marks of that page; the rest of it is written by hand.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ALL_KINDS, KINDS } from './kinds.ts';
import { ALL_NAMES } from './names.ts';

/** The page with its tables made again. */
export function counterPage(page: string): string {
  const [before = '', rest = ''] = page.split(BEGIN);
  const [, after = ''] = rest.split(END);
  return `${before}${BEGIN}\n\n${tables()}\n\n${END}${after}`;
}

function tables(): string {
  const sources = [...new Set(ALL_NAMES.map(({ source }) => source))];
  const rows = ALL_KINDS.map((kind) => {
    const { role, unit, about } = KINDS[kind];
    const names = ALL_NAMES.filter((row) => row.kind === kind).map(
      ({ name, source }) => `\`${name}\` [${sources.indexOf(source) + 1}]`,
    );
    return `| ${kind} | ${role} | ${unit} | ${about} | ${names.join(', ')} |`;
  });
  const list = sources.map((source, at) => {
    const drivers = [...new Set(ALL_NAMES.filter((row) => row.source === source).map(({ driver }) => driver))];
    return `${at + 1}. ${drivers.join(', ')}: ${source.split(', ').map(linked).join(', ')}`;
  });
  return [
    '| kind | counted by | unit | one more means | counters |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
    'Sources:',
    '',
    ...list,
  ].join('\n');
}

function linked(source: string): string {
  return source.startsWith('https:') ? `<${source}>` : `\`${source}\``;
}

const BEGIN = '<!-- tables: npx tsx tools/counters/page.ts writes them -->';
const END = '<!-- end of tables -->';

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const path = fileURLToPath(new URL('../../docs/counters.md', import.meta.url));
  writeFileSync(path, counterPage(readFileSync(path, 'utf8')));
}
