/**
 * `roce perf`: the command lines of perftest's ib_write_bw, ib_write_lat and their like, plus the options that open a
 * device. Experiments use perftest's own part of them on a device they have, under the stock names.
 *
 * Owns the parsing of command lines. What is invalid, or not supported, is one line and exit code 2.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as sleepMs, setImmediate as turn } from 'node:timers/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { RdmaDevice } from 'rocev2';
import type { IpAddress } from 'rocev2/packets';
import { addLinkOptions, exitWith, integer, type LinkFlags, parseAddress, withDevice } from '../options.ts';
import { type ToolOutput, terminal } from '../output.ts';
import { tcpOf } from '../tcp.ts';
import { decide, MAX_BYTES, MIN_ITERATIONS, type PerfChoices, type PerfTest, type PerfVerb } from './options.ts';
import { runPerf } from './run.ts';

/** One program of perftest. */
export interface PerfProgram {
  readonly verb: PerfVerb;
  readonly test: PerfTest;
  /** Its stock name. */
  readonly name: string;
}

export const PERF_PROGRAMS: readonly PerfProgram[] = (['write', 'read', 'send', 'atomic'] as const).flatMap((verb) =>
  (['bw', 'lat'] as const).map((test) => ({ verb, test, name: `ib_${verb}_${test}` })),
);

/** What commander makes of a command line; names are those of perftest's long options. */
export interface PerfFlags {
  readonly port?: number;
  readonly size?: number;
  readonly iters?: number;
  readonly duration?: number;
  readonly all?: true;
  readonly bidirectional?: true;
  readonly connection?: PerfChoices['service'];
  readonly qp?: number;
  readonly txDepth?: number;
  readonly rxDepth?: number;
  readonly cqMod?: number;
  readonly inline_size?: number;
  readonly pathMtu?: number;
  readonly outs?: number;
  readonly atomic_type?: PerfChoices['atomic'];
  readonly qpTimeout?: number;
  readonly retry_count?: number;
  readonly tos?: number;
  readonly tclass?: number;
  readonly gidIndex?: number;
  readonly useSrq?: true;
  readonly ipv6?: true;
  readonly rdma_cm?: true;
  readonly comm_rdma_cm?: true;
  readonly events?: true;
  readonly noPeak?: true;
  readonly report_gbits?: true;
  readonly reportBoth?: true;
  readonly reportHistogram?: true;
  readonly reportUnsorted?: true;
  readonly output?: PerfChoices['output'];
}

export function perfCommand(): Command {
  const command = new Command('perf').description(
    'bandwidth and latency of WRITE, READ, SEND and atomics; works with the programs of perftest',
  );
  for (const verb of new Set(PERF_PROGRAMS.map((program) => program.verb))) {
    const ofVerb = new Command(verb).description(`as ib_${verb}_bw and ib_${verb}_lat`);
    for (const program of PERF_PROGRAMS.filter((each) => each.verb === verb)) ofVerb.addCommand(oneCommand(program));
    command.addCommand(ofVerb);
  }
  return command;
}

function oneCommand(program: PerfProgram): Command {
  // --mtu is the wire's here.
  const command = addPerfOptions(new Command(program.test).description(`as ${program.name}`), program, '--path-mtu');
  return addLinkOptions(command).action(async (server: IpAddress | undefined, flags: PerfFlags & LinkFlags) => {
    const choices = choicesOf(program, server, flags);
    exitWith(await withDevice(flags, (device, signal) => playPerf(command, choices, device, terminal, signal)));
  });
}

/**
 * The options of the program itself; those without a meaning on Ethernet or for this stack are accepted and ignored.
 */
export function addPerfOptions(command: Command, { verb, test }: PerfProgram, mtuName = '--mtu'): Command {
  command
    .argument('[host]', 'the server to connect to; without it, be one', parseAddress)
    .option('-p, --port <port>', 'port to meet at (default: 18515)', integer(1, 65_535))
    .option('-s, --size <bytes>', 'bytes of a message, or with k or m (default: 65536, latency 2)', parseSize)
    .option('-n, --iters <count>', 'messages of each queue pair (default: 1000, ib_write_bw 5000)', parseIterations)
    .option('-D, --duration <seconds>', 'run for so long instead', integer(1, 1_000_000))
    .option('-a, --all', 'sizes 2 to 2^23, one after the other')
    .addOption(new Option('-c, --connection <type>', 'service').choices(['RC', 'UC', 'UD']))
    .option(`-m, ${mtuName} <bytes>`, 'path MTU: 256 to 4096 (default: what the link carries)', parseMtu)
    .option('-x, --gid-index <index>', 'which of our addresses to send from', integer(0, 255))
    .option('-u, --qp-timeout <code>', 'ACK timeout 4.096 us * 2^code (default: 14, with -R 17)', integer(0, 31))
    .option('-R, --rdma_cm', 'connect by the connection manager')
    .option('-z, --comm_rdma_cm', 'introduce ourselves by the connection manager, connect by hand')
    .option('-T, --tos <value>', 'traffic class with -R', integer(0, 255))
    .option('--tclass <value>', 'traffic class', integer(0, 255))
    .option('--retry_count <count>', 'transport retries (default: 7)', integer(0, 7))
    .option('--ipv6', 'connect queue pairs over IPv6 though we meet over IPv4')
    .option('--ipv6-addr', 'connect over IPv6: the address of the server decides')
    .option('-e, --events', 'sleep until completions come: we always do')
    .addOption(new Option('--output <unit>', 'print one number only').choices(OUTPUTS[test]));
  if (verb === 'read' || verb === 'atomic')
    command.option('-o, --outs <count>', 'outstanding READs and atomics (default: 16)', integer(1, 128));
  if (verb === 'atomic')
    command.addOption(
      new Option('-A, --atomic_type <type>', 'operation (default: FETCH_AND_ADD)').choices([
        'CMP_AND_SWAP',
        'FETCH_AND_ADD',
      ]),
    );
  if (verb === 'write' || verb === 'send')
    command.option('-I, --inline_size <bytes>', 'messages up to this size travel in the work request', integer(0, 512));
  if (verb === 'send')
    command
      .option('-r, --rx-depth <count>', 'receives posted (default: 512)', integer(1, 16_384))
      .option('--use-srq', 'one receive queue for all queue pairs');
  if (test === 'bw') addBandwidthOptions(command);
  else
    command
      .option('-H, --report-histogram', 'print all measurements, sorted')
      .option('-U, --report-unsorted', 'print all measurements in order');
  return addIgnored(command);
}

