/**
 * `roce pingpong`: the command lines of libibverbs' ibv_rc_, uc_, ud_, srq_ and xsrq_pingpong, plus the options that
 * open a device. Experiments use their own part of them on a device they have.
 */
import { randomInt } from 'node:crypto';
import { Command, Option } from 'commander';
import type { RdmaDevice } from 'rocev2';
import { type IpAddress, RoceError } from 'rocev2/packets';
import { addLinkOptions, exitWith, integer, type LinkFlags, parseAddress, withDevice } from '../options.ts';
import { type ToolOutput, terminal } from '../output.ts';
import { tcpOf } from '../tcp.ts';
import { type PingpongStart, runPingpong } from './run.ts';
import type { PingpongService } from './session.ts';
import { runXsrqPingpong } from './xsrq.ts';

export type PingpongKind = PingpongService | 'xsrq';
export const PINGPONG_KINDS: readonly PingpongKind[] = ['rc', 'uc', 'ud', 'srq', 'xsrq'];

export interface PingpongFlags {
  readonly port: number;
  readonly size: number;
  /** Absent for datagrams: theirs is the port's. */
  readonly pathMtu?: number;
  readonly rxDepth: number;
  readonly iters: number;
  /** xsrq: messages for each client. */
  readonly numTests: number;
  readonly numQp: number;
  readonly clients: number;
  readonly gidIdx?: number;
  readonly chk?: boolean;
}

export function pingpongCommand(): Command {
  const command = new Command('pingpong').description(
    'queue pairs that answer each message with one; works with the pingpong programs of libibverbs',
  );
  for (const kind of PINGPONG_KINDS) {
    const one = addPingpongOptions(new Command(kind).description(`as ibv_${kind}_pingpong`), kind);
    // --mtu is the wire's here, so the path's has its short name only.
    addLinkOptions(one).action(async (server: IpAddress | undefined, flags: PingpongFlags & LinkFlags) => {
      exitWith(
        await withDevice(flags, (device, signal) => playPingpong(kind, device, server, flags, terminal, signal)),
      );
    });
    command.addCommand(one);
  }
  return command;
}

/**
 * The options of the program itself; those without a meaning on Ethernet or for this stack are accepted and ignored.
 */
export function addPingpongOptions(command: Command, kind: PingpongKind): Command {
  command
    .argument('[host]', 'the server to connect to; without it, be one', parseAddress)
    .option('-p, --port <port>', 'TCP port to meet at', integer(1, 65_535), 18_515)
    .option('-s, --size <size>', 'bytes of a message', integer(1, 2 ** 31), kind === 'ud' ? 2048 : 4096)
    .option(
      '-g, --gid-idx <index>',
      "which of our addresses to send from (default: the one on the peer's subnet)",
      integer(0, 255),
    )
    .option('-d, --ib-dev <name>', 'name of the device: we have one')
    .addOption(new Option('-i, --ib-port <port>', 'port of the device: we have one').choices(['1']))
    .option('-l, --sl <level>', 'service level: Ethernet has none', integer(0, 15))
    .option('-e, --events', 'sleep until completions come: we always do');
  if (kind !== 'ud') command.option('-m, --path-mtu <size>', 'path MTU', integer(256, 4096), 1024);
  if (kind === 'xsrq') {
    return command
      .option('-c, --clients <count>', 'server: clients to wait for', integer(1, 256), 1)
      .option('-n, --num-tests <count>', 'messages for each client', integer(1, 2 ** 31 - 1), 5);
  }
  command
    .option('-r, --rx-depth <depth>', 'receives kept posted', integer(1, 32_768), 500)
    .option('-n, --iters <count>', 'exchanges', integer(1, 2 ** 31 - 1), 1000);
  if (kind === 'srq') command.option('-q, --num-qp <count>', 'queue pairs', integer(1, 256), 16);
  return command.option('-c, --chk', 'server: look at what has arrived');
}

/** A run with parsed flags; resolves with the exit code. */
export function playPingpong(
  kind: PingpongKind,
  device: RdmaDevice,
  server: IpAddress | undefined,
  flags: PingpongFlags,
  output: ToolOutput,
  signal: AbortSignal,
): Promise<number> {
  const { port, size, pathMtu: mtu = device.activeMtu, gidIdx } = flags;
  const gid = gidIdx === undefined ? undefined : gidAt(device, gidIdx);
  const start: PingpongStart = { server, port, gid, tcp: tcpOf(device), random: () => randomInt(2 ** 24), now, signal };
  if (kind === 'xsrq') {
    const clients = server === undefined ? flags.clients : 1;
    return runXsrqPingpong(device, { size, mtu, clients, tests: flags.numTests }, start, output);
  }
  const { rxDepth, iters: iterations, chk: check = false } = flags;
  const queuePairs = kind === 'srq' ? flags.numQp : 1;
  if (queuePairs > rxDepth)
    throw new RoceError(
      'ERR_ROCE_ARGUMENT',
      `rx_depth ${rxDepth} is too small for ${queuePairs} QPs -- must have at least one receive per QP.`,
    );
  if (kind === 'ud' && size > device.activeMtu)
    throw new RoceError('ERR_ROCE_ARGUMENT', `Requested size larger than port MTU (${device.activeMtu})`);
  return runPingpong(device, { service: kind, size, mtu, rxDepth, iterations, queuePairs, check }, start, output);
}

function gidAt(device: RdmaDevice, index: number): IpAddress {
  const prefix = device.addresses[index];
  if (prefix === undefined) throw new RoceError('ERR_ROCE_ARGUMENT', `there is no GID of index ${index}`);
  return prefix.address;
}

const now = (): number => performance.now() * 1e6;
