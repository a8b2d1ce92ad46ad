/**
 * `npm run interop`: unmodified programs in rdma_rxe guests against ours. Owns the command line and what is written
 * where: reports and captures below the output folder, verdicts in docs/interop.md. Exit codes: 0, 1 when a cell failed
 * that is ours or a kernel was missing, 2 for a bad command line, 3 when the lab cannot run here.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, CommanderError, Option } from 'commander';
import { RoceError } from 'rocev2/packets';
import { tshark } from './experiment/judge.ts';
import type { InteropCell } from './interop/cell.ts';
import { CELLS } from './interop/cells/index.ts';
import { caseName, type MatrixEntry } from './interop/experiments.ts';
import {
  formatInterop,
  type InteropFile,
  type KernelRows,
  mergeRun,
  parseInterop,
  rowsByName,
} from './interop/interop-file.ts';
import { entriesOf, type MatrixRow, MatrixRun } from './interop/matrix-run.ts';
import { interopVersions } from './interop/versions.ts';
import { buildImage } from './lab/image.ts';
import { labAvailable } from './lab/probe.ts';
import { KERNELS, type KernelLabel } from './lab/recipe.ts';
import { terminal } from './output.ts';
import { ProgressLine } from './progress-line.ts';

interface Options {
  readonly kernel?: KernelLabel[];
  readonly all?: boolean;
  readonly only?: string;
  readonly list?: boolean;
  readonly out: string;
  readonly file: string;
}

/** Without one of these the run has failed; the newest kernel is run as far as it can be had, unless asked for. */
const REQUIRED: readonly KernelLabel[] = ['6.1', '6.12'];

async function main(): Promise<number> {
  const command = new Command('interop')
    .description('Run the interop matrix against rdma_rxe guests')
    .addOption(new Option('--kernel <label...>', 'kernels to run').choices([...KERNELS]))
    .option('--all', 'every cell with every kernel (default: those that `npm test` runs); no kernel may be missing')
    .option('--only <pattern>', 'every cell whose name, with the role of the guest, this regular expression matches')
    .option('--list', 'print the names and run nothing')
    .option('--out <folder>', 'where reports and captures are kept', 'interop-out')
    .option('--file <path>', 'where verdicts are written', 'docs/interop.md')
    .exitOverride();
  try {
    command.parse();
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
    throw error;
  }
  const options = command.opts<Options>();
  const entries = chosen(options);
  if (options.list === true) {
    terminal.line(entries.map(caseName).join('\n'));
    return 0;
  }
  const lab = labAvailable();
  if (lab.ok && tshark().available) return runAll(entries, options);
  terminal.complaint(`interop: ${lab.ok ? tshark().reason : lab.reason}`);
  return EXIT_UNAVAILABLE;
}

function chosen({ all = false, only }: Options): MatrixEntry[] {
  const entries = entriesOf(CELLS.filter(({ inCi }: InteropCell) => inCi || all || only !== undefined));
  return only === undefined ? entries : entries.filter((entry) => new RegExp(only).test(caseName(entry)));
}

async function runAll(entries: readonly MatrixEntry[], options: Options): Promise<number> {
  const required = options.kernel ?? (options.all === true ? KERNELS : REQUIRED);
  const kernels = new Map<KernelLabel, KernelRows>();
  const results: MatrixRow[] = [];
  let missing = 0;
  const broke = (error: unknown): void => {
    if (!(error instanceof RoceError)) throw error;
    terminal.line(`a host broke down, and what it ran has no verdict: ${error.message}`);
    missing += 1;
  };
  for (const kernel of options.kernel ?? KERNELS) {
    const image = await imageOf(kernel);
    if ('problem' in image) {
      terminal.line(`${kernel}: skipped, no guest image: ${image.problem}`);
      if (required.includes(kernel)) missing += 1;
      continue;
    }
    const rows = await runKernel(kernel, entries, resolve(options.out, kernel), broke);
    results.push(...rows);
    kernels.set(kernel, { release: image.release, rows: rowsByName(rows) });
    // After each kernel: what has been found is not lost to what comes later.
    await write({ versions: await interopVersions(), kernels }, options);
  }
  const count = (verdict: MatrixRow['verdict']): number => results.filter((row) => row.verdict === verdict).length;
  terminal.line(
    `\n${count('pass')} passed, ${count('fail')} failed, ${count('rxe')} limits of rdma_rxe, ${count('n/a')} n/a`,
  );
  terminal.line(`verdicts in ${options.file}; reports and captures in ${options.out}`);
  return count('fail') + missing === 0 ? 0 : 1;
}

async function runKernel(
  kernel: KernelLabel,
  entries: readonly MatrixEntry[],
  directory: string,
  broke: (error: unknown) => void,
): Promise<readonly MatrixRow[]> {
  const bar = new ProgressLine(process.stderr, { quiet: false, nowMs: () => performance.now() });
  const log = (line: string): void => {
    bar.clear();
    terminal.complaint(`${kernel}: ${line}`);
  };
  const run = new MatrixRun({ kernel, directory, log });
  try {
    for (const [done, entry] of entries.entries()) {
      bar.update(done / entries.length, `${kernel}: ${done} of ${entries.length} cells`);
      const failures = await run.run(entry).catch(broke);
      if (failures === undefined) continue;
      log(`${failures.length === 0 ? 'ok  ' : 'FAIL'} ${caseName(entry)} ${failures[0] ?? ''}`);
    }
    bar.clear();
    await run.findLimits().catch(broke);
  } finally {
    await run.close();
  }
  for (const { entry, verdict, note, failures } of run.rows)
    if (verdict === 'fail' || verdict === 'rxe')
      terminal.line(`${kernel}: ${verdict} ${caseName(entry)}: ${note}\n    ${failures.join('\n    ')}`);
  return run.rows;
}

/** Puts the rows of this run into the file. */
async function write(run: InteropFile, { file }: Options): Promise<void> {
  const before = existsSync(file) ? parseInterop(readFileSync(file, 'utf8'), CELLS) : undefined;
  writeFileSync(file, formatInterop(mergeRun(before, run), CELLS));
}

/** The release of a kernel's image, or why it cannot be had here. */
async function imageOf(kernel: KernelLabel): Promise<{ readonly release: string } | { readonly problem: string }> {
  try {
    return await buildImage(kernel, { log: (line) => terminal.complaint(line) });
  } catch (error) {
    if (error instanceof RoceError) return { problem: error.message };
    throw error;
  }
}

const EXIT_USAGE = 2;
const EXIT_UNAVAILABLE = 3;

process.exitCode = await main();
