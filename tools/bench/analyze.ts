/**
 * What `roce analyze` costs on a capture of a gigabyte, and on one of four: packets a second beside
 * `tshark -q -z io,stat`, which only counts them, and its memory.
 *
 * All are whole processes over the same file, in turns, ours compiled as it is installed. The file is ten captures of
 * the stack behind each other, or forty, a section each: READs and WRITEs of one connection, a packet lost now and
 * then; or of 64 queue pairs at the same time.
 */
import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCapture } from 'rocev2/pcap';
import { tsharkAvailable } from '../tshark.ts';
import { type Bench, type BenchSettings, type Goal, rowFrom, scaled } from './bench.ts';
import { buildProgram } from './built-program.ts';
import { queuePairsCapture } from './queue-pairs-capture.ts';
import { transfersCapture } from './transfers-capture.ts';

const AIM = { sense: '>=', ratio: 5 } as const;

/** Packets a second. */
export const analyzeBench = besideTshark('analyze', 'a 1 GB capture', AIM, figures);

/** The same with one thread. */
export const analyzeOneThreadBench = besideTshark(
  'analyze-one-thread',
  'the same capture with --jobs 1',
  undefined,
  async (settings) => {
    const { alone, theirs } = await figures(settings);
    return { ours: alone, theirs };
  },
);

/** Many queue pairs. */
export const analyzeQueuePairsBench = besideTshark(
  'analyze-queue-pairs',
  'a 1 GB capture of many queue pairs',
  undefined,
  (settings) => {
    const rounds = scaled(QUEUE_PAIR_ROUNDS, settings);
    return measure(settings, (seed) => queuePairsCapture(QUEUE_PAIRS, rounds, seed));
  },
);

/** Where the start of both threads matters less. */
export const analyzeLongBench = besideTshark('analyze-long', 'a 4 GB capture', AIM, async (settings) => {
  const { bavail, bsize } = statfsSync(tmpdir());
  if (bavail * bsize < LONG_BYTES * settings.scale) return 'the folder for temporary files has no 5 GB left';
  const rounds = scaled(ROUNDS, settings);
  const capture = (seed: number) => transfersCapture(rounds, seed);
  return measure(settings, capture, { sections: LONG_SECTIONS, alone: false });
});

/** Memory of the process, the most of all runs. */
export const analyzeMemoryBench: Bench = {
  name: 'analyze-memory',
  title: 'roce analyze: memory for the same capture',
  run: async (settings) => {
    if (!tsharkAvailable().available) return { name: 'analyze-memory', skipped: tsharkAvailable().reason };
    const { mebibytes } = await figures(settings);
    const goal = { sense: '<=', ratio: 1 } as const;
    return rowFrom('analyze-memory', { unit: 'MiB', peer: 'bound', goal }, [mebibytes], [MOST_MEBIBYTES]);
  },
};

/** A row of packets a second. `measured` may return a sentence instead, why it cannot be measured here. */
function besideTshark(
  name: string,
  what: string,
  goal: Goal | undefined,
  measured: (settings: BenchSettings) => Promise<Sides | string>,
): Bench {
  const run = async (settings: BenchSettings) => {
    const { available, reason } = tsharkAvailable();
    const sides = available ? await measured(settings) : reason;
    if (typeof sides === 'string') return { name, skipped: sides };
    const shown = { unit: 'packets/s', peer: 'tshark -z io,stat', ...(goal && { goal }) };
    return rowFrom(name, shown, sides.ours, sides.theirs);
  };
  return { name, title: `roce analyze: packets a second of ${what}, beside tshark -q -z io,stat`, run };
}

/** Packets a second, a figure a round. */
interface Sides {
  /** With as many threads as there are processors. */
  readonly ours: readonly number[];
  readonly theirs: readonly number[];
}

interface Figures extends Sides {
  /** With one. */
  readonly alone: readonly number[];
  readonly mebibytes: number;
}

const measured = new Map<number, Promise<Figures>>();

/** Both rows come from the same runs. */
function figures(settings: BenchSettings): Promise<Figures> {
  const rounds = scaled(ROUNDS, settings);
  const known = measured.get(settings.scale) ?? measure(settings, (seed) => transfersCapture(rounds, seed));
  measured.set(settings.scale, known);
  return known;
}

/** @param capture a section, by its seed. @param how how many, and whether to measure one thread as well */
async function measure(
  settings: BenchSettings,
  capture: (seed: number) => Promise<Uint8Array>,
  how = { sections: SECTIONS, alone: true },
): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), 'rocev2-bench-'));
  try {
    const file = join(folder, 'big.pcapng');
    const packets = await writeCapture(file, how.sections, capture);
    const program = join(folder, 'program');
    buildProgram(program);
    const ours: number[] = [];
    const alone: number[] = [];
    const theirs: number[] = [];
    let mebibytes = 0;
    for (let round = 0; round < settings.rounds; round++) {
      const run = await analyze(program, file);
      ours.push(packets / run.seconds);
      mebibytes = Math.max(mebibytes, run.mebibytes);
      if (how.alone) alone.push(packets / (await analyze(program, file, '--jobs', '1')).seconds);
      theirs.push(packets / (await tshark(file)));
    }
    return { ours, alone, theirs, mebibytes };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns how many packets there are in it. */
async function writeCapture(
  file: string,
  sections: number,
  capture: (seed: number) => Promise<Uint8Array>,
): Promise<number> {
  const out = openSync(file, 'w');
  let packets = 0;
  for (let section = 0; section < sections; section++) {
    const bytes = await capture(section + 1);
    writeSync(out, bytes);
    for (const _ of readCapture(bytes)) packets += 1;
  }
  closeSync(out);
  return packets;
}

async function analyze(program: string, ...args: readonly string[]): Promise<{ seconds: number; mebibytes: number }> {
  const { seconds, output } = await run(process.execPath, [join(program, CHILD), ...args]);
  return { seconds, mebibytes: Number(output.trim().split('\n').at(-1)) / 1024 };
}

async function tshark(file: string): Promise<number> {
  return (await run('tshark', ['-n', '-r', file, '-q', '-z', 'io,stat,0'])).seconds;
}

async function run(program: string, args: readonly string[]): Promise<{ seconds: number; output: string }> {
  const began = performance.now();
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve);
  });
  if (code === null) throw new Error(`${program} was killed`);
  return { seconds: (performance.now() - began) / 1000, output };
}

const CHILD = 'dist/bench/analyze-child.js';
const SECTIONS = 10;
const LONG_SECTIONS = 40;
/** And some room. */
const LONG_BYTES = 5e9;
const ROUNDS = 1_000;
const QUEUE_PAIRS = 64;
const QUEUE_PAIR_ROUNDS = 36;
const MOST_MEBIBYTES = 512;
