/**
 * `npm run docs:uverbs`: runs the programs of docs/uverbs.md and writes their table. Words after `--` choose programs
 * whose line has one of them: only their rows are written anew. `--column 'rxe 6.12'` runs what that column has,
 * without it each program runs on one device.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { terminal } from '../../output.ts';
import { nameOf } from './case.ts';
import { COLUMNS, casesOf, cellOf } from './columns.ts';
import { PROGRAM_CASES } from './index.ts';
import { PAGE, programTables, rowOf, rowsIn, withCell, withFirstCells, withPrograms } from './page.ts';
import { packageVersions, runCases, runColumn } from './run-all.ts';
import type { CaseOutcome } from './run-case.ts';

const EXIT_INTERRUPTED = 130;
/** The end of what is printed, in characters. */
const PRINTED = 1500;
const words = process.argv.slice(2);
const asked = words[0] === '--column' ? words.splice(0, 2)[1] : undefined;
const column = COLUMNS.find((name) => name === asked);
if (asked !== undefined && column === undefined) throw new Error(`${asked} is none of ${COLUMNS.join(', ')}`);
const cases = column === undefined ? PROGRAM_CASES : casesOf(column);
const chosen = cases.filter((one) => words.length === 0 || words.some((word) => nameOf(one).includes(word)));
const directory = mkdtempSync(join(tmpdir(), 'roce-programs-'));
const tell = (outcome: CaseOutcome): void => {
  if (outcome.before !== undefined) terminal.line(`again, for the first time: ${outcome.before.join('; ')}`);
  terminal.line(`${outcome.faults.length === 0 ? 'well' : 'NOT '} ${nameOf(outcome.case)}`);
  if (outcome.faults.length > 0) terminal.line(`${outcome.faults.join('\n')}\n${outcome.printed.slice(-PRINTED)}`);
};
const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interruption.abort());
const tellHosts = (made: readonly string[]): void => terminal.line(`made ${made.join(' and ')}`);
const options = { opened: tellHosts, ended: tell, until: interruption.signal };
const running =
  column === undefined ? runCases(chosen, directory, options) : runColumn(column, chosen, directory, options);
const judged = await running.catch((error: unknown) => {
  if (!interruption.signal.aborted) throw error;
  rmSync(directory, { recursive: true });
  process.exit(EXIT_INTERRUPTED);
});
const failed = judged.filter(({ outcome }) => outcome.faults.length > 0);
const page = readFileSync(PAGE, 'utf8');
const rows = new Map(rowsIn(page));
for (const one of judged) {
  const name = nameOf(one.outcome.case);
  const row = rows.get(name) ?? '';
  const { outcome, tshark } = one;
  rows.set(
    name,
    column === undefined ? withFirstCells(row, rowOf(one)) : withCell(row, column, cellOf(outcome, tshark)),
  );
}
const versions = await packageVersions([...new Set(PROGRAM_CASES.map(({ from }) => from))]);
writeFileSync(PAGE, withPrograms(page, programTables(rows, versions)));
terminal.line(`${judged.length - failed.length} of ${judged.length} as expected`);
if (failed.length === 0) rmSync(directory, { recursive: true });
else {
  terminal.line(`what they printed and sent is in ${directory}`);
  process.exitCode = 1;
}
