/**
 * `npm run docs:conformance`: docs/conformance-report.md anew from the verdicts that are kept and may be published;
 * with `--run [DEVICE...]` the devices (default: all of the page) are run first and their verdicts kept.
 * `--rules GLOBS` runs those only, and keeps the rest as it was.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { terminal } from '../../output.ts';
import { openDut } from '../duts/open.ts';
import { FINDINGS_PAGE } from '../findings/index.ts';
import { findingsPage } from '../findings/page.ts';
import { mutantsPage } from '../mutants/page.ts';
import { matchRules, RULES } from '../rules/index.ts';
import type { ConformanceRule } from '../rules/types.ts';
import { type ResultFile, resultFile } from '../runner/files.ts';
import { progressLine, summaryLine } from '../runner/report.ts';
import { runSuite } from '../runner/suite.ts';
import { conformancePage, withDevicesTable } from './page.ts';
import { GUIDE_FILE, MUTANTS_FILE, PAGE_DUTS, PAGE_FILE, readPublished, readResult, writeResult } from './results.ts';

const SEED = 1;

async function runAndKeep(name: string, rules: readonly ConformanceRule[]): Promise<void> {
  const log = (line: string): void => void terminal.complaint(`${name}: ${line}`);
  const dut = await openDut({ dut: name, seed: SEED }, log);
  try {
    const folder = join('conformance-out', name.replace(/[^\w.-]+/g, '-'));
    mkdirSync(folder, { recursive: true });
    const result = await runSuite(dut, {
      seed: SEED,
      rules,
      now: () => performance.now(),
      keep: (file, capture) => {
        const path = join(folder, file);
        writeFileSync(path, capture);
        return path;
      },
      progress: (one, run, verdicts, done, all) => {
        if (run.verdict === 'fail' || run.verdict === 'inconclusive')
          log(`${progressLine(one, verdicts, done, all)}: ${run.reason}`);
      },
    });
    writeResult(merged(resultFile(result), readResult(name)));
    log(summaryLine(result));
  } finally {
    await dut.close();
  }
}

/**
 * Rows of a run in the place of those before; the others stay. A death of before stays too where none of its rules was
 * run.
 */
function merged(run: ResultFile, before: ResultFile | undefined): ResultFile {
  const ran = new Map(run.rules.map((row) => [row.rule, row]));
  const old = new Map(before?.rules.map((row) => [row.rule, row]));
  const rows = RULES.flatMap(({ id }) => ran.get(id) ?? old.get(id) ?? []);
  const deaths = (before?.deaths ?? []).filter((death) => ![...ran.keys()].some((id) => death.startsWith(id)));
  // What was run of it now is a part; with what was there before it is whole.
  const partial = rows.length < RULES.length || run.notRun > 0;
  const partialBecause = partial ? run.partialBecause : [];
  return { ...run, partial, partialBecause, rules: rows, deaths: [...deaths, ...run.deaths] };
}

const { values, positionals } = parseArgs({
  options: { run: { type: 'boolean' }, rules: { type: 'string' } },
  allowPositionals: true,
});
if (values.run === true) {
  const rules = values.rules === undefined ? RULES : matchRules(values.rules);
  for (const name of positionals.length === 0 ? PAGE_DUTS : positionals) await runAndKeep(name, rules);
}
// Marks of the registry may have changed since: what is kept apart is published anew.
for (const result of PAGE_DUTS.map(readResult)) if (result !== undefined) writeResult(result);
const results = PAGE_DUTS.map(readPublished).filter((result) => result !== undefined);
writeFileSync(PAGE_FILE, conformancePage(RULES, results));
writeFileSync(GUIDE_FILE, withDevicesTable(readFileSync(GUIDE_FILE, 'utf8'), results));
writeFileSync(MUTANTS_FILE, mutantsPage());
writeFileSync(FINDINGS_PAGE, findingsPage());
