/**
 * The table of programs in docs/uverbs.md: between two comments of a page that is written by hand otherwise. Owns the
 * words of its cells. `npm run docs:uverbs` writes it after a run of all; the long test runs them again and compares.
 */
import { fileURLToPath } from 'node:url';
import type { TsharkView } from './captures.ts';
import { type DebianPackage, nameOf, type ProgramCase } from './case.ts';
import { COLUMNS, type Column } from './columns.ts';
import { PROGRAM_CASES } from './index.ts';
import type { CaseOutcome } from './run-case.ts';

/** The page. */
export const PAGE = fileURLToPath(new URL('../../../docs/uverbs.md', import.meta.url));

/** A program, as it ran and as tshark reads what it sent. */
export interface JudgedCase {
  readonly outcome: CaseOutcome;
  readonly tshark: TsharkView;
}

/** The page with another table. */
export function withPrograms(page: string, table: string): string {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error('docs/uverbs.md has lost the marks around its table');
  return `${page.slice(0, from)}${BEGIN}\n\n${table}\n\n${page.slice(to)}`;
}

/** All programs, a table for each package. @param rows by the program's name */
export function programTables(rows: ReadonlyMap<string, string>, versions: ReadonlyMap<DebianPackage, string>): string {
  const packages = [...new Set(PROGRAM_CASES.map(({ from }) => from))];
  return packages
    .map((name) => {
      const own = PROGRAM_CASES.filter(({ from }) => from === name).map((one) => rows.get(nameOf(one)) ?? '');
      return [`### ${name} ${versions.get(name) ?? ''}`.trim(), '', ...aligned([HEAD, ...own])].join('\n');
    })
    .join('\n\n');
}

/** The first cells of a line: of a program by itself, or on one device with its peer. */
export function rowOf({ outcome, tshark }: JudgedCase): string {
  return `| ${typedIn(outcome.case)} | ${resultOf(outcome)} | ${captureOf(outcome, tshark)} |`;
}

/** A row with another cell in a column beside the first; a row that has none of them yet gets all. */
export function withCell(row: string, column: Column, cell: string): string {
  const cells = cellsOf(row);
  for (let at = 0; at < COLUMNS.length; at++) cells[FIRST_CELLS + at] ??= NOT_RUN;
  cells[FIRST_CELLS + COLUMNS.indexOf(column)] = cell;
  return `| ${cells.join(' | ')} |`;
}

/** The first cells of a row anew; the others stay. */
export function withFirstCells(row: string, first: string): string {
  const others = COLUMNS.map((_, at) => cellsOf(row)[FIRST_CELLS + at] ?? NOT_RUN);
  return `${first} ${others.join(' | ')} |`;
}

/** What `rowOf` made of a row. */
export function firstCellsOf(row: string): string {
  return `| ${cellsOf(row).slice(0, FIRST_CELLS).join(' | ')} |`;
}

/** What a row has in a column beside the first. */
export function cellIn(row: string, column: Column): string {
  return cellsOf(row)[FIRST_CELLS + COLUMNS.indexOf(column)] ?? NOT_RUN;
}

/** The row of each program in the page, by the program's name. */
export function rowsIn(page: string): ReadonlyMap<string, string> {
  const table = page
    .slice(page.indexOf(BEGIN), page.indexOf(END))
    .split('\n')
    .map((line) => line.replace(/ +\|/g, ' |'));
  const rows = PROGRAM_CASES.map((one) => {
    const start = `| ${typedIn(one)} |`;
    return [nameOf(one), table.find((line) => line.startsWith(start)) ?? ''] as const;
  });
  return new Map(rows);
}

/** How many rows the page has. */
export function rowCount(page: string): number {
  const table = page.slice(page.indexOf(BEGIN), page.indexOf(END)).split('\n');
  return table.filter((line) => line.startsWith('| `')).length;
}

/** A table as Biome has it: cells as wide as the widest of their column. The first row is the head. */
function aligned(rows: readonly string[]): string[] {
  const cells = rows.map(cellsOf);
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => (row[column] ?? '').length)));
  const lines = cells.map(
    (row) => `| ${widths.map((width, column) => (row[column] || NOT_RUN).padEnd(width)).join(' | ')} |`,
  );
  const [head = '', ...rest] = lines;
  return [head, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rest];
}

function cellsOf(row: string): string[] {
  return row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}

function typedIn({ lines, loss }: ProgramCase): string {
  const typed = `\`${(lines.at(-1) ?? '').replace('{own}/', '').replace('{dir}/', '')}\``;
  return loss === undefined ? typed : `${typed}, ${loss * 100} % loss`;
}

function resultOf({ case: { refused, note }, faults }: CaseOutcome): string {
  if (faults.length > 0) return `**fails**: ${faults.join('; ').replaceAll('|', '\\|').replaceAll('\n', ' ')}`;
  if (refused !== undefined) return `not on rdma_rxe either: ${refused}`;
  return note === undefined ? 'runs' : `runs; ${note}`;
}

function captureOf({ case: { silent, loss }, roceFrames }: CaseOutcome, tshark: TsharkView): string {
  if (tshark.malformed > 0) return `tshark finds ${tshark.malformed} malformed`;
  if (tshark.roceFrames !== roceFrames) return `tshark finds ${tshark.roceFrames} RoCE packets of ${roceFrames}`;
  if (silent === true) return 'nothing sent';
  return loss === undefined ? 'clean' : 'clean, with losses';
}

const BEGIN = '<!-- programs: written by npm run docs:uverbs -->';
const END = '<!-- end of programs -->';
const FIRST_CELLS = 3;
/** In a column that has no such program. */
const NOT_RUN = '-';
const HEAD = `| program | result | capture | ${COLUMNS.join(' | ')} |`;
