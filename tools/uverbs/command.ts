/**
 * `roce run` and `roce uverbs`: programs written for libibverbs and librdmacm, unmodified, on a device of this stack.
 * Owns the command lines, and what is said where a machine lacks something.
 */
import { existsSync, readdirSync } from 'node:fs';
import { Command } from 'commander';
import type { Device } from 'rocev2';
import { type ServedUverbs, serveUverbs } from 'rocev2/node';
import { RoceError } from 'rocev2/packets';
import { createUverbsServer } from 'rocev2/uverbs';
import { addLinkOptions, type LinkFlags, withDeviceHere } from '../options.ts';
import { terminal } from '../output.ts';
import { buildShim } from './build.ts';
import { PrivatePlace } from './place.ts';
import { runOne, runPair } from './run.ts';

interface RunFlags extends Partial<LinkFlags> {
  readonly on?: string;
  readonly pair?: boolean;
}

interface ServeFlags extends LinkFlags {
  readonly socket: string;
}

export function runCommand(): Command {
  const command = new Command('run')
    .description('run a program written for libibverbs or librdmacm, unmodified, on a device of this stack')
    .argument('<program...>', 'the program and its arguments, after --; with --pair, two command lines')
    .option('--on <socket>', 'use the device that "roce uverbs" serves there')
    .option('--pair', 'run two command lines, the second when the first listens');
  addLinkOptions(command, { optional: true });
  return command.hook('preAction', () => refuseBadRuns(command)).action(run);
}

export function uverbsCommand(): Command {
  const command = new Command('uverbs')
    .description('serve a device to programs that "roce run --on" starts, until ctrl-C')
    .requiredOption('--socket <path>', 'name of the socket');
  addLinkOptions(command);
  return command.action(serve);
}

function refuseBadRuns(command: Command): void {
  const { on, pair, worker, ...device } = command.opts<RunFlags>();
  if (worker === true) command.error('error: the stack serves programs from this thread: not with --worker');
  const given = Object.keys(device).filter((name) => command.getOptionValueSource(name) === 'cli');
  if (on !== undefined && (pair === true || given.length > 0))
    command.error('error: --on takes the device as it is: not together with --pair or options of a device');
  if (pair === true && command.args.length !== 2)
    command.error('error: --pair takes two command lines, each in quotes');
}

async function run(words: readonly string[], { on, pair, ...flags }: RunFlags): Promise<void> {
  const shim = await buildShim();
  complainOfProvider();
  if (on !== undefined) {
    if (!existsSync(on)) throw new RoceError('ERR_ROCE_ADDRESS', `${on}: no server is there; "roce uverbs" is one`);
    process.exitCode = await runOne(words, { shim, socket: on });
    return;
  }
  const place = await PrivatePlace.make();
  try {
    const [first = '', second = ''] = words;
    process.exitCode = await withServer(
      flags.link === undefined ? { ...flags, ...DEFAULT_DEVICE } : { ...flags, link: flags.link },
      place.socket,
      (served) => {
        const at = { shim, socket: served.path };
        return pair === true ? runPair([first, second], at, served) : runOne(words, at);
      },
    );
  } finally {
    place.remove();
  }
}

async function serve({ socket, ...flags }: ServeFlags): Promise<void> {
  complainOfProvider();
  await withServer(flags, socket, async ({ path }) => {
    terminal.line(`serving at ${path}: roce run --on ${path} -- PROGRAM`);
    await new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve));
    process.exitCode = EXIT_INTERRUPTED;
  });
}

/** Serves a device while `use` runs. */
function withServer<T>(flags: LinkFlags, path: string, use: (served: ServedUverbs) => Promise<T>): Promise<T> {
  return withDeviceHere(flags, async (device: Device) => {
    const served = await serveUverbs({ server: createUverbsServer(device), path });
    try {
      return await use(served);
    } finally {
      served.close();
    }
  });
}

/** A program may bring its own; so this is said, and no more. */
function complainOfProvider(): void {
  const drivers = PROVIDER_PLACES.some((directory) => existsSync(directory) && readdirSync(directory).some(isRxe));
  if (!drivers)
    terminal.complaint('libibverbs finds no provider for rxe here: install ibverbs-providers (Debian) or rdma-core');
}

const isRxe = (name: string): boolean => name === 'rxe.driver';
const PROVIDER_PLACES = ['/etc/libibverbs.d', '/usr/local/etc/libibverbs.d', '/usr/etc/libibverbs.d'];
const EXIT_INTERRUPTED = 130;
/** Where no link is named: the addresses that `localhost` means as well, and the link-local one that GID 0 is. */
const DEFAULT_DEVICE = {
  link: 'loopback:10.0.0.1/24+fd00::1/64+127.0.0.1/8+::1/128+fe80::aff:fe00:1/64',
  mac: '02:00:0a:00:00:01',
};
