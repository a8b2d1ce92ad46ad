/**
 * The program behind the `roce` command. Owns the list of subcommands, each loaded only when it is asked for, and the
 * conventions on errors: a bad command line is one line on standard error and exit code 2, a `RoceError` one line and
 * exit code 1. Anything else is a bug of ours and keeps its stack.
 */
import { Command, CommanderError } from 'commander';
import { installBulkCrc32 } from 'rocev2/crc32';
import { RoceError } from 'rocev2/errors';
import { packageVersion } from './package-version.ts';

interface Subcommand {
  readonly name: string;
  readonly description: string;
  readonly load: () => Promise<Command>;
}

/** Descriptions are the commands' own, so that help needs none of them loaded. */
export const SUBCOMMANDS: readonly Subcommand[] = [
  {
    name: 'demo',
    description: 'two RDMA devices in this process: every operation on a clean wire and on a bad one, packet by packet',
    load: async () => (await import('./demo/main.ts')).demoCommand(),
  },
  {
    name: 'rping',
    description: 'RDMA ping-pong over a connection, client or server; works with rping of rdmacm-utils',
    load: async () => (await import('./rping/main.ts')).rpingCommand(),
  },
  {
    name: 'rstream',
    description: 'streams over RDMA both ways, timed; works with rstream of rdmacm-utils',
    load: async () => (await import('./rsockets/main.ts')).rstreamCommand(),
  },
  {
    name: 'riostream',
    description: 'RDMA writes into mapped buffers both ways, timed; works with riostream of rdmacm-utils',
    load: async () => (await import('./rsockets/main.ts')).riostreamCommand(),
  },
  {
    name: 'rcopy',
    description: 'copies a file over RDMA, client or server; works with rcopy of rdmacm-utils',
    load: async () => (await import('./rsockets/main.ts')).rcopyCommand(),
  },
  {
    name: 'udpong',
    description: 'datagrams over RDMA, counted or echoed, timed; the words are those of udpong of rdmacm-utils',
    load: async () => (await import('./rsockets/main.ts')).udpongCommand(),
  },
  {
    name: 'nvme',
    description: 'disks over RDMA, NVMe over Fabrics; works with nvme-cli and the Linux kernel',
    load: async () => (await import('./nvme/main.ts')).nvmeCommand(),
  },
  {
    name: 'perf',
    description: 'bandwidth and latency of WRITE, READ, SEND and atomics; works with the programs of perftest',
    load: async () => (await import('./perf/main.ts')).perfCommand(),
  },
  {
    name: 'pingpong',
    description: 'queue pairs that answer each message with one; works with the pingpong programs of libibverbs',
    load: async () => (await import('./pingpong/main.ts')).pingpongCommand(),
  },
  {
    name: 'run',
    description: 'run a program written for libibverbs or librdmacm, unmodified, on a device of this stack',
    load: async () => (await import('./uverbs/command.ts')).runCommand(),
  },
  {
    name: 'uverbs',
    description:
      'serve a device to programs that "roce run --on" starts, until ctrl-C; SIGUSR1 prints what was refused',
    load: async () => (await import('./uverbs/command.ts')).uverbsCommand(),
  },
  {
    name: 'dump',
    description: 'print the frames of a capture file (pcap or pcapng) or of a wire, RoCEv2 in full',
    load: async () => (await import('./dump/index.ts')).dumpCommand(),
  },
  {
    name: 'analyze',
    description: 'what is wrong in a capture of RoCEv2, which packets prove it, and what to do',
    load: async () => (await import('./analyze/command.ts')).analyzeCommand(),
  },
  {
    name: 'export',
    description: 'packets, conversations, events and findings of captures as Parquet, for DuckDB, Spark, ClickHouse',
    load: async () => (await import('./export/index.ts')).exportCommand(),
  },
  {
    name: 'verify',
    description: "compare every field of every frame of a capture with tshark's dissection",
    load: async () => (await import('./verify/main.ts')).verifyCommand(),
  },
  {
    name: 'conformance',
    description: 'which of the rules for RoCEv2 devices a device keeps: stimuli, verdicts, a capture for each',
    load: async () => (await import('./conformance/command.ts')).conformanceCommand(),
  },
  {
    name: 'view',
    description: 'show a capture in the explorer, a page in the browser that loads nothing from the network',
    load: async () => (await import('./explorer/command.ts')).viewCommand(),
  },
  {
    name: 'bump',
    description:
      'stand between two Ethernet links and drop, delay, corrupt, mark or rewrite what passes, by rule or chance',
    load: async () => (await import('./bump/main.ts')).bumpCommand(),
  },
  {
    name: 'lab',
    description: 'Linux guests with rdma_rxe, under qemu, from Debian packages',
    load: async () => (await import('./lab/main.ts')).labCommand(),
  },
  {
    name: 'devinfo',
    description: 'open a device and print its attributes, as ibv_devinfo does; without a link the one of "roce run"',
    load: async () => (await import('./devinfo/main.ts')).devinfoCommand(),
  },
  {
    name: 'doctor',
    description: 'what can be done on this machine, what is missing for the rest, and how to get it',
    load: async () => (await import('./doctor/command.ts')).doctorCommand(),
  },
  {
    name: 'links',
    description: 'list the links this machine can be used with, and what the others lack here',
    load: async () => (await import('./links/command.ts')).linksCommand(),
  },
  {
    name: 'sim',
    description:
      'simulated networks: hosts with the real transport, switches, congestion control, from a scenario file',
    load: async () => (await import('./sim/main.ts')).simCommand(),
  },
  {
    name: 'experiment',
    description: 'hosts, wires, commands and what must be seen, from a file',
    load: async () => (await import('./experiment/command.ts')).experimentCommand(),
  },
  {
    name: 'completion',
    description: 'a script that completes this command line, for bash, zsh or fish',
    load: async () => {
      const { completionCommand } = await import('./completion/command.ts');
      return completionCommand(() => Promise.all(SUBCOMMANDS.map(({ load }) => load())));
    },
  },
];

