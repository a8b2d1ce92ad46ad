/**
 * `npm run swarm`: honest hosts and an attacker in simulated worlds, one for each seed.
 *
 *   npm run swarm -- --seeds 1-1000                   those seeds; a failure is shrunk and printed
 *   npm run swarm -- --hours 8 --state hunt.json      for so long, from where the file says
 *   npm run swarm -- --seeds 7-7 --json               one JSON object a failure, and the totals
 *
 * A failure leaves the ladder of its last frames in swarm-SEED.txt. Ctrl-C ends with the totals. Exit codes: 0 all is
 * well, 1 a seed failed, 2 the command line is invalid.
 */
import { writeFileSync } from 'node:fs';
import { Command, InvalidArgumentError } from 'commander';
import { drawLadder } from '../ladder/index.ts';
import { terminal } from '../output.ts';
import { runScenario } from './run.ts';
import { scenarioOf } from './scenario.ts';
import { shrink } from './shrink.ts';
import { freshState, type HuntState, readState, writeState } from './state.ts';

interface Options {
  readonly seeds?: readonly [number, number];
  readonly hours?: number;
  readonly state?: string;
  readonly json?: true;
}

const program = new Command('swarm')
  .description('Honest hosts and an attacker in simulated worlds, one for each seed')
  .option('--seeds <A-B>', 'these seeds; default 1-1000, with --hours from 1 on', seedRange)
  .option('--hours <H>', 'for so long', hours)
  .option('--state <FILE>', 'go on from what this file says, and keep it up to date')
  .option('--json', 'JSON lines')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2));

/** Between two writes of the state file. */
const STATE_EVERY_MS = 2000;

await main(program.parse().opts<Options>());

async function main({ seeds, hours: limit, state: path, json }: Options): Promise<void> {
  const state = (path === undefined ? undefined : readState(path)) ?? freshState(seeds?.[0] ?? 1);
  const last = seeds?.[1] ?? (limit === undefined ? 1000 : Infinity);
  const until = limit === undefined ? Infinity : performance.now() + limit * 3_600_000;
  let interrupted = false;
  process.once('SIGINT', () => {
    interrupted = true;
  });
  let savedAt = performance.now();
  while (state.next <= last && performance.now() < until && !interrupted) {
    await runSeed(state, json === true);
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

async function runSeed(state: HuntState, json: boolean): Promise<void> {
  const seed = state.next++;
  const outcome = await runScenario(scenarioOf(seed));
  state.seeds += 1;
  state.frames += outcome.frames;
  state.virtualSeconds += outcome.virtualNs / 1e9;
  for (const name of outcome.counters) state.counters[name] = (state.counters[name] ?? 0) + 1;
  if (outcome.problems.length === 0) return;
  state.failed.push(seed);
  const smallest = await shrink(
    scenarioOf(seed),
    async (candidate) => (await runScenario(candidate)).problems.length > 0,
  );
  const { problems, ladder } = await runScenario(smallest);
  const file = `swarm-${seed}.txt`;
  writeFileSync(file, `${drawLadder(ladder(), { left: 'a', right: 'b' }).join('\n')}\n`);
  if (json) terminal.line(JSON.stringify({ seed, problems, scenario: smallest, ladder: file }));
  else
    terminal.line(`seed ${seed}:\n  ${problems.join('\n  ')}\n  ${JSON.stringify(smallest)}\n  last frames: ${file}`);
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
