/**
 * `roce sim`: simulated networks from scenario files, one run or a sweep of many. Owns the command line. Exit codes: 0
 * all as expected, 1 a run failed or an expectation does not hold, 2 a command line or a file that makes no sense, 130
 * ctrl-C.
 */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { RoceError } from 'rocev2/packets';
import { exitWith } from '../options.ts';
import { terminal } from '../output.ts';
import { formatTable } from '../table.ts';
import { addOutputOptions, addRunOptions, type OutputFlags, type SimFlags } from './flags.ts';
import { mergeFiles } from './merge.ts';
import { LineFiles } from './output/line-files.ts';
import { failureText, listText } from './output/text.ts';
import { lineFiles, prepareFolder, writeResults } from './outputs.ts';
import { sweepReport } from './report/sweep-report.ts';
import { builtInNames, loadScenario, readScenario, scenarioPath } from './scenario/load.ts';
import { fieldsMarkdown, jsonSchema } from './scenario/reference.ts';
import { prepare, runSession } from './session.ts';

export function simCommand(): Command {
  const command = new Command('sim')
    .description(
      'simulated networks: hosts with the real transport, switches, congestion control, from a scenario file',
    )
    .argument('[scenario]', 'a file, or the name of one that is built in');
  addOutputOptions(addRunOptions(command)).action((scenario: string | undefined, flags: SimFlags) => {
    if (flags.list === true) return list();
    if (scenario === undefined) return command.error('error: a scenario is missing; --list prints the built-in ones');
    return run(scenario, flags);
  });
  addOutputOptions(
    command
      .command('merge')
      .description('put the lines of several shards together')
      .argument('<files...>', 'what --jsonl has written, and folders that --results has filled'),
  ).action((files: string[], _: unknown, self: Command) => merge(files, self.optsWithGlobals<OutputFlags>()));
  command
    .command('show')
    .description('print the file of a scenario')
    .argument('<scenario>', 'a file, or the name of one that is built in')
    .action((name: string) => refusing(() => terminal.line(readFileSync(scenarioPath(name), 'utf8').trimEnd())));
  command
    .command('fields')
    .description('print what a scenario file may say: every field, its unit and its default, as Markdown')
    .action(() => terminal.line(fieldsMarkdown()));
  command
    .command('schema')
    .description('print the JSON schema of scenario files, for editors')
    .action(() => terminal.line(JSON.stringify(jsonSchema(), null, 2)));
  return command;
}

function list(): void {
  const rows = builtInNames().map((name) => {
    const { scenario, variants } = loadScenario(readScenario(name));
    return [name, scenario.topology.kind, String(variants.length), String(scenario.expect.length), scenario.title];
  });
  const headings = ['name', 'network', 'variants', 'expectations', 'what'];
  for (const line of formatTable(headings, rows, ['left', 'left', 'right', 'right', 'left'])) terminal.line(line);
}

async function run(scenario: string, flags: SimFlags): Promise<void> {
  const prepared = refusing(() => prepare(scenario, flags));
  if (prepared !== undefined) exitWith(await runSession(prepared, flags));
}

function merge(files: readonly string[], flags: OutputFlags): void {
  const merged = refusing(() => mergeFiles(files));
  if (merged === undefined) return;
  const { records, lines, missing } = merged;
  prepareFolder(flags);
  const sink = new LineFiles(lineFiles(flags));
  for (const line of lines) {
    sink.line(line);
    if (flags.jsonl === '-') terminal.line(line);
  }
  sink.close();
  const name = records[0]?.scenario ?? '';
  const gap =
    missing.length === 0
      ? undefined
      : `${missing.length} of ${records[0]?.runs} runs are missing: ${listText(missing)}`;
  const from = files.length === 1 ? files[0] : `${files.length} files`;
  const about = [`Merged from ${from}.`, ...(gap === undefined ? [] : [gap])];
  const report = () =>
    sweepReport({ title: name, about, records, command: ['roce', 'sim', 'merge', ...files].join(' ') });
  writeResults({ records, report }, flags, terminal);
  const complaints = [gap, failureText(records)].filter((text) => text !== undefined);
  for (const text of complaints) say(text);
  exitWith(complaints.length === 0 ? 0 : EXIT_FAILED);
}

/** What a command line or a file has wrong is one line and exit code 2; whatever else is thrown goes on. */
function refusing<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof RoceError && error.code === 'ERR_ROCE_ARGUMENT')) throw error;
    say(error.message);
    process.exitCode = EXIT_BAD_INPUT;
    return undefined;
  }
}

function say(text: string): void {
  terminal.complaint(`roce sim: ${text}`);
}

const EXIT_FAILED = 1;
const EXIT_BAD_INPUT = 2;
