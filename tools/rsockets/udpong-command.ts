/** The command line of udpong: with `-s` it is the client, without the server. */
import { Command, InvalidArgumentError } from 'commander';
import { type IpAddress, RoceError } from 'rocev2/packets';
import { integer, parseAddress } from '../options.ts';
import type { ToolRun } from './rstream.ts';
import { openUdpPort } from './udp-port.ts';
import { runUdpong, type UdpongOptions } from './udpong.ts';
import { CONTROL_BYTES, MAX_PONG_BYTES, UDPONG_PORT } from './udpong-protocol.ts';

export interface UdpongFlags {
  readonly s?: IpAddress;
  readonly b?: IpAddress;
  readonly C?: number;
  readonly S?: number;
  readonly p: number;
  readonly T?: readonly string[];
  readonly limit?: number;
}

export function udpongCommandOptions(command = new Command('udpong')): Command {
  return command
    .description(UDPONG_SUMMARY)
    .option('-s <address>', 'send to this server; without it, be one', parseAddress)
    .option('-b <address>', 'server: our address [the first of the device]', parseAddress)
    .option('-C <count>', 'datagrams; one test instead of the ladder, as with -S', integer(1, 2 ** 31 - 1))
    .option('-S <bytes>', 'bytes of a datagram', integer(CONTROL_BYTES, MAX_PONG_BYTES))
    .option('-p <port>', 'UDP port of the server', integer(1, 65_535), UDPONG_PORT)
    .option(
      '-T <option>',
      'e|echo: the server sends all back; a|async, b|blocking, n|nonblocking change nothing',
      testOption,
    )
    .option('--limit <count>', 'ladder: at most so many datagrams a test', integer(1, 100_000));
}

export function udpongRun(flags: UdpongFlags): ToolRun {
  const options = udpongOptions(flags);
  return async (device, output, signal) => {
    const { server } = options;
    const near = device.addresses.find((prefix) => server === undefined || prefix.contains(server));
    const ours = flags.b ?? near?.address;
    if (ours === undefined) throw new RoceError('ERR_ROCE_ADDRESS', `no address of this device can reach ${server}`);
    const udp = await openUdpPort(ours, server === undefined ? options.port : 0);
    try {
      return await runUdpong(options, { device, udp, output, signal });
    } catch (error) {
      udp.close();
      throw error;
    }
  };
}

export function udpongOptions({ s, C, S, p, T = [], limit }: UdpongFlags): UdpongOptions {
  const custom = { name: 'custom', size: S ?? DEFAULT_SIZE, count: C ?? DEFAULT_COUNT, echo: T.includes('echo') };
  return {
    server: s,
    port: p,
    custom: C !== undefined || S !== undefined ? custom : undefined,
    limit: limit ?? Number.POSITIVE_INFINITY,
  };
}

function testOption(text: string, previous: readonly string[] = []): string[] {
  if (/^(?:e|echo.*)$/i.test(text)) return [...previous, 'echo'];
  if (/^(?:a|b|n|async.*|block.*|nonblock.*)$/i.test(text)) return [...previous];
  throw new InvalidArgumentError('a test option is one of a, b, e and n');
}

export const UDPONG_SUMMARY =
  'datagrams over RDMA, counted or echoed, timed; the words are those of udpong of rdmacm-utils';
const DEFAULT_SIZE = 1000;
const DEFAULT_COUNT = 1000;
