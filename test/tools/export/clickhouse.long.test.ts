/**
 * Goal: ClickHouse reads what `roce export` writes, and the queries of docs/export.md mean the same there. Method:
 * ClickHouse as a library (npm's `chdb`, half a gigabyte, therefore no dependency) is installed into a folder of this
 * test and asked, in a process of its own, each question as the page has it; DuckDB's answers are the expected ones.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../../support/need.ts';
import { exportFleet, openInDuckDb, QUESTIONS, question, type Row, sqlOf } from './questions.ts';

const CHDB = 'chdb@3.4.0';

/** Reads statements from its input and prints what the last of them answer, each a list of rows. */
const PROGRAM = `
import { Session } from 'chdb';
const { views, queries } = JSON.parse(await new Response(process.stdin).text());
const session = new Session();
for (const view of views) session.query(view);
const rows = (text) => text.split('\\n').filter(Boolean).map((line) => JSON.parse(line));
const answers = queries.map((query) => rows(session.query(query, 'JSONEachRow')));
process.stdout.write(JSON.stringify(answers), () => process.exit(0));
`;

async function run(program: string, args: readonly string[], cwd: string, input = ''): Promise<string> {
  const child = spawn(program, args, { cwd });
  const printed = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed[0] += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    printed[1] += text;
  });
  child.stdin.end(input);
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  expect(code, printed.join('\n')).toBe(0);
  return printed[0] ?? '';
}

/** The page's views, where ClickHouse finds the files. */
function views(folder: string): string[] {
  const statements = [...sqlOf(/^Files/).matchAll(/^CREATE VIEW (\w+) AS SELECT \* FROM '(.+)';$/gm)];
  return statements.map(
    ([, name, files]) => `CREATE VIEW ${name} AS SELECT * FROM file('${join(folder, files ?? '')}')`,
  );
}

/** A figure is the same in both, however it is written: 64-bit integers are texts or BigInt, fractions have 12 digits. */
function comparable(row: Row): Row {
  const one = (value: unknown): unknown => {
    if (value === null) return null;
    return typeof value === 'number' && !Number.isInteger(value) ? value.toPrecision(12) : String(value);
  };
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, one(value)]));
}

describeWith('duckdb', 'ClickHouse', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'roce-clickhouse-'));
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));
  const expected: Row[][] = [];
  let answers: readonly (readonly Row[])[] = [];

  beforeAll(async () => {
    const { folder } = await exportFleet(scratch);
    const ask = await openInDuckDb(folder);
    for (const number of QUESTIONS) expected.push(await ask(question(number)));
    writeFileSync(join(scratch, 'package.json'), '{ "private": true }');
    writeFileSync(join(scratch, 'ask.mjs'), PROGRAM);
    await run('npm', ['install', '--silent', '--ignore-scripts', CHDB], scratch);
    const settings = ' SETTINGS output_format_json_quote_64bit_integers = 1';
    const queries = QUESTIONS.map((number) => question(number).replace(/;\s*$/, settings));
    const input = JSON.stringify({ views: views(folder), queries });
    answers = JSON.parse(await run(process.execPath, ['ask.mjs'], scratch, input));
  });

  it.each(QUESTIONS)('answers question %i as DuckDB does, row by row', (number) => {
    const at = QUESTIONS.indexOf(number);
    expect(expected[at]?.length).toBeGreaterThan(0);
    expect(answers[at]?.map(comparable)).toEqual(expected[at]?.map(comparable));
  });
});
