/**
 * The options of `roce sim` as commander parses them, and the same typed again, for a report to say how it was made.
 */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { addShareOptions, type ShareFlags } from '../cases/options.ts';
import { integer, parser } from '../options.ts';
import { shellQuote } from '../visible-text.ts';
import { parseSeeds, parseSetting, parseSweep, type Setting, type Sweep } from './run/plan.ts';
import { pathText } from './scenario/json.ts';

/** Where results go. */
export interface OutputFlags {
  readonly out?: string;
  readonly jsonl?: string;
  readonly csv?: string;
  readonly json?: boolean;
  readonly report?: string;
  readonly quiet?: boolean;
}

export interface SimFlags extends OutputFlags, ShareFlags {
  readonly seed?: number;
  readonly set: readonly Setting[];
  readonly sweep: readonly Sweep[];
  readonly seeds?: readonly number[];
  readonly variant: readonly string[];
  readonly jobs?: number;
  readonly capture?: string;
  readonly captureFrames: number;
  readonly list?: boolean;
}

export function addRunOptions(command: Command): Command {
  addPlanOptions(command);
  return addShareOptions(command, 'runs')
    .option('--jobs <number>', 'runs side by side (default: one for each processor)', integer(1, 1024))
    .addOption(
      new Option(
        '--capture <file>',
        'write frames of one run to a pcapng file, as all hosts send and receive them; of the first variant',
      ).conflicts('results'),
    )
    .addOption(
      new Option('--capture-frames <number>', 'frames that are written at most')
        .argParser(integer(1, 100_000_000))
        .default(100_000),
    )
    .option('--list', 'list the scenarios that are built in');
}

function addPlanOptions(command: Command): void {
  command
    .addOption(
      new Option('--seed <number>', "of all chance (default: the scenario's)")
        .argParser(integer(0, Number.MAX_SAFE_INTEGER))
        .conflicts('seeds'),
    )
    .addOption(
      new Option('--set <path=value>', 'another value for a field, such as traffic[0].bytes=1e6; may be repeated')
        .argParser(collect(parser(parseSetting)))
        .default([], 'none'),
    )
    .addOption(
      new Option('--sweep <path=v1,v2,...>', 'a run for each value; may be repeated: every combination')
        .argParser(collect(parser(parseSweep)))
        .default([], 'none'),
    )
    .option('--seeds <first..last>', 'a run for each seed, and for each combination of the sweeps', parser(parseSeeds))
    .addOption(
      new Option('--variant <name>', 'only this variant of a scenario that compares some; may be repeated')
        .argParser(collect((text) => text))
        .default([], 'all'),
    );
}

export function addOutputOptions(command: Command): Command {
  return command
    .option('--out <folder>', 'write everything there is into a folder')
    .option('--jsonl <file>', 'write a line of JSON for each run; - is standard output', notEmpty)
    .option('--csv <file>', 'write a table with a line for each run and variant; - is standard output', notEmpty)
    .option('--json', 'print everything as one JSON document')
    .option('--report <file>', 'write a report with plots: one HTML file that needs nothing else', notEmpty)
    .option('--quiet', 'print no progress and no tables');
}

function notEmpty(text: string): string {
  if (text === '') throw new InvalidArgumentError('the name of a file is expected');
  return text;
}

function collect<T>(parse: (text: string) => T): (text: string, previous: readonly T[]) => T[] {
  return (text, previous) => [...previous, parse(text)];
}

/** The command that gives these runs again. */
export function commandLine(scenario: string, { seed, seeds, set, sweep, variant }: SimFlags): string {
  const words = ['roce', 'sim', scenario];
  if (seed !== undefined) words.push('--seed', String(seed));
  for (const { path, value } of set) words.push('--set', `${pathText(path)}=${JSON.stringify(value)}`);
  for (const { path, values } of sweep) words.push('--sweep', `${pathText(path)}=${JSON.stringify(values)}`);
  for (const name of variant) words.push('--variant', name);
  if (seeds !== undefined) words.push('--seeds', seedsText(seeds));
  return words.map(shellQuote).join(' ');
}

function seedsText(seeds: readonly number[]): string {
  const [first = 0] = seeds;
  const inARow = seeds.length > 1 && seeds.every((seed, at) => seed === first + at);
  return inARow ? `${first}..${first + seeds.length - 1}` : seeds.join(',');
}
