/**
 * `npm run fuzz`: coverage-guided fuzzing of everything that takes bytes of others.
 *
 *   npm run fuzz                                          every target for ten seconds
 *   npm run fuzz -- --target pcapng --seconds 600         one of them, longer; may be repeated, or a list with commas
 *   npm run fuzz -- --runs 100000 --seed 7                as many executions: the same seed gives the same run
 *   npm run fuzz -- --keep                                adds what reached new blocks to the corpus, and minimizes it
 *   npm run fuzz -- --target pcapng --replay FILE         runs one input, and prints what comes of it
 *   npm run fuzz -- --runs 100000 --seeds 1..8 --shard 0/4 --results FOLDER
 *                                                         one of four processes; leaves out what is there
 *   npm run fuzz -- merge FOLDER                          what all of them found
 *
 * Exit codes: 0 no finding, 1 findings (files in --findings DIR, each with how to run it again) or missing results, 2
 * the command line is invalid.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { RoceError } from '../../packets/index.ts';
import { addShareOptions, type ShareFlags } from '../../tools/cases/options.ts';
import { ResultsFolder, readResults } from '../../tools/cases/results.ts';
import { indicesOf } from '../../tools/cases/shard.ts';
import { parser } from '../../tools/options.ts';
import { packageVersion } from '../../tools/package-version.ts';
import { parseSeeds } from '../../tools/sim/run/plan.ts';
import { type FuzzCase, type FuzzResult, parseFuzzResult, search, watch } from './case.ts';
import { buildTarget } from './engine/build.ts';
import { CORPUS_DIRECTORY } from './engine/corpus.ts';
import { Fuzzer } from './engine/fuzzer.ts';
import { TARGETS } from './targets.ts';

interface Flags extends ShareFlags {
  readonly target: readonly string[];
  readonly seconds: number;
  readonly runs?: number;
  readonly seed: number;
  readonly seeds?: readonly number[];
  readonly corpus: string;
  readonly findings: string;
  readonly replay?: string;
  readonly keep?: true;
  readonly json?: true;
}

const EXIT_FINDINGS = 1;
const EXIT_USAGE = 2;

async function main(flags: Flags): Promise<void> {
  const names = flags.target.length === 0 ? Object.keys(TARGETS) : flags.target;
  if (flags.replay !== undefined) {
    for (const name of names) await replay(name, flags.replay);
    return;
  }
  const cases = names.flatMap((name) => (flags.seeds ?? [flags.seed]).map((seed) => ({ name, seed })));
  const results = openResults(flags, cases);
  if (flags.json === undefined) printHeadings();
  for (const index of indicesOf(cases.length, flags.shard)) {
    const found = results?.read(index);
    const one = cases[index];
    if (one === undefined) continue;
    if (found === undefined) results?.write(index, JSON.stringify(await searchAndPrint(one, flags)));
    else print(parseFuzzResult(found.line), flags);
  }
}

/** The order of the cases is their number, so that they are part of what a folder is about. */
function openResults(flags: Flags, cases: readonly FuzzCase[]): ResultsFolder | undefined {
  if (flags.results === undefined) return undefined;
  const { runs, seconds } = flags;
  const bound = runs === undefined ? `${seconds} seconds` : `${runs} runs`;
  const digest = `${cases.map(({ name, seed }) => `${name} ${seed}`).join(', ')}; ${bound}`;
  const plan = { tool: 'fuzz', version: packageVersion(), cases: cases.length, digest };
  return new ResultsFolder(flags.results, plan);
}

async function searchAndPrint(one: FuzzCase, flags: Flags): Promise<FuzzResult> {
  const { runs, seconds, corpus, keep = false } = flags;
  const { result, perSecond, stacks } = await search(one, {
    ...(runs === undefined ? { seconds } : { runs }),
    corpus,
    keep,
  });
  for (const stack of stacks) console.error(`\n${stack}`);
  print(result, flags, perSecond);
  return result;
}

function merge(folder: string, flags: Flags): void {
  const { plan, results, missing } = readResults(folder);
  if (plan.tool !== 'fuzz') throw new RoceError('ERR_ROCE_ARGUMENT', `${folder}: results of ${plan.tool}`);
  if (flags.json === undefined) printHeadings();
  for (const { line } of results) print(parseFuzzResult(line), flags);
  if (missing.length === 0) return;
  console.error(`fuzz: ${missing.length} of ${plan.cases} searches are missing`);
  process.exitCode = EXIT_FINDINGS;
}

