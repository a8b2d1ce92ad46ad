/** Where the tables are: between comments of a page. Owns those places, and how many runs the tables are made of. */
import { fileURLToPath } from 'node:url';
import { missTable } from './misses.ts';
import type { PartRow } from './parts.ts';
import { markdown, type Seeds, share, type Truth, timeoutTable, tooShortLine, truthTable } from './table.ts';

/** The page. */
export const PAGE = fileURLToPath(new URL('../../docs/analyze.md', import.meta.url));
/** The runs of the page. No verdict was changed with a look at one of these, and none may be. */
export const UNSEEN: Seeds = { first: 41_001, count: 13 };
/** Those of them that the rule for guests is checked with. */
export const PLAYED_AGAIN: Seeds = { first: 41_001, count: 2 };
/** Those that verdicts were made better on, and may be looked at. */
export const SEEN: Seeds = { first: 1, count: 13 };

/** The page with other tables of the simulated network. */
export function withTable(page: string, table: string): string {
  return between(page, BEGIN, END, table);
}

/** The page with other tables of the guests. */
export function withGuestTable(page: string, table: string): string {
  return between(page, GUESTS_BEGIN, GUESTS_END, table);
}

/** The page with another comparison of the rule with alternative runs. */
export function withConfusion(page: string, table: string): string {
  return between(page, ORACLE_BEGIN, ORACLE_END, table);
}

/** The page with another table of READ responses. */
export function withResponses(page: string, table: string): string {
  return between(page, RESPONSES_BEGIN, RESPONSES_END, table);
}

/** All tables of the runs on the simulated network. */
export function truthText({ runs, rows, parts }: Truth): string {
  return [
    `${runs} runs.`,
    truthTable(rows),
    'Lost requests by what is said of them, all identifications together:',
    missTable(rows),
    'ACK timeouts, as the queue pair counts them and as they are told:',
    timeoutTable(rows),
    tooShortLine(rows.map(({ timeouts }) => timeouts)),
    'Captures of both hosts, with two interfaces, and captures that lack packets:',
    partTable(parts),
  ].join('\n\n');
}

/** As Markdown: captures that lack something. */
export function partTable(parts: readonly PartRow[]): string {
  const lines = parts.map(({ kind, capture, captures, withErrors, lost, told, falselyTold }) => [
    ...[kind, capture, captures, withErrors, lost, told],
    share(told === 0 ? undefined : 1 - falselyTold / told),
  ]);
  return markdown('network | capture | captures | with an error | lost | told | precision', lines);
}

function between(page: string, begin: string, end: string, text: string): string {
  const [before = '', rest = ''] = page.split(begin);
  return `${before}${begin}\n\n${text}\n\n${rest.slice(rest.indexOf(end))}`;
}

const BEGIN = '<!-- truth: written by npm run docs:truth -->';
const END = '<!-- end of truth -->';
const ORACLE_BEGIN = '<!-- other runs: written by npm run docs:truth -->';
const ORACLE_END = '<!-- end of other runs -->';
const RESPONSES_BEGIN = '<!-- READ responses: written by npm run docs:truth -->';
const RESPONSES_END = '<!-- end of READ responses -->';
const GUESTS_BEGIN = '<!-- truth of guests: written by npm run docs:truth -- --guests -->';
const GUESTS_END = '<!-- end of truth of guests -->';
