/**
 * What Debian's own verbs programs reach under `roce run --pair`, beside the kernel's TCP between two processes of this
 * host, which qperf measures, in turns. The path is the whole one: shim, rings, copies of memory, transport, a frame
 * with its ICRC made and verified for every packet, and the way back.
 *
 * Kernel TCP over its loopback has packets of 64 KiB and no checksums: the bound is not one that packets of 4 KiB can
 * reach, and stands here because it is what programs are compared with.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { findTool } from '../lab/tool.ts';
import {
  type Bench,
  type BenchRow,
  type BenchSettings,
  contest,
  type Goal,
  type SkippedBench,
  scaled,
} from './bench.ts';

/** Goodput of `ib_write_bw`. */
export const verbsWriteBench: Bench = {
  name: 'verbs-write',
  title: 'roce run: ib_write_bw of 64 KiB beside qperf tcp_bw',
  run: (settings) =>
    verbsBench('verbs-write', settings, {
      unit: 'MiB/s',
      peer: 'qperf tcp_bw over loopback',
      goal: { sense: '>=', ratio: 0.5 },
      ours: () => perftest(`ib_write_bw -F -s 65536 -n ${scaled(2000, settings, MIN_ITERATIONS)}`, Column.Average),
      theirs: async (qperf) => (await qperf.measure('tcp_bw', 65_536)) / MIB,
    }),
};

/** Latency of a program that waits for events. */
export const verbsEventsBench: Bench = {
  name: 'verbs-events',
  title: 'roce run: ib_send_lat -e of 64 bytes beside qperf tcp_lat',
  run: (settings) =>
    verbsBench('verbs-events', settings, {
      unit: 'us',
      peer: 'qperf tcp_lat over loopback',
      goal: { sense: '<=', ratio: 4 },
      ours: () => latency('-e', settings),
      theirs: async (qperf) => (await qperf.measure('tcp_lat', 64)) / 1000,
    }),
};

/** Latency of a program that polls. */
export const verbsPollingBench: Bench = {
  name: 'verbs-polling',
  title: 'roce run: ib_send_lat that polls beside one that waits for events',
  run: (settings) =>
    verbsBench('verbs-polling', settings, {
      unit: 'us',
      peer: 'ib_send_lat -e',
      goal: { sense: '<=', ratio: 1.5 },
      ours: () => latency('', settings),
      theirs: () => latency('-e', settings),
    }),
};

interface VerbsSides {
  readonly unit: string;
  readonly peer: string;
  readonly goal: Goal;
  ours(): Promise<number>;
  theirs(qperf: Qperf): Promise<number>;
}

async function verbsBench(name: string, settings: BenchSettings, sides: VerbsSides): Promise<BenchRow | SkippedBench> {
  const lacking = PROGRAMS.find((program) => findTool(program) === undefined);
  if (lacking !== undefined) return { name, skipped: `${lacking} is not installed (perftest, qperf, gcc)` };
  const qperf = await Qperf.start(settings);
  try {
    return await contest(name, settings, { ...sides, theirs: () => sides.theirs(qperf) });
  } finally {
    await qperf.stop();
  }
}

/** A server of qperf, and measurements with it. */
class Qperf {
  readonly #server: ChildProcess;
  readonly #port: number;
  readonly #seconds: number;

  private constructor(server: ChildProcess, port: number, seconds: number) {
    this.#server = server;
    this.#port = port;
    this.#seconds = seconds;
  }

  static async start(settings: BenchSettings): Promise<Qperf> {
    const port = await freePort();
    const server = spawn('qperf', ['-lp', `${port}`], { stdio: 'ignore' });
    return new Qperf(server, port, scaled(2, settings));
  }

  /** Bytes a second, or nanoseconds. */
  async measure(test: 'tcp_bw' | 'tcp_lat', bytes: number): Promise<number> {
    // The client waits for its server itself, a few seconds at most.
    const args = ['-lp', `${this.#port}`, '-ws', '10', '-uu', '-t', `${this.#seconds}`, '-m', `${bytes}`];
    const printed = await outputOf('qperf', [...args, 'localhost', test]);
    const [, figure] = /= +([\d.]+) (?:bytes\/sec|ns)/.exec(printed) ?? [];
    if (figure === undefined) throw new Error(`qperf ${test} printed no figure: ${printed.trim()}`);
    return Number(figure);
  }

  async stop(): Promise<void> {
    this.#server.kill();
    if (this.#server.exitCode === null && this.#server.signalCode === null) await once(this.#server, 'exit');
  }
}

function latency(options: string, settings: BenchSettings): Promise<number> {
  return perftest(
    `ib_send_lat -F -s 64 -n ${scaled(2000, settings, MIN_ITERATIONS)} ${options}`,
    Column.LatencyAverage,
  );
}

/** One figure of the line that a program of perftest ends with. */
async function perftest(line: string, column: number): Promise<number> {
  const args = ['--import', 'tsx', 'tools/roce.ts', 'run', '--pair', '--', line, `${line} localhost`];
  const printed = await outputOf(process.execPath, args);
  const row = printed.split('\n').find((text) => /^ \d+ +\d+ +[\d.]+ /.test(text));
  const figure = Number(row?.trim().split(/\s+/)[column]);
  if (!(figure > 0)) throw new Error(`${line} printed no figure: ${printed.trim().split('\n').slice(-3).join(' / ')}`);
  return figure;
}

/** What a program prints on either stream. Throws when it fails. */
async function outputOf(program: string, args: readonly string[]): Promise<string> {
  const child = spawn(program, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  await once(child, 'close');
  if (child.exitCode !== 0) throw new Error(`${program} ended with ${child.exitCode}: ${printed.trim()}`);
  return printed;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PROGRAMS = ['ib_write_bw', 'ib_send_lat', 'qperf', 'cc'];
/** Of the last line: bytes, iterations, then peak and average, or least, most, typical and average. */
const Column = { Average: 3, LatencyAverage: 5 };
/** perftest refuses fewer than 5, and medians of fewer than these are of nothing. */
const MIN_ITERATIONS = 20;
const MIB = 1024 * 1024;
