/** The queries of docs/export.md, and a fleet's tables to ask them of, in DuckDB. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exportFiles } from '../../../tools/export/command.ts';
import { chunksOf, Sink } from '../../support/sink.ts';
import { type Member, makeFleet } from './fleet.ts';

export const page = readFileSync(fileURLToPath(new URL('../../../docs/export.md', import.meta.url)), 'utf8');

/** Their numbers on the page. */
export const QUESTIONS: readonly number[] = [...page.matchAll(/^### (\d+)\. /gm)].map(([, number]) => Number(number));

/** The query of a question. */
export const question = (number: number): string => sqlOf(new RegExp(`^${number}\\. `));

/** The statements below a heading of the page; each heading has one block of them at most. */
export function sqlOf(heading: RegExp): string {
  const sections = page.split(/^##+ /m).filter((section) => heading.test(section));
  const sql = sections[0]?.match(/```sql\n([\s\S]*?)```/)?.[1];
  if (sections.length !== 1 || sql === undefined) throw new Error(`docs/export.md has no query below ${heading}`);
  return sql;
}

export type Row = Readonly<Record<string, unknown>>;

/** Captures of a fleet, and the folder with their tables. */
export async function exportFleet(scratch: string): Promise<{ fleet: readonly Member[]; folder: string }> {
  const fleet = await makeFleet(scratch);
  const folder = join(scratch, 'fleet');
  const streams = { stdin: chunksOf(), stdout: new Sink(), stderr: new Sink() };
  const flags = { out: folder, hostFrom: /([^/]+)\/roce\.pcapng$/, icrc: true };
  const files = fleet.map(({ file }) => file);
  const status = await exportFiles(files, flags, streams);
  if (status !== 0) throw new Error(`roce export ended with ${status}`);
  return { fleet, folder };
}

/** Rows as DuckDB has them, of the views that the page makes. */
export async function openInDuckDb(folder: string): Promise<(sql: string) => Promise<Row[]>> {
  // Loaded here alone: the binary is large, and may be missing.
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  await connection.run(`SET file_search_path = '${folder}'`);
  await connection.run(sqlOf(/^Files/));
  return async (sql) => (await connection.runAndReadAll(sql)).getRowObjects();
}
