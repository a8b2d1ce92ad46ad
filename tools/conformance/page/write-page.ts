/**
 * `npm run docs:conformance`: CONFORMANCE.md anew from the verdicts that are kept; with `--run [DEVICE...]` the devices (default: all of the
 * page) are run first and their verdicts kept.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDut } from '../duts/open.ts';
import { mutantsPage } from '../mutants/page.ts';
import { RULES } from '../rules/index.ts';
import { resultFile } from '../runner/files.ts';
import { summaryLine } from '../runner/report.ts';
import { runSuite } from '../runner/suite.ts';
import { conformancePage } from './page.ts';
import { MUTANTS_FILE, PAGE_DUTS, PAGE_FILE, readResult, writeResult } from './results.ts';

const SEED = 1;

async function runAndKeep(name: string): Promise<void> {
  const log = (line: string): void => void process.stderr.write(`${name}: ${line}\n`);
  const dut = await openDut({ dut: name, seed: SEED }, log);
  try {
    const folder = join('conformance-out', name.replace(/[^\w.-]+/g, '-'));
    mkdirSync(folder, { recursive: true });
    const result = await runSuite(dut, {
      seed: SEED,
      rules: RULES,
      now: () => performance.now(),
      keep: (file, capture) => {
        const path = join(folder, file);
        writeFileSync(path, capture);
        return path;
      },
      progress: (one, run, done, all) => {
        if (run.verdict === 'fail' || run.verdict === 'inconclusive')
          log(`${done}/${all} ${one.rules.join(', ')}: ${run.verdict}: ${run.reason}`);
      },
    });
    writeResult(resultFile(result));
    log(summaryLine(result));
  } finally {
    await dut.close();
  }
}

const [flag, ...named] = process.argv.slice(2);
if (flag === '--run') for (const name of named.length === 0 ? PAGE_DUTS : named) await runAndKeep(name);
const results = PAGE_DUTS.map(readResult).filter((result) => result !== undefined);
writeFileSync(PAGE_FILE, conformancePage(RULES, results));
writeFileSync(MUTANTS_FILE, mutantsPage());
