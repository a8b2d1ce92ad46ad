/**
 * `npm run pyverbs`: rdma-core's own tests on a device of ours, and in a guest on rdma_rxe. Owns the command line and
 * what is written where. Exit codes: 0, 1 when a test fails here that rdma_rxe passes, 2 for a bad command line, 3 when
 * the tests or a guest cannot be run here.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, CommanderError, Option } from 'commander';
import { RoceError } from 'rocev2/packets';
import { userlandPackages } from '../../lab/image.ts';
import { labAvailable } from '../../lab/probe.ts';
import type { Userland } from '../../lab/recipe.ts';
import { complain, terminal } from '../../output.ts';
import { ownRootArguments } from './own-root.ts';
import { behind, formatPage, type PyverbsPage, parsePage } from './page.ts';
import { type Outcomes, parseOutcomes } from './results.ts';
import { runOnRxe } from './rxe.ts';
import { DEBIANS, type Debian, oursArguments, pyverbsMissing, pyverbsVersion, unpackTests } from './suite.ts';

interface Options {
  readonly rxe?: boolean;
  readonly debian: Debian;
  readonly only?: string[];
  readonly file?: string;
}

/** Userland of guests, and the page. */
const OF: Readonly<Record<Debian, { readonly userland: Userland; readonly file: string }>> = {
  '12': { userland: 'pyverbs', file: 'docs/uverbs-pyverbs.md' },
  '13': { userland: 'pyverbs-13', file: 'docs/uverbs-pyverbs-13.md' },
};

async function main(): Promise<number> {
  const command = new Command('pyverbs')
    .description("run rdma-core's own tests on a device of this stack")
    .addOption(
      new Option('--debian <release>', 'whose packages; 13 needs root and "roce lab"')
        .choices([...DEBIANS])
        .default('12'),
    )
    .option('--rxe', 'run them in a guest too, on rdma_rxe of Linux 6.12; needs what "roce lab" needs')
    .option(
      '--only <pattern...>',
      'only tests of such names, "test_qp.*"; prints what came of them, and writes nothing',
    )
    .option('--file <path>', 'where the results are written (default: the page in docs/)')
    .exitOverride();
  try {
    command.parse();
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
    throw error;
  }
  const options = command.opts<Options>();
  const lab = options.rxe === true || options.debian !== '12' ? labAvailable() : { ok: true as const };
  const missing = lab.ok ? (options.debian === '12' ? pyverbsMissing() : undefined) : lab.reason;
  if (missing !== undefined) {
    terminal.complaint(`pyverbs: ${missing}`);
    return EXIT_UNAVAILABLE;
  }
  return run(options);
}

async function run({ rxe, debian, only = [], file = OF[debian].file }: Options): Promise<number> {
  const { userland } = OF[debian];
  const before = existsSync(file) ? parsePage(readFileSync(file, 'utf8')) : undefined;
  const ours = await runOurs(debian, only);
  const packages = debian === '12' ? {} : await userlandPackages({ userland });
  const version = packages['python3-pyverbs'] ?? pyverbsVersion();
  // What another version has left is no answer to these tests.
  const kept = before?.version === version ? before : undefined;
  const guest =
    rxe === true
      ? await runOnRxe(userland, only, (line) => terminal.complaint(line))
      : { release: kept?.release ?? '', version, outcomes: kept?.rxe ?? new Map() };
  if (guest.version !== version)
    throw new RoceError('ERR_ROCE_STATE', `the guest has pyverbs ${guest.version}, and this machine ${version}`);
  const page: PyverbsPage = { debian, version, ours, release: guest.release, rxe: guest.outcomes };
  if (only.length > 0) for (const [name, { verdict, why }] of ours) terminal.line(`${verdict}\t${name}\t${why}`);
  else writeFileSync(file, formatPage(page));
  const worse = behind({
    ours,
    rxe: new Map([...guest.outcomes].filter(([name]) => only.length === 0 || ours.has(name))),
  });
  for (const name of worse)
    terminal.line(`${name} passes on rdma_rxe, and not here: ${ours.get(name)?.why ?? 'not run'}`);
  return worse.length === 0 ? 0 : 1;
}

/** Under `roce run`, as a user would. */
async function runOurs(debian: Debian, only: readonly string[]): Promise<Outcomes> {
  const directory = mkdtempSync(join(tmpdir(), 'roce-pyverbs-'));
  try {
    const words =
      debian === '12'
        ? oursArguments(unpackTests(directory), only)
        : await ownRootArguments(OF[debian].userland, directory, only);
    const args = [...process.execArgv, ROCE, ...words];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => complain(text));
    const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
    if (code !== 0) throw new RoceError('ERR_ROCE_STATE', `roce run ended with exit code ${code}`);
    return parseOutcomes(printed);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const ROCE = fileURLToPath(new URL('../../roce.ts', import.meta.url));
const EXIT_USAGE = 2;
const EXIT_UNAVAILABLE = 3;

process.exitCode = await main();
