/**
 * What Debian's own verbs programs reach under `roce run --pair`, beside the kernel's TCP between two processes of this
 * host, which qperf measures, in turns. The path is the whole one: shim, rings, copies of memory, transport, a frame
 * with its ICRC made and verified for every packet, and the way back.
 *
 * Kernel TCP over its loopback has packets of 64 KiB and no checksums: the bound is not one that packets of 4 KiB can
 * reach, and stands here because it is what programs are compared with. Beside it stands TCP whose packets are of our
 * wire's size, one by one through the kernel: a veth without offloads.
 */
import { findTool } from '../lab/tool.ts';
import { makeNetnsPair, netnsAvailable } from '../netns.ts';
import {
  type Bench,
  type BenchRow,
  type BenchSettings,
  contest,
  type Goal,
  type SkippedBench,
  scaled,
} from './bench.ts';
import { outputOf } from './program-output.ts';
import { Qperf, type QperfPlace } from './qperf.ts';

/** Goodput of `ib_write_bw` once its code is compiled: qperf, too, measures for two seconds. */
export const verbsWriteBench: Bench = {
  name: 'verbs-write',
  title: 'roce run: ib_write_bw of 64 KiB beside qperf tcp_bw',
  run: (settings) =>
    verbsBench('verbs-write', settings, {
      unit: 'MiB/s',
      peer: 'qperf tcp_bw over loopback',
      goal: { sense: '>=', ratio: 0.5 },
      ours: () => writeGoodput(steady(settings)),
      theirs: tcpGoodput,
    }),
};

/** The same of a new device, whose first messages run code that V8 has not compiled yet. */
export const verbsStartBench: Bench = {
  name: 'verbs-start',
  title: 'roce run: the first 20,000 messages of ib_write_bw beside qperf tcp_bw',
  run: (settings) =>
    verbsBench('verbs-start', settings, {
      unit: 'MiB/s',
      peer: 'qperf tcp_bw over loopback',
      ours: () => writeGoodput(first(settings)),
      theirs: tcpGoodput,
    }),
};

/** The same as `verbs-write` beside TCP in packets of the same size. */
export const verbsWireBench: Bench = {
  name: 'verbs-wire',
  title: 'roce run: ib_write_bw of 64 KiB beside qperf tcp_bw in packets of the same size',
  run: async (settings) => {
    const name = 'verbs-wire';
    const lacking = ['ip', 'ethtool'].find((program) => findTool(program) === undefined);
    const { ok, reason } = lacking === undefined ? netnsAvailable() : { ok: false, reason: `${lacking} is missing` };
    if (!ok) return { name, skipped: reason };
    const pair = makeNetnsPair({ mtu: WIRE_MTU });
    try {
      for (const { exec, device } of [pair.a, pair.b])
        exec('ethtool', '-K', device, ...['tso', 'gso', 'gro'].flatMap((offload) => [offload, 'off']));
      const [server = ''] = pair.a.ipv4.split('/');
      const sides = {
        unit: 'MiB/s',
        peer: `qperf tcp_bw over a veth of MTU ${WIRE_MTU}, no offloads`,
        goal: { sense: '>=', ratio: 0.5 } as const,
        ours: () => writeGoodput(steady(settings)),
        theirs: tcpGoodput,
      };
      return await verbsBench(name, settings, sides, { prefixes: [pair.a.prefix, pair.b.prefix], server });
    } finally {
      pair.remove();
    }
  },
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
  readonly goal?: Goal;
  ours(): Promise<number>;
  theirs(qperf: Qperf): Promise<number>;
}

async function verbsBench(
  name: string,
  settings: BenchSettings,
  sides: VerbsSides,
  where?: QperfPlace,
): Promise<BenchRow | SkippedBench> {
  const lacking = PROGRAMS.find((program) => findTool(program) === undefined);
  if (lacking !== undefined) return { name, skipped: `${lacking} is not installed (perftest, qperf, gcc)` };
  const qperf = await Qperf.start(settings, where);
  try {
    return await contest(name, settings, { ...sides, theirs: () => sides.theirs(qperf) });
  } finally {
    await qperf.stop();
  }
}

function writeGoodput(howLong: string): Promise<number> {
  return perftest(`ib_write_bw -F -s 65536 ${howLong}`, Column.Average);
}

/** The first messages of a device. */
function first(settings: BenchSettings): string {
  return `-n ${scaled(FIRST_WRITES, settings, MIN_ITERATIONS)}`;
}

/** Two seconds; two before and two after them do not count. A bench that is scaled down has no time for them. */
function steady(settings: BenchSettings): string {
  return settings.scale < 1 ? first(settings) : '-D 6 -f 2';
}

async function tcpGoodput(qperf: Qperf): Promise<number> {
  return (await qperf.measure('tcp_bw', 65_536)) / MIB;
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

const PROGRAMS = ['ib_write_bw', 'ib_send_lat', 'qperf', 'cc'];
/** They take about as long as qperf measures. */
const FIRST_WRITES = 20_000;
/** Of the last line: bytes, iterations, then peak and average, or least, most, typical and average. */
const Column = { Average: 3, LatencyAverage: 5 };
/** perftest refuses fewer than 5, and medians of fewer than these are of nothing. */
const MIN_ITERATIONS = 20;
/** Of the wire that `roce run --pair` makes: a path MTU of 4096. */
const WIRE_MTU = 4200;
const MIB = 1024 * 1024;
