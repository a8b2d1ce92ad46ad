/**
 * `roce rping`: the command line of rping, plus the options that open a device. Experiments use rping's own part of it
 * on a device they have.
 */
import { Command, Option } from 'commander';
import type { RdmaDevice } from 'rocev2';
import type { IpAddress } from 'rocev2/packets';
import { addLinkOptions, exitWith, integer, type LinkFlags, parseAddress, withDevice } from '../options.ts';
import { type ToolOutput, terminal } from '../output.ts';
import { runRpingClient } from './client.ts';
import { DEFAULT_PING_BYTES, MAX_PING_BYTES, MIN_PING_BYTES, RPING_PORT } from './protocol.ts';
import { runRpingServer } from './server.ts';
import type { RpingOptions } from './session.ts';

export interface RpingFlags {
  readonly s?: boolean;
  readonly c?: boolean;
  readonly a?: IpAddress;
  readonly I?: IpAddress;
  readonly p: number;
  readonly v?: boolean;
  readonly V?: boolean;
  readonly d?: boolean;
  readonly S: number;
  readonly C: number;
  readonly P?: boolean;
  readonly q?: boolean;
}

/** A run of rping on a device; resolves with its exit code. */
export type RpingRun = (device: RdmaDevice, output: ToolOutput, signal: AbortSignal) => Promise<number>;

export function rpingCommand(): Command {
  const command = addRpingOptions(
    new Command('rping').description(
      'RDMA ping-pong over a connection, client or server; works with rping of rdmacm-utils',
    ),
  );
  return addLinkOptions(command).action(async (flags: RpingFlags & LinkFlags) => {
    const rping = chooseRole(command, flags);
    exitWith(await withDevice(flags, (device, signal) => rping(device, terminal, signal)));
  });
}

/** The options of rping itself. */
export function addRpingOptions(command: Command): Command {
  return command
    .addOption(new Option('-s', 'server').conflicts('c'))
    .option('-c', 'client')
    .option('-a <address>', "server: take clients on this address only; client: the server's address", parseAddress)
    .option('-I <address>', 'client: our address to connect from, one of --ip', parseAddress)
    .option('-p <port>', 'port', integer(0, 65_535), RPING_PORT)
    .option('-v', 'print the data of each ping')
    .option('-V', 'compare what came back with what was sent')
    .option('-d', 'print every step')
    .option('-S <bytes>', 'size of a ping', integer(MIN_PING_BYTES, MAX_PING_BYTES), DEFAULT_PING_BYTES)
    .option('-C <count>', 'number of pings, 0 for no end', integer(0, 2 ** 31 - 1), 0)
    .option('-P', 'server: serve any number of clients, at the same time too')
    .option('-q', 'move the queue pair to its states ourselves');
}

/** The parsed command line; an invalid one ends in `command.error`. */
export function chooseRole(command: Command, flags: RpingFlags): RpingRun {
  if (flags.s !== true && flags.c !== true) command.error('error: choose one of -s (server) and -c (client)');
  const options = {
    port: flags.p,
    size: flags.S,
    verbose: flags.v ?? false,
    debug: flags.d ?? false,
    ownQp: flags.q ?? false,
  };
  return flags.s === true ? serve(command, flags, options) : ping(command, flags, options);
}

function serve(command: Command, flags: RpingFlags, options: RpingOptions): RpingRun {
  if (flags.I !== undefined) command.error('error: -I is for the client');
  const address = flags.a === undefined || isUnspecified(flags.a) ? {} : { address: flags.a };
  const persistent = flags.P ?? false;
  return (device, output, signal) => {
    return runRpingServer(device, { ...options, ...address, persistent, signal }, output);
  };
}

function ping(command: Command, flags: RpingFlags, options: RpingOptions): RpingRun {
  const { a: address, I: source, C: count } = flags;
  if (address === undefined) command.error('error: the client needs -a, the address of the server');
  if (flags.P === true) command.error('error: -P is for the server');
  const validate = flags.V ?? false;
  const from = source === undefined ? {} : { source };
  return (device, output, signal) => {
    return runRpingClient(device, { ...options, ...from, address, count, validate, signal }, output);
  };
}

/** 0.0.0.0 and ::0, which rping takes for "any". */
function isUnspecified(address: IpAddress): boolean {
  return ['0.0.0.0', '::'].includes(address.toString());
}
