/**
 * `npm run fuzz`: coverage-guided fuzzing of everything that takes bytes of others.
 *
 *   npm run fuzz                                          every target for ten seconds
 *   npm run fuzz -- --target pcapng --seconds 600         one of them, longer; may be repeated, or a list with commas
 *   npm run fuzz -- --runs 100000 --seed 7                as many executions: the same seed gives the same run
 *   npm run fuzz -- --keep                                adds what reached new blocks to the corpus, and minimizes it
 *   npm run fuzz -- --target pcapng --replay FILE         runs one input, and prints what comes of it
 *
 * Exit codes: 0 no finding, 1 findings (files in --findings DIR, each with how to run it again), 2 the command line is
 * invalid.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { buildTarget } from './engine/build.ts';
import { CORPUS_DIRECTORY, readCorpus, writeCorpus } from './engine/corpus.ts';
import { type FoundFault, Fuzzer } from './engine/fuzzer.ts';
import { TARGETS } from './targets.ts';

interface Flags {
  readonly target: readonly string[];
  readonly seconds: number;
  readonly runs?: number;
  readonly seed: number;
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
  if (flags.json === undefined)
    console.log(row(['target', 'executions', 'exec/s', 'corpus', 'blocks', 'of', '%', 'findings']));
  for (const name of names) {
    const { findings } = flags.replay === undefined ? await fuzz(name, flags) : await replay(name, flags.replay);
    for (const finding of findings) report(name, finding, flags);
    if (findings.length > 0) process.exitCode = EXIT_FINDINGS;
  }
}

/** What escapes from promises and event handlers is a finding, too. */
function watch(fuzzer: Fuzzer): void {
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.removeAllListeners(event);
    process.on(event, (error: unknown) => {
      fuzzer.escaped = error instanceof Error ? error : new Error(String(error));
    });
  }
}

async function fuzz(name: string, flags: Flags): Promise<{ findings: readonly FoundFault[] }> {
  const built = await buildTarget(name);
  const fuzzer = new Fuzzer(built, flags.seed);
  watch(fuzzer);
  for (const input of [...readCorpus(name, flags.corpus), ...built.target.seeds()]) await fuzzer.add(input);
  const [before, startedAt] = [fuzzer.executions, performance.now()];
  await fuzzer.run(flags.runs === undefined ? { seconds: flags.seconds } : { runs: flags.runs });
  const perSecond = Math.round(((fuzzer.executions - before) / (performance.now() - startedAt)) * 1000);
  const { executions, covered } = fuzzer;
  if (flags.keep) writeCorpus(name, await fuzzer.minimized(), flags.corpus);
  await built.target.close?.();
  const figures = { target: name, executions, perSecond, corpus: fuzzer.corpus.length, covered, blocks: built.blocks };
  const findings = [...fuzzer.findings.values()];
  const outcomes = Object.fromEntries([...fuzzer.outcomes].sort((a, b) => b[1] - a[1]));
  if (flags.json) console.log(JSON.stringify({ ...figures, findings: findings.length, seed: flags.seed, outcomes }));
  else {
    const share = ((covered / built.blocks) * 100).toFixed(1);
    console.log(
      row([name, executions, perSecond, fuzzer.corpus.length, covered, built.blocks, share, findings.length]),
    );
  }
  return { findings };
}

async function replay(name: string, file: string): Promise<{ findings: readonly FoundFault[] }> {
  const fuzzer = new Fuzzer(await buildTarget(name), 1);
  watch(fuzzer);
  await fuzzer.add(new Uint8Array(readFileSync(file)));
  await fuzzer.settle();
  for (const [outcome] of fuzzer.outcomes) console.log(`${name}: ${outcome}`);
  for (const { stack } of fuzzer.findings.values()) console.log(stack);
  return { findings: [] };
}

function report(name: string, { input, stack }: FoundFault, { findings, seed }: Flags): void {
  mkdirSync(findings, { recursive: true });
  const file = join(findings, `${name}-${hash(stack)}.bin`);
  writeFileSync(file, input);
  console.error(`\n${stack}\nseed ${seed}; ${input.length} bytes: npm run fuzz -- --target ${name} --replay ${file}\n`);
}

function hash(text: string): string {
  let sum = 0;
  for (const character of text) sum = (Math.imul(sum, 31) + character.charCodeAt(0)) >>> 0;
  return sum.toString(16).padStart(8, '0');
}

function row(cells: readonly (string | number)[]): string {
  return cells.map((cell, index) => (index === 0 ? String(cell).padEnd(12) : String(cell).padStart(10))).join('');
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

await new Command('fuzz')
  .option('--target <name>', 'one target, or a list with commas; default: all', targetsOf, [])
  .option('--seconds <n>', 'of each target', numberOf, 10)
  .option('--runs <n>', 'executions of each target, in place of --seconds', numberOf)
  .option('--seed <n>', 'of the run', numberOf, 1)
  .option('--corpus <dir>', 'where corpora are read, and written with --keep', CORPUS_DIRECTORY)
  .option('--findings <dir>', 'where inputs of findings are written', 'fuzz-findings')
  .option('--keep', 'write the minimized corpus')
  .option('--replay <file>', 'run this input only')
  .option('--json', 'one object a line')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT_USAGE))
  .action(main)
  .parseAsync();
process.exit();
