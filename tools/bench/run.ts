/**
 * `npm run bench`: what this stack costs, beside what it is measured against.
 *
 *   npm run bench                   a table
 *   npm run bench -- --json         one JSON object a row
 *   npm run bench -- --only write   one bench; may be repeated
 *
 * Ratios are what counts: both sides are measured in the same run, in turns, and machines differ. BENCH_QUICK=1 does a thousandth of
 * the work, to see that everything runs; its figures mean nothing.
 * Exit codes: 0 every goal is met, 1 one is missed, 2 the command line makes no sense.
 */
import * as zlib from 'node:zlib';
import { Command } from 'commander';
import { useBulkCrc32 } from '../../packets/index.ts';
import { formatTable } from '../table.ts';
import type { Bench, BenchRow, BenchSettings, Skipped } from './bench.ts';
import { decodeBench } from './decode.ts';
import { encodeBench } from './encode.ts';
import { idleQpBench } from './idle-qp.ts';
import { manyQpsBench } from './many-qps.ts';
import { writeBench } from './write.ts';

const BENCHES: readonly Bench[] = [decodeBench, encodeBench, writeBench, manyQpsBench, idleQpBench];
const FULL: BenchSettings = { rounds: 5, scale: 1 };
const QUICK: BenchSettings = { rounds: 1, scale: 0.001 };
const EXIT_MISSED = 1;
const EXIT_USAGE = 2;

interface BenchFlags {
  readonly json?: boolean;
  readonly only: readonly string[];
}

const program = new Command('bench')
  .description('what this stack costs, beside its peers and bounds')
  .option('--json', 'one JSON object a row')
  .option(
    '--only <name>',
    `one bench, may be repeated: ${BENCHES.map(({ name }) => name).join(', ')}`,
    (name: string, names: string[]) => [...names, name],
    [],
  )
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT_USAGE))
  .action(run);
await program.parseAsync();

async function run({ json, only }: BenchFlags): Promise<void> {
  const unknown = only.find((name) => !BENCHES.some((bench) => bench.name === name));
  if (unknown !== undefined) program.error(`error: there is no bench named ${unknown}`);
  // As every driver does; the simulated world leaves it to who runs it.
  useBulkCrc32(zlib.crc32);
  const quick = process.env['BENCH_QUICK'] === '1';
  const settings = quick ? QUICK : FULL;
  if (quick && json !== true) process.stderr.write('BENCH_QUICK: hardly any work is done, the figures mean nothing\n');
  const rows: (BenchRow | Skipped)[] = [];
  for (const bench of BENCHES) {
    if (only.length > 0 && !only.includes(bench.name)) continue;
    if (json !== true) process.stderr.write(`${bench.title} ...\n`);
    const row = await bench.run(settings);
    rows.push(row);
    if (json === true) process.stdout.write(`${JSON.stringify(row)}\n`);
  }
  if (json !== true) process.stdout.write(`${report(rows).join('\n')}\n`);
  if (rows.some((row) => 'met' in row && row.met === false)) process.exitCode = EXIT_MISSED;
}

function report(rows: readonly (BenchRow | Skipped)[]): string[] {
  const measured = rows.filter((row): row is BenchRow => !('skipped' in row));
  const skipped = rows.filter((row): row is Skipped => 'skipped' in row);
  const cells = measured.map(({ name, value, unit, peer, peerValue, ratio, goal, met }) => [
    name,
    `${short(value)} ${unit}`,
    short(peerValue),
    peer,
    short(ratio),
    goal,
    met === null ? '' : met ? 'met' : 'MISSED',
  ]);
  const table = formatTable(['bench', 'ours', 'peer', '', 'ratio', 'goal', ''], cells, [
    'left',
    'right',
    'right',
    'left',
    'right',
    'left',
    'left',
  ]);
  return [...(cells.length === 0 ? [] : table), ...skipped.map((row) => `  ${row.name}: skipped, ${row.skipped}`)];
}

/** Three digits that count. */
function short(value: number): string {
  if (Math.abs(value) >= 1e6) return `${(value / 1e6).toPrecision(3)} M`;
  if (Math.abs(value) >= 1e4) return `${Math.round(value / 1e3)} k`;
  return value >= 100 ? String(Math.round(value)) : value.toPrecision(3);
}