function addBandwidthOptions(command: Command): void {
  command
    .option('-b, --bidirectional', 'both directions at a time')
    .option('-q, --qp <count>', 'queue pairs (default: 1)', integer(1, 1024))
    .option('-t, --tx-depth <count>', 'send queue depth (default: 128)', integer(1, 15_000))
    .option('-Q, --cq-mod <count>', 'one completion for so many messages (default: 100)', integer(1, 1024))
    .option('-l, --post_list <count>', 'work requests posted at a time: ours leave together anyway', integer(1, 15_000))
    .option('-N, --noPeak', 'do not look for the peak')
    .option('--report_gbits', 'in Gb/s instead of MiB/s')
    .option('--report-both', 'report both directions of -b separately');
}

/** Short forms that users of perftest know. */
function addIgnored(command: Command): Command {
  return command
    .option('-d, --ib-dev <name>', 'name of the device: we have one')
    .addOption(new Option('-i, --ib-port <port>', 'port of the device: we have one').choices(['1']))
    .option('-F, --CPU-freq', 'go on though the CPU frequency varies: our clock does not depend on it')
    .option('-S, --sl <level>', 'service level: Ethernet has none', integer(0, 15))
    .option('-f, --margin <seconds>', 'of a run by time: we measure all of it', integer(0, 1_000_000))
    .option('--perform_warm_up', 'we do not')
    .option('--use_old_post_send', 'there is one way')
    .option('--disable_pcie_relaxed', 'there is no PCIe');
}

/** The parsed command line. */
export function choicesOf({ verb, test }: PerfProgram, server: IpAddress | undefined, flags: PerfFlags): PerfChoices {
  return {
    verb,
    test,
    server,
    port: flags.port,
    size: flags.size,
    iterations: flags.iters,
    durationS: flags.duration,
    all: flags.all,
    bidirectional: flags.bidirectional,
    service: flags.connection,
    queuePairs: flags.qp,
    txDepth: flags.txDepth,
    rxDepth: flags.rxDepth,
    cqModeration: flags.cqMod,
    inlineBytes: flags.inline_size,
    mtu: flags.pathMtu,
    outstandingReads: flags.outs,
    atomic: flags.atomic_type,
    ackTimeout: flags.qpTimeout,
    retryCount: flags.retry_count,
    trafficClass: flags.tos ?? flags.tclass,
    gidIndex: flags.gidIndex,
    useSrq: flags.useSrq,
    ipv6: flags.ipv6,
    cm: flags.rdma_cm,
    cmExchange: flags.comm_rdma_cm,
    events: flags.events,
    noPeak: flags.noPeak,
    gigabits: flags.report_gbits,
    reportBoth: flags.reportBoth,
    histogram: flags.reportHistogram,
    unsorted: flags.reportUnsorted,
    output: flags.output,
  };
}

/** Runs on a device that is open; options that do not fit together end in `command.error`. */
export function playPerf(
  command: Command,
  choices: PerfChoices,
  device: RdmaDevice,
  output: ToolOutput,
  signal: AbortSignal,
): Promise<number> {
  const options = decide(choices);
  if (typeof options === 'string') return command.error(`error: ${options}`);
  const context = {
    device,
    output,
    signal,
    clock: () => Number(process.hrtime.bigint()),
    turn: () => turn(),
    sleep: (ns: number) => sleepMs(ns / 1e6, undefined, { ref: false }),
    randomPsn: () => randomInt(2 ** 24),
  };
  return runPerf(context, () => tcpOf(device), options);
}

/** With k or m, times 1024 or 1024 * 1024. */
function parseSize(text: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,9})([km]?)$/i.exec(text) ?? [];
  const size = Number(digits) * ({ k: 1024, m: 1024 * 1024 }[unit.toLowerCase()] ?? 1);
  if (digits === '' || size < 1 || size > MAX_BYTES)
    throw new InvalidArgumentError(`a size from 1 to ${MAX_BYTES} bytes is expected`);
  return size;
}

const parseIterations = integer(MIN_ITERATIONS, 100_000_000);

function parseMtu(text: string): number {
  const mtu = Number(text);
  if (![256, 512, 1024, 2048, 4096].includes(mtu))
    throw new InvalidArgumentError('256, 512, 1024, 2048 or 4096 is expected');
  return mtu;
}

const OUTPUTS = { bw: ['bandwidth', 'message_rate'], lat: ['latency'] } as const;
