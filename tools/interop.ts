/**
 * `npm run interop`: real rdma_rxe guests against this stack. Prints a table, keeps a capture of every case, and exits with
 * 1 when a case failed, 2 for a bad command line, 3 when the lab cannot run here.
 */
import { resolve } from 'node:path';
import { Command, CommanderError, Option } from 'commander';
import { RoceError } from '../src/index.ts';
import { type CaseResult, plan, StationKeeper } from './interop/matrix.ts';
import { buildImage } from './lab/image.ts';
import { labAvailable } from './lab/probe.ts';
import { KERNELS, type KernelLabel } from './lab/recipe.ts';
import { formatTable } from './table.ts';

interface Options {
  readonly kernel?: KernelLabel[];
  readonly all?: boolean;
  readonly only?: string;
  readonly out: string;
}

/** Without one of these the run has failed; the newest kernel is run as far as it can be had, unless asked for. */
const REQUIRED: readonly KernelLabel[] = ['6.1', '6.12'];

async function main(): Promise<number> {
  const command = new Command('interop')
    .description('Run the interop matrix against rdma_rxe guests')
    .addOption(new Option('--kernel <label...>', 'kernels to run').choices([...KERNELS]))
    .option('--all', 'fail when any kernel of the lab cannot be had, the newest included')
    .option('--only <text>', 'cases whose name contains this text')
    .option('--out <folder>', 'where captures are kept', 'interop-out')
    .exitOverride();
  try {
    command.parse();
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
  const lab = labAvailable();
  if (!lab.ok) {
    console.error(`interop: ${lab.reason}`);
    return 3;
  }
  const options = command.opts<Options>();
  const required = options.kernel ?? (options.all === true ? KERNELS : REQUIRED);
  const results: CaseResult[] = [];
  let missing = 0;
  for (const kernel of options.kernel ?? KERNELS) {
    const problem = await imageProblem(kernel);
    if (problem === undefined) results.push(...(await runKernel(kernel, options)));
    else if (required.includes(kernel)) missing += 1;
    if (problem !== undefined) console.log(`${kernel}: skipped, no guest image: ${problem}`);
  }
  console.log(formatResults(results).join('\n'));
  const failed = results.filter((result) => !result.passed).length;
  console.log(`\n${results.length - failed} passed, ${failed} failed; captures in ${options.out}`);
  return failed + missing === 0 ? 0 : 1;
}

/** Why a kernel cannot be had here, or undefined when its image is ready. */
async function imageProblem(kernel: KernelLabel): Promise<string | undefined> {
  try {
    await buildImage(kernel, { log: (line) => console.error(line) });
    return undefined;
  } catch (error) {
    if (error instanceof RoceError) return error.message;
    throw error;
  }
}

async function runKernel(kernel: KernelLabel, options: Options): Promise<CaseResult[]> {
  const directory = resolve(options.out);
  const results: CaseResult[] = [];
  for (const { mtu, cases } of plan(kernel)) {
    const keeper = new StationKeeper(kernel, mtu, (line) => console.error(line));
    try {
      for (const planned of cases.filter(({ name }) => options.only === undefined || name.includes(options.only))) {
        const result = await keeper.run(planned, directory);
        results.push(result);
        console.error(`${result.release}: ${result.passed ? 'pass' : 'FAIL'} ${result.name} ${result.note}`);
      }
    } finally {
      await keeper.close();
    }
  }
  return results;
}

function formatResults(results: readonly CaseResult[]): string[] {
  const rows = results.map((r) => [
    r.release,
    r.name,
    r.passed ? 'pass' : 'FAIL',
    r.seconds.toFixed(1),
    String(r.frames),
    r.note.split('\n')[0] ?? '',
  ]);
  return formatTable(['kernel', 'case', 'verdict', 'seconds', 'packets', 'note'], rows, [
    'left',
    'left',
    'left',
    'right',
    'right',
    'left',
  ]);
}

process.exitCode = await main();
