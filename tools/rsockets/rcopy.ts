/** The command line of rcopy: without files it is the server, with a source and a destination the client. */
import { Command } from 'commander';
import { IpAddress } from 'rocev2/packets';
import { integer } from '../options.ts';
import { runRcopyClient } from './rcopy-client.ts';
import { RCOPY_PORT } from './rcopy-protocol.ts';
import { runRcopyServer } from './rcopy-server.ts';
import type { ToolRun } from './rstream.ts';

export interface RcopyFlags {
  readonly p: number;
  readonly into: string;
}

export function rcopyOptions(command = new Command('rcopy')): Command {
  return command
    .description(RCOPY_SUMMARY)
    .argument('[source]', 'client: the file to copy')
    .argument('[destination]', 'client: SERVER or SERVER:NAME, an IPv6 address in brackets')
    .option('-p <port>', 'port', integer(0, 65_535), RCOPY_PORT)
    .option('--into <folder>', 'server: where files go, under the last part of their names', '.');
}

/** @param words source and destination; none for the server */
export function rcopyRun(command: Command, { p: port, into }: RcopyFlags, words: readonly string[]): ToolRun {
  const [source, destination] = words;
  if (source === undefined) return (device, output, signal) => runRcopyServer(device, { port, into, signal }, output);
  const [, server = '', name = source] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(destination ?? '') ?? [];
  if (server === '') command.error('error: the client needs the server to copy to');
  const address = IpAddress.parse(server.replace(/^\[|\]$/g, ''));
  return (device, output, signal) => {
    return runRcopyClient(device, { port, server: address, source, destination: name, signal }, output);
  };
}

export const RCOPY_SUMMARY = 'copies a file over RDMA, client or server; works with rcopy of rdmacm-utils';
