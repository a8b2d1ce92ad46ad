/**
 * `npm run interop`: real rdma_rxe guests against this stack. The matrix is experiments (`experiments/interop-*.json`), each
 * with every kernel and path MTU. Prints a table, keeps captures, logs and reports, and exits with 1 when a case failed, 2 for a bad command line, 3 when the lab cannot run here.
 */
import { resolve } from 'node:path';
import { Command, CommanderError, Option } from 'commander';
import { RoceError } from '../src/index.ts';
import { interopMatrix } from './experiment/matrix.ts';
import { type CaseResult, failuresOf, runExperiment } from './experiment/run.ts';
import { Stages } from './experiment/stage.ts';
import type { CaseSpec } from './experiment/types.ts';
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
    .option('--out <folder>', 'where reports and captures are kept', 'interop-out')
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
  const results: Cell[] = [];
  let missing = 0;
  for (const kernel of options.kernel ?? KERNELS) {
    const problem = await imageProblem(kernel);
    if (problem === undefined) results.push(...(await runKernel(kernel, options)));
    else if (required.includes(kernel)) missing += 1;
    if (problem !== undefined) console.log(`${kernel}: skipped, no guest image: ${problem}`);
  }
  console.log(formatCells(results).join('\n'));
  const failed = results.filter(({ result }) => !result.passed).length;
  console.log(`\n${results.length - failed} passed, ${failed} failed; reports and captures in ${options.out}`);
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

/** A case of an experiment with one kernel and one MTU. */
interface Cell {
  readonly kernel: KernelLabel;
  readonly name: string;
  readonly result: CaseResult;
}

async function runKernel(kernel: KernelLabel, { only, out }: Options): Promise<Cell[]> {
  const cells: Cell[] = [];
  const stages = new Stages((line) => console.error(line));
  try {
    for (const { mtu, experiment } of interopMatrix(kernel)) {
      const wanted = (name: string): boolean => only === undefined || name.includes(only);
      const nameOf = (spec: CaseSpec): string => `${experiment.name}/${spec.name} mtu ${mtu}`;
      const cases = experiment.cases.filter((spec) => wanted(nameOf(spec)));
      if (cases.length === 0) continue;
      const told = (result: CaseResult): void => {
        cells.push({ kernel, name: nameOf(result.spec), result });
        console.error(
          `${kernel}: ${result.passed ? 'pass' : 'FAIL'} ${nameOf(result.spec)} ${failuresOf(result).join('; ')}`,
        );
      };
      const directory = resolve(out, kernel, `${experiment.name}-mtu${mtu}`);
      await runExperiment({ ...experiment, cases }, { directory, stages, told });
    }
  } finally {
    await stages.close();
  }
  return cells;
}

function formatCells(cells: readonly Cell[]): string[] {
  const rows = cells.map(({ kernel, name, result }) => [
    kernel,
    name,
    result.passed ? 'pass' : 'FAIL',
    result.record.seconds.toFixed(1),
    String(framesOf(result)),
    failuresOf(result)[0] ?? '',
  ]);
  return formatTable(['kernel', 'case', 'verdict', 'seconds', 'frames', 'note'], rows, [
    'left',
    'left',
    'left',
    'right',
    'right',
    'left',
  ]);
}

/** What hosts have sent. */
function framesOf({ record }: CaseResult): number {
  const directions = record.wires.flatMap(({ account }) => Object.values(account.directions));
  return directions.reduce((sum, { frames }) => sum + frames, 0);
}

process.exitCode = await main();
