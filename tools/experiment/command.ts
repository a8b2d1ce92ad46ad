/**
 * `roce experiment`: list, show, check and run experiments. Owns the command line. Exit codes: 0 all as expected, 1
 * not, 2 an invalid command line or file, 3 this machine lacks what the experiment needs, 130 ctrl-C.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { defined, RoceError } from 'rocev2/packets';
import { exitWith } from '../options.ts';
import { terminal } from '../output.ts';
import { formatTable } from '../table.ts';
import { visibleLine } from '../visible-text.ts';
import { filterProblems } from './filters.ts';
import { tshark } from './judge.ts';
import { builtInNames, experimentPath, isBuiltIn, loadExperiment, type ParameterSettings } from './load.ts';
import { PROGRAMS } from './programs/index.ts';
import { type CaseResult, failuresOf, runExperiment } from './run.ts';
import { HostPool } from './stage.ts';
import { plannedCommands, plannedText, reachesThisMachine } from './trust.ts';
import type { Experiment } from './types.ts';

interface RunFlags {
  readonly out?: string;
  readonly set: ParameterSettings;
  readonly case?: string;
  readonly trust?: boolean;
}

export function experimentCommand(): Command {
  const command = new Command('experiment').description('hosts, wires, commands and what must be seen, from a file');
  command
    .command('list')
    .description('the experiments that are built in')
    .action(() => guarded(list));
  command
    .command('show')
    .description('print the file of an experiment')
    .argument('<name>', 'a file, or the name of one that is built in')
    .action((name: string) => guarded(() => print(readFileSync(experimentPath(name), 'utf8').trimEnd())));
  withSettings(
    command
      .command('check')
      .description('check a file, and say what it would run')
      .argument('<file>', 'a file, or the name of one that is built in'),
  ).action((file: string, flags: RunFlags) => guarded(() => check(file, flags)));
  withSettings(
    command
      .command('run')
      .description('run an experiment; leaves captures, logs and a report in a folder')
      .argument('<file>', 'a file, or the name of one that is built in')
      .option('--out <folder>', 'where everything is left (default: experiment-out/NAME)')
      .option('--case <name>', 'only this case')
      .option('--trust', 'run the commands of a file that is not built in on this machine (hosts of kind "namespace")'),
  ).action((file: string, flags: RunFlags) => guarded(() => run(file, flags)));
  command
    .command('programs')
    .description('the programs of hosts of kind "stack", with their options')
    .action(() => guarded(() => print(PROGRAMS.map(({ help }) => help.trimEnd()).join('\n\n'))));
  return command;
}

function withSettings(command: Command): Command {
  return command.option('--set <name=value>', 'the value of a parameter; may be repeated', collect, {});
}

function collect(text: string, previous: ParameterSettings): ParameterSettings {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError('name=value is expected');
  return { ...previous, [name]: value };
}

function list(): void {
  const rows = builtInNames().map((name) => {
    const experiment = loadExperiment(name);
    return [name, kindsOf(experiment), String(experiment.cases.length), experiment.title];
  });
  print(formatTable(['name', 'hosts', 'cases', 'what'], rows, ['left', 'left', 'right', 'left']).join('\n'));
}

function kindsOf({ hosts }: Experiment): string {
  return Object.values(hosts)
    .map(({ kind }) => kind)
    .join(', ');
}

async function check(file: string, { set }: RunFlags): Promise<void> {
  const experiment = loadExperiment(file, set);
  const { available, reason } = tshark();
  if (!available) say(`display filters are not checked: ${reason}`);
  const problems = available ? await filterProblems(experiment) : [];
  if (problems.length > 0)
    throw new RoceError('ERR_ROCE_ARGUMENT', problems.map((text) => `${file}: ${text}`).join('\n'));
  const expectations = experiment.cases.reduce((sum, { expect }) => sum + expect.length, 0);
  print(`${experiment.name}: ${experiment.cases.length} cases, ${expectations} expectations`);
  for (const { name, run: steps } of experiment.cases) {
    print(`  ${name}`);
    for (const step of steps) if ('command' in step) print(`    ${step.host}$ ${step.command}`);
  }
}

async function run(file: string, flags: RunFlags): Promise<void> {
  const experiment = loadExperiment(file, flags.set);
  const { case: only } = flags;
  if (only !== undefined && !experiment.cases.some(({ name }) => name === only)) {
    const known = experiment.cases.map(({ name }) => name).join(', ');
    throw new RoceError('ERR_ROCE_ARGUMENT', `there is no case ${only}; there is ${known}`);
  }
  if (!isBuiltIn(file)) announce(file, experiment, flags);
  const { available, reason } = tshark();
  if (!available) say(`display filters are not checked: ${reason}`);
  const directory = resolve(flags.out ?? `experiment-out/${experiment.name}`);
  const stages = new HostPool(say);
  // Guests, namespaces and what runs in them end with this process, provided that it exits.
  const interrupt = (): void => process.exit(EXIT_INTERRUPTED);
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    const options = { directory, stages, told: tell, ...defined({ only }) };
    const { passed } = await runExperiment(experiment, options);
    print(`${experiment.name}: ${passed ? 'as expected' : 'NOT as expected'}; see ${directory}/report.md`);
    exitWith(passed ? 0 : EXIT_NOT_AS_EXPECTED);
  } finally {
    await stages.close();
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

/** Says what a file would run, and where. @throws RoceError ERR_ROCE_ARGUMENT where that needs `--trust` */
function announce(file: string, experiment: Experiment, { case: only, trust = false }: RunFlags): void {
  const planned = plannedCommands(experiment, only);
  for (const one of planned) say(visibleLine(plannedText(one)));
  if (trust || !planned.some(reachesThisMachine)) return;
  throw new RoceError(
    'ERR_ROCE_ARGUMENT',
    `${file} is not built in, and would run commands on this machine: read them above, then say --trust`,
  );
}

function tell(result: CaseResult): void {
  const { spec, passed, record, judgements } = result;
  const unchecked = judgements.filter(({ verdict }) => verdict === 'not checked').length;
  const rest = unchecked === 0 ? '' : `, ${unchecked} not checked`;
  print(`${passed ? 'pass' : 'FAIL'} ${spec.name} (${record.seconds.toFixed(1)} s${rest})`);
  for (const failure of failuresOf(result)) print(`     ${failure}`);
}

/** Turns an error into lines and an exit code. An error that is a bug of ours keeps its stack. */
async function guarded(action: () => void | Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!(error instanceof RoceError)) throw error;
    for (const line of error.message.split('\n')) say(line);
    process.exitCode = EXIT_CODES[error.code] ?? EXIT_NOT_AS_EXPECTED;
  }
}

function print(text: string): void {
  terminal.line(text);
}

function say(text: string): void {
  terminal.complaint(`roce experiment: ${text}`);
}

const EXIT_NOT_AS_EXPECTED = 1;
const EXIT_INTERRUPTED = 130;
const EXIT_CODES: Readonly<Record<string, number>> = {
  ERR_ROCE_ARGUMENT: 2,
  ERR_ROCE_LINK_UNAVAILABLE: 3,
};
