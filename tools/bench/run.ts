/**
 * `npm run bench`: the costs of this stack, beside what they are compared with.
 *
 *   npm run bench                                        a table
 *   npm run bench -- --json                              one JSON object a row
 *   npm run bench -- --only write                        one bench; may be repeated, or a list with commas
 *   npm run bench -- --compare REV                       this clone beside an earlier revision, both in turns
 *   npm run bench -- --links                             every link between two processes, beside bare sockets of Node
 *   npm run bench -- --links --only udp6,dgram@loopback  some of them; --profile DIR leaves a CPU profile of every process
 *   npm run bench -- --soak 600 --only tap               full load on a link for ten minutes: are data right and memory flat?
 *
 * Ratios are what counts: both sides are measured in the same run, in turns, and machines differ. BENCH_QUICK=1 does a
 * thousandth of the work, to see that everything runs; its figures mean nothing. BENCH_ROUNDS=N measures each side N
 * times instead of five.
 * Exit codes: 0 every goal is met, 1 one is missed, 2 the command line is invalid.
 */
import { Command, InvalidArgumentError } from 'commander';
import { installBulkCrc32 } from 'rocev2/crc32';
import {
  analyzeBench,
  analyzeLongBench,
  analyzeMemoryBench,
  analyzeOneThreadBench,
  analyzeQueuePairsBench,
} from './analyze.ts';
import type { Bench, BenchRow, BenchSettings, SkippedBench } from './bench.ts';
import { cmSetupsBench } from './cm-setups.ts';
import { compareWith } from './compare/index.ts';
import { crcLargeBench, crcSmallBench } from './crc.ts';
import { decodeBench } from './decode.ts';
import { verbsDoorbellBench } from './doorbell.ts';
import { encodeBench } from './encode.ts';
import { explorerFilterBench, explorerOpenBench, explorerScrollBench } from './explorer.ts';
import { fabricCalibrationBench, fabricFlowsBench, fabricIncastBench, fabricPausesBench } from './fabric.ts';
import { fabricHostsBench } from './fabric-hosts.ts';
import { fabricNs3AcksBench, fabricNs3Bench } from './fabric-ns3.ts';
import { idleQpBench } from './idle-qp.ts';
import { benchLinks, chosen, soakLinks } from './links/index.ts';
import { manyQpsBench } from './many-qps.ts';
import {
  nvmeCpuBench,
  nvmeLatencyBench,
  nvmeLatencyVerbsBench,
  nvmeMemoryBench,
  nvmeNbdBench,
  nvmeRateBench,
  nvmeRateFloorBench,
  nvmeRateVerbsBench,
  nvmeReadBench,
  nvmeReadVerbsBench,
} from './nvme.ts';
import { qpsAliveBench } from './qps-alive.ts';
import { report } from './report.ts';
import { messagesBench, stagesBench } from './stages.ts';
import { verbsEventsBench, verbsPollingBench, verbsStartBench, verbsWireBench, verbsWriteBench } from './verbs.ts';
import { writeBench } from './write.ts';

const BENCHES: readonly Bench[] = [
  decodeBench,
  encodeBench,
  crcLargeBench,
  crcSmallBench,
  writeBench,
  stagesBench,
  messagesBench,
  manyQpsBench,
  idleQpBench,
  qpsAliveBench,
  cmSetupsBench,
  fabricIncastBench,
  fabricNs3Bench,
  fabricNs3AcksBench,
  fabricPausesBench,
  fabricCalibrationBench,
  fabricFlowsBench,
  fabricHostsBench,
  analyzeBench,
  analyzeOneThreadBench,
  analyzeQueuePairsBench,
  analyzeLongBench,
  analyzeMemoryBench,
  explorerOpenBench,
  explorerScrollBench,
  explorerFilterBench,
  verbsWriteBench,
  verbsStartBench,
  verbsWireBench,
  verbsEventsBench,
  verbsPollingBench,
  verbsDoorbellBench,
  nvmeReadBench,
  nvmeReadVerbsBench,
  nvmeRateBench,
  nvmeRateVerbsBench,
  nvmeRateFloorBench,
  nvmeLatencyBench,
  nvmeLatencyVerbsBench,
  nvmeCpuBench,
  nvmeMemoryBench,
  nvmeNbdBench,
];
const FULL: BenchSettings = { rounds: 5, scale: 1 };
const QUICK: BenchSettings = { rounds: 1, scale: 0.001 };
const EXIT_MISSED = 1;
const EXIT_USAGE = 2;
const MAX_SOAK_SECONDS = 86_400;
const MAX_PAIRS = 1000;
const DEFAULT_PAIRS = 9;