/** Also writes its findings. How fast it was is known of a search of this process only. */
function print(result: FuzzResult, flags: Flags, perSecond?: number): void {
  const { target, seed, executions, corpus, covered, blocks, findings } = result;
  if (flags.json) console.log(JSON.stringify({ ...result, ...(flags.results === undefined && { perSecond }) }));
  else {
    const share = ((covered / blocks) * 100).toFixed(1);
    console.log(row([target, seed, executions, perSecond ?? '', corpus, covered, blocks, share, findings.length]));
  }
  for (const finding of findings) report(result, finding, flags);
  if (findings.length > 0) process.exitCode = EXIT_FINDINGS;
}

function printHeadings(): void {
  console.log(row(['target', 'seed', 'executions', 'exec/s', 'corpus', 'blocks', 'of', '%', 'findings']));
}

async function replay(name: string, file: string): Promise<void> {
  const fuzzer = new Fuzzer(await buildTarget(name), 1);
  watch(fuzzer);
  await fuzzer.add(new Uint8Array(readFileSync(file)));
  await fuzzer.settle();
  for (const [outcome] of fuzzer.outcomes) console.log(`${name}: ${outcome}`);
  for (const { stack } of fuzzer.findings.values()) console.log(stack);
}

function report({ target, seed }: FuzzResult, finding: FuzzResult['findings'][number], { findings }: Flags): void {
  const input = Buffer.from(finding.input, 'base64');
  mkdirSync(findings, { recursive: true });
  const file = join(findings, `${target}-${hash(finding.signature)}.bin`);
  writeFileSync(file, input);
  console.error(
    `\n${finding.signature}\nseed ${seed}; ${input.length} bytes: npm run fuzz -- --target ${target} --replay ${file}\n`,
  );
}

function hash(text: string): string {
  let sum = 0;
  for (const character of text) sum = (Math.imul(sum, 31) + character.charCodeAt(0)) >>> 0;
  return sum.toString(16).padStart(8, '0');
}

function row(cells: readonly (string | number)[]): string {
  return cells.map((cell, index) => (index === 0 ? String(cell).padEnd(12) : String(cell).padStart(11))).join('');
}

function numberOf(text: string): number {
  const number = Number(text);
  if (!(Number.isSafeInteger(number) && number > 0))
    throw new InvalidArgumentError('a whole number above 0 is expected');
  return number;
}

function targetsOf(text: string, before: readonly string[]): string[] {
  const names = text.split(',');
  const strange = names.find((name) => !Object.hasOwn(TARGETS, name));
  if (strange !== undefined)
    throw new InvalidArgumentError(`there is no target ${strange}; there is ${Object.keys(TARGETS).join(', ')}`);
  return [...before, ...names];
}

/** What a command line or a folder has wrong is one line and exit code 2. */
async function refusing(action: () => Promise<unknown>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!(error instanceof RoceError && error.code === 'ERR_ROCE_ARGUMENT')) throw error;
    console.error(`fuzz: ${error.message}`);
    process.exitCode = EXIT_USAGE;
  }
}

const program = new Command('fuzz')
  .option('--target <name>', 'one target, or a list with commas; default: all', targetsOf, [])
  .option('--seconds <n>', 'of each target', numberOf, 10)
  .option('--runs <n>', 'executions of each target, in place of --seconds', numberOf)
  .option('--seed <n>', 'of the run', numberOf, 1)
  .option('--seeds <first..last>', 'a search of each target for each seed', parser(parseSeeds))
  .option('--corpus <dir>', 'where corpora are read, and written with --keep', CORPUS_DIRECTORY)
  .option('--findings <dir>', 'where inputs of findings are written', 'fuzz-findings')
  .addOption(new Option('--keep', 'write the minimized corpus').conflicts(['seeds', 'shard', 'results']))
  .addOption(new Option('--replay <file>', 'run this input only').conflicts(['seeds', 'shard', 'results']))
  .option('--json', 'one object a line')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT_USAGE));
addShareOptions(program, 'searches').action(main);
program
  .command('merge')
  .description('put together what --results has kept')
  .argument('<folder>')
  .action((folder: string, _: unknown, self: Command) => merge(folder, self.optsWithGlobals<Flags>()));
await refusing(() => program.parseAsync());
process.exit();