const EXIT_FAILED = 1;
const EXIT_BAD_COMMAND_LINE = 2;

/** Where the program's own messages go; what commands print goes to standard output and standard error. */
export interface RoceOutput {
  out(text: string): void;
  err(text: string): void;
}

/**
 * Runs a command line, without the program's name; resolves with the exit code, or undefined where a command has set
 * its own.
 */
export async function runProgram(args: readonly string[], output: RoceOutput): Promise<number | undefined> {
  // Drivers do it too; commands that read captures have none.
  installBulkCrc32();
  const program = new Command('roce')
    .description('RoCEv2 in user space: run, watch and debug RDMA over Ethernet')
    .version(packageVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(true);
  const wanted = args[0] === 'help' ? args[1] : args[0];
  for (const { name, description, load } of SUBCOMMANDS) {
    program.addCommand(name === wanted ? await load() : new Command(name).description(description));
  }
  adopt(program, 'roce', output);
  try {
    if (wanted === undefined && args.length === 0) program.error('error: a command is missing; roce --help lists them');
    if (wanted !== undefined && !wanted.startsWith('-') && !SUBCOMMANDS.some(({ name }) => name === wanted))
      program.error(`error: unknown command '${wanted}'; ${await hintFor(wanted)}`);
    await program.parseAsync(args, { from: 'user' });
    return undefined;
  } catch (error) {
    return exitCodeFor(error, wanted === undefined ? 'roce' : `roce ${wanted}`, output);
  }
}

/** Makes a command and all below it speak and end as the conventions say. */
function adopt(command: Command, path: string, output: RoceOutput): void {
  command.exitOverride().configureOutput({
    writeOut: output.out,
    writeErr: output.err,
    outputError: (text, write) => write(`${path}: ${asOneSentence(text.replace(/^error: /, ''))}\n`),
  });
  for (const child of command.commands) adopt(child, `${path} ${child.name()}`, output);
}

async function hintFor(wanted: string): Promise<string> {
  // No command that is spelled right has to wait for it.
  const { suggest } = await import('rocev2/pcap/filter');
  const near = suggest(
    wanted,
    SUBCOMMANDS.map(({ name }) => name),
  );
  return near.length > 0 ? `did you mean ${near.join(' or ')}?` : 'roce --help lists them';
}

/** What commander says of a mistake: its suggestion stands in brackets on a line of its own. */
function asOneSentence(text: string): string {
  return oneLine(text.replace(/\s*\n\(Did you mean (.*)\?\)/, '; did you mean $1?'));
}

function oneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, ' ');
}

/** Says what is left to say. @throws what is a bug */
function exitCodeFor(error: unknown, path: string, output: RoceOutput): number {
  // commander has printed it already; help and version are no error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_BAD_COMMAND_LINE;
  if (error instanceof RoceError || isSystemError(error)) {
    output.err(`${path}: ${oneLine(error.message)}\n`);
    return EXIT_FAILED;
  }
  throw error;
}

/** A file that is missing, a directory that cannot be written: the system's own sentence names it. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error && 'code' in error;
}