interface BenchFlags {
  readonly json?: boolean;
  readonly only: readonly string[];
  readonly links?: boolean;
  readonly soak?: number;
  readonly compare?: string;
  readonly pairs?: number;
  readonly profile?: string;
}

const program = new Command('bench')
  .description('what this stack costs, beside its peers and bounds')
  .option('--json', 'one JSON object a row')
  .option(
    '--only <names>',
    `some of them, may be repeated: ${BENCHES.map(({ name }) => name).join(', ')}; with --links or --soak a link, or link@medium`,
    (names: string, before: string[]) => [...before, ...names.split(',')],
    [],
  )
  .option('--links', 'every link, between two processes, beside bare sockets of Node; needs root')
  .option(
    '--soak <seconds>',
    'full load on each link for that long: data verified, memory watched; other soaks: npm run soak',
    wholeSeconds,
  )
  .option(
    '--compare <revision>',
    'ratios to an earlier revision: short processes of both in turns, paired; takes minutes',
  )
  .option(
    '--pairs <count>',
    `with --compare: how many pairs of processes for each bench (default: ${DEFAULT_PAIRS})`,
    count,
  )
  .option('--profile <directory>', 'with --links: a CPU profile of every process')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT_USAGE))
  .action(run);
await program.parseAsync();

async function run(flags: BenchFlags): Promise<void> {
  const { json, only, links, soak, profile, compare } = flags;
  const ofLinks = links === true || soak !== undefined;
  const unknown = ofLinks ? chosen(only).unknown : only.find((name) => !BENCHES.some((bench) => bench.name === name));
  if (unknown !== undefined) program.error(`error: there is no ${ofLinks ? 'link' : 'bench'} named ${unknown}`);
  const quick = process.env['BENCH_QUICK'] === '1';
  const settings = quick ? QUICK : { ...FULL, rounds: roundsAsked() };
  if (quick && json !== true) process.stderr.write('BENCH_QUICK: hardly any work is done, the figures mean nothing\n');
  const output = {
    json: json === true,
    print: (line: string) => void process.stdout.write(`${line}\n`),
    say: (line: string) => void (json === true || process.stderr.write(`${line}\n`)),
  };
  const { those } = chosen(only);
  let good: boolean;
  if (compare !== undefined) {
    const benches = BENCHES.map(({ name }) => name).filter((name) => only.length === 0 || only.includes(name));
    // What differs is told and is no failure: whether it matters is for a person to say.
    await compareWith({ revision: compare, benches, pairs: flags.pairs ?? DEFAULT_PAIRS, ...output }).catch(
      (error: unknown) => program.error(`error: ${error instanceof Error ? error.message : String(error)}`),
    );
    return;
  }
  if (soak !== undefined) good = await soakLinks(those, soak, output);
  else if (links === true) good = await benchLinks(those, settings, profile === undefined ? {} : { profile }, output);
  else good = await runBenches(flags, settings);
  if (!good) process.exitCode = EXIT_MISSED;
}

/** Whether no goal is missed. */
async function runBenches({ json, only }: BenchFlags, settings: BenchSettings): Promise<boolean> {
  // As every driver does; a simulated world leaves it to its caller.
  installBulkCrc32();
  const rows: (BenchRow | SkippedBench)[] = [];
  for (const bench of BENCHES) {
    if (only.length > 0 && !only.includes(bench.name)) continue;
    if (json !== true) process.stderr.write(`${bench.title} ...\n`);
    const row = await bench.run(settings);
    rows.push(row);
    if (json === true) process.stdout.write(`${JSON.stringify(row)}\n`);
  }
  if (json !== true) process.stdout.write(`${report(rows).join('\n')}\n`);
  return !rows.some((row) => 'met' in row && row.met === false);
}

function roundsAsked(): number {
  const text = process.env['BENCH_ROUNDS'];
  return text === undefined ? FULL.rounds : wholeNumber(text, 'rounds', MAX_PAIRS);
}

function wholeSeconds(text: string): number {
  return wholeNumber(text, 'seconds', MAX_SOAK_SECONDS);
}

function count(text: string): number {
  return wholeNumber(text, 'pairs', MAX_PAIRS);
}

function wholeNumber(text: string, what: string, most: number): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (!(value >= 1 && value <= most)) throw new InvalidArgumentError(`whole ${what} from 1 to ${most} are expected`);
  return value;
}
