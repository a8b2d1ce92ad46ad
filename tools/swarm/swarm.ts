/**
 * `npm run swarm`: honest hosts and an attacker in simulated worlds, one for each seed.
 *
 *   npm run swarm -- --seeds 1-1000                   those seeds; a failure is shrunk and printed
 *   npm run swarm -- --hours 8 --state hunt.json      for so long, from where the file says
 *   npm run swarm -- --seeds 7-7 --json               one JSON object a failure, and the totals
 *   npm run swarm -- --seeds 1-1000 --shard 0/4 --results FOLDER   one of four processes; leaves out what is there
 *   npm run swarm -- merge FOLDER                     what one process would have printed
 *
 * A failure leaves the ladder of its last frames in swarm-SEED.txt. Ctrl-C ends with the totals. Exit codes: 0 all is
 * well, 1 a seed failed or is missing, 2 the command line is invalid.
 */
import { writeFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import { RoceError } from 'rocev2/packets';
import { addShareOptions, type ShareFlags } from '../cases/options.ts';
import { ResultsFolder, readResults } from '../cases/results.ts';
import { indicesOf } from '../cases/shard.ts';
import { terminal } from '../output.ts';
import { packageVersion } from '../package-version.ts';
import { addSeed, parseSeedResult, runSeed, type SeedResult } from './seeds.ts';
import { freshState, type HuntState, readState, writeState } from './state.ts';

interface Options extends ShareFlags {
  readonly seeds?: readonly [number, number];
  readonly hours?: number;
  readonly state?: string;
  readonly json?: true;
}

/** Between two writes of the state file. */
const STATE_EVERY_MS = 2000;
const EXIT_USAGE = 2;

const program = new Command('swarm')
  .description('Honest hosts and an attacker in simulated worlds, one for each seed')
  .option('--seeds <A-B>', 'these seeds; default 1-1000, with --hours from 1 on', seedRange)
  .option('--hours <H>', 'for so long', hours)
  .addOption(
    new Option('--state <FILE>', 'go on from what this file says, and keep it up to date').conflicts([
      'shard',
      'results',
    ]),
  )
  .option('--json', 'JSON lines')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT_USAGE));
addShareOptions(program, 'seeds').action(main);
program
  .command('merge')
  .description('put together what --results has kept')
  .argument('<folder>')
  .action((folder: string, _: unknown, self: Command) => merge(folder, self.optsWithGlobals<Options>()));
await refusing(() => program.parseAsync());

async function main(options: Options): Promise<void> {
  const { seeds, hours: limit, state: path, json } = options;
  const state = (path === undefined ? undefined : readState(path)) ?? freshState(seeds?.[0] ?? 1);
  const until = limit === undefined ? Infinity : performance.now() + limit * 3_600_000;
  let interrupted = false;
  process.once('SIGINT', () => {
    interrupted = true;
  });
  const results = openResults(options);
  let savedAt = performance.now();
  for (const { seed, index } of casesOf(options, state.next)) {
    if (performance.now() >= until || interrupted) break;
    const found = results?.read(index);
    const result = found === undefined ? await runSeed(seed) : parseSeedResult(found.line);
    if (found === undefined) results?.write(index, JSON.stringify(result));
    take(state, result, json === true);
    // A turn of the event loop, in which a signal can arrive.
    await new Promise((resolve) => setImmediate(resolve));
    if (path === undefined || performance.now() - savedAt < STATE_EVERY_MS) continue;
    writeState(path, state);
    savedAt = performance.now();
  }
  if (path !== undefined) writeState(path, state);
  printTotals(state, json === true);
  process.exitCode = state.failed.length === 0 ? 0 : 1;
}

/** From the seed where a hunt stands. */
function* casesOf({ seeds, hours: limit, shard }: Options, next: number): Generator<{ seed: number; index: number }> {
  const last = seeds?.[1] ?? (limit === undefined ? 1000 : Infinity);
  for (const index of indicesOf(last - next + 1, shard)) yield { seed: next + index, index };
}

function openResults({ results, seeds }: Options): ResultsFolder | undefined {
  if (results === undefined) return undefined;
  if (seeds === undefined) throw new RoceError('ERR_ROCE_ARGUMENT', '--results needs --seeds');
  const [first, last] = seeds;
  const plan = { tool: 'swarm', version: packageVersion(), cases: last - first + 1, digest: `seeds ${first}-${last}` };
  return new ResultsFolder(results, plan);
}

function merge(folder: string, { json }: Options): void {
  const { plan, results, missing } = readResults(folder);
  if (plan.tool !== 'swarm') throw new RoceError('ERR_ROCE_ARGUMENT', `${folder}: results of ${plan.tool}`);
  const state = freshState(0);
  for (const { line } of results) take(state, parseSeedResult(line), json === true);
  printTotals(state, json === true);
  if (missing.length > 0) terminal.complaint(`swarm: ${missing.length} of ${plan.cases} seeds are missing`);
  process.exitCode = state.failed.length + missing.length === 0 ? 0 : 1;
}

function take(state: HuntState, result: SeedResult, json: boolean): void {
  addSeed(state, result);
  const { seed, failure } = result;
  if (failure === undefined) return;
  const { problems, scenario, ladder } = failure;
  const file = `swarm-${seed}.txt`;
  writeFileSync(file, `${ladder.join('\n')}\n`);
  if (json) terminal.line(JSON.stringify({ seed, problems, scenario, ladder: file }));
  else
    terminal.line(`seed ${seed}:\n  ${problems.join('\n  ')}\n  ${JSON.stringify(scenario)}\n  last frames: ${file}`);
}

function printTotals(state: HuntState, json: boolean): void {
  if (json) {
    terminal.line(JSON.stringify(state));
    return;
  }
  const rare = Object.entries(state.counters).sort((a, b) => a[1] - b[1]);
  terminal.line(
    `${state.seeds} seeds, ${state.frames} frames, ${state.virtualSeconds.toFixed(1)} s of virtual time, ${state.failed.length} failed`,
  );
  terminal.line(
    `rarest counters: ${rare
      .slice(0, 12)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')}`,
  );
}

/** What a command line or a folder has wrong is one line and exit code 2. */
async function refusing(action: () => Promise<unknown>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!(error instanceof RoceError && error.code === 'ERR_ROCE_ARGUMENT')) throw error;
    terminal.complaint(`swarm: ${error.message}`);
    process.exitCode = EXIT_USAGE;
  }
}

function seedRange(text: string): [number, number] {
  const match = /^(\d+)(?:-(\d+))?$/.exec(text);
  const [from, to] = [Number(match?.[1]), Number(match?.[2] ?? match?.[1])];
  if (match === null || !(from <= to && Number.isSafeInteger(to))) throw new InvalidArgumentError('seeds are A-B');
  return [from, to];
}

function hours(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value < 10_000)) throw new InvalidArgumentError('hours are a number above 0');
  return value;
}
