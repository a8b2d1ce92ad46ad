/**
 * `npm run docs:uverbs`: runs the programs of docs/uverbs.md and writes their table. Words after `--` choose programs
 * whose line has one of them: only their rows are written anew.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { terminal } from '../../output.ts';
import { nameOf } from './case.ts';
import { PROGRAM_CASES } from './index.ts';
import { PAGE, programTables, rowOf, rowsIn, withPrograms } from './page.ts';
import { packageVersions, runCases } from './run-all.ts';

/** The end of what is printed, in characters. */
const PRINTED = 1500;
const words = process.argv.slice(2);
const chosen = PROGRAM_CASES.filter((one) => words.length === 0 || words.some((word) => nameOf(one).includes(word)));
const directory = mkdtempSync(join(tmpdir(), 'roce-programs-'));
const judged = await runCases(chosen, directory, (outcome) => {
  terminal.line(`${outcome.faults.length === 0 ? 'well' : 'NOT '} ${nameOf(outcome.case)}`);
  if (outcome.faults.length > 0) terminal.line(`${outcome.faults.join('\n')}\n${outcome.printed.slice(-PRINTED)}`);
});
const failed = judged.filter(({ outcome }) => outcome.faults.length > 0);
const page = readFileSync(PAGE, 'utf8');
const rows = new Map(rowsIn(page));
for (const one of judged) rows.set(nameOf(one.outcome.case), rowOf(one));
const versions = await packageVersions([...new Set(PROGRAM_CASES.map(({ from }) => from))]);
writeFileSync(PAGE, withPrograms(page, programTables(rows, versions)));
terminal.line(`${judged.length - failed.length} of ${judged.length} as expected`);
if (failed.length === 0) rmSync(directory, { recursive: true });
else {
  terminal.line(`what they printed and sent is in ${directory}`);
  process.exitCode = 1;
}
