/**
 * `roce run` and `roce uverbs`: programs written for libibverbs and librdmacm, unmodified, on a device of this stack.
 * Owns the command lines, and what is said where a machine lacks something.
 */
import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { RoceError } from 'rocev2/packets';
import { addFaultOptions, type FaultFlags } from '../bump/fault-options.ts';
import { addLinkOptions, type LinkFlags } from '../options.ts';
import { terminal } from '../output.ts';
import { buildShim } from './build.ts';
import { hasRxeProvider } from './machine.ts';
import { PrivatePlace } from './place.ts';
import { whyNoShim } from './program-file.ts';
import { runOne, runPair } from './run.ts';
import { type ServedFlags, withServer } from './served.ts';
import { statusLines } from './status.ts';

interface RunFlags extends ServedFlags {
  readonly on?: string;
  readonly pair?: boolean;
}

interface ServeFlags extends LinkFlags, FaultFlags {
  readonly socket: string;
}

export function runCommand(): Command {
  const command = new Command('run')
    .description('run a program written for libibverbs or librdmacm, unmodified, on a device of this stack')
    .argument('<program...>', 'the program and its arguments, after --; with --pair, two command lines')
    .option('--on <socket>', 'use the device that "roce uverbs" serves there')
    .option('--pair', 'run two command lines, the second when the first listens');
  addFaultOptions(addLinkOptions(command, { optional: true }));
  return command.hook('preAction', () => refuseBadRuns(command)).action(run);
}

export function uverbsCommand(): Command {
  const command = new Command('uverbs')
    .description(
      'serve a device to programs that "roce run --on" starts, until ctrl-C; SIGUSR1 prints what was refused',
    )
    .requiredOption('--socket <path>', 'name of the socket');
  addFaultOptions(addLinkOptions(command));
  return command.hook('preAction', () => refuseNotify(command, command.opts<ServeFlags>())).action(serve);
}

function refuseBadRuns(command: Command): void {
  const { on, pair, worker, ...device } = command.opts<RunFlags>();
  refuseNotify(command, device);
  if (worker === true) command.error('error: the stack serves programs from this thread: not with --worker');
  const given = Object.keys(device).filter((name) => command.getOptionValueSource(name) === 'cli');
  if (on !== undefined && (pair === true || given.length > 0))
    command.error('error: --on takes the device as it is: not together with --pair or options of a device');
  if (pair === true && command.args.length !== 2)
    command.error('error: --pair takes two command lines, each in quotes');
}

/** Notifications are made by who stands between two hosts. */
function refuseNotify(command: Command, { rules }: FaultFlags): void {
  if (rules?.notify !== undefined) command.error('error: "notify" in a file of rules is for roce bump');
}

async function run(words: readonly string[], { on, pair, ...flags }: RunFlags): Promise<void> {
  const shim = await buildShim();
  complainOfProvider();
  complainOfPrograms(pair === true ? words.map((line) => line.trim().split(/\s/)[0] ?? '') : words.slice(0, 1));
  if (on !== undefined) {
    if (!existsSync(on)) throw new RoceError('ERR_ROCE_ADDRESS', `${on}: no server is there; "roce uverbs" is one`);
    process.exitCode = await runOne(words, { shim, socket: on });
    return;
  }
  const place = await PrivatePlace.make();
  try {
    const [first = '', second = ''] = words;
    process.exitCode = await withServer(flags, place.socket, (served) => {
      const at = { shim, socket: served.path };
      return pair === true ? runPair([first, second], at, served) : runOne(words, at);
    });
  } finally {
    place.remove();
  }
}

async function serve({ socket, ...flags }: ServeFlags): Promise<void> {
  complainOfProvider();
  await withServer(flags, socket, async (served, _device, server) => {
    const tell = (): void => statusLines(served.sizes, server).forEach(terminal.line);
    process.on('SIGUSR1', tell);
    terminal.line(`serving at ${served.path}: roce run --on ${served.path} -- PROGRAM`);
    await new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve));
    process.off('SIGUSR1', tell);
    tell();
    process.exitCode = EXIT_INTERRUPTED;
  });
}

/** A program may bring its own; so this is said, and no more. */
function complainOfProvider(): void {
  if (!hasRxeProvider())
    terminal.complaint('libibverbs finds no provider for rxe here: install ibverbs-providers (Debian) or rdma-core');
}

/** It may start another that gets the shim; so this is said, and no more. */
function complainOfPrograms(names: readonly string[]): void {
  for (const sentence of new Set(names.map(whyNoShim))) if (sentence !== undefined) terminal.complaint(sentence);
}

const EXIT_INTERRUPTED = 130;
