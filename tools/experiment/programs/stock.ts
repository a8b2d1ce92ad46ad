/**
 * Programs with the names and options of those in rdmacm-utils that they speak to: rping, ucmatose, rdma_server,
 * rdma_client.
 */
import type { Command } from 'commander';
import { integer } from '../../options.ts';
import { addRpingOptions, chooseRole, type RpingFlags } from '../../rping/main.ts';
import { type Program, program } from './program.ts';
import { runRdmaClient, runRdmaServer } from './rdma-pair.ts';
import { runUcmatoseClient, runUcmatoseServer } from './ucmatose.ts';

export const rping: Program = program({
  name: 'rping',
  summary: 'RDMA ping-pong, as rping of rdmacm-utils; the options are those of `roce rping` without its link',
  options: addRpingOptions,
  run: ({ device, output, signal }, flags: RpingFlags, command) => chooseRole(command, flags)(device, output, signal),
});

interface UcmatoseFlags {
  readonly s?: string;
  readonly c: number;
  readonly C: number;
  readonly S: number;
  readonly p: number;
}

export const ucmatose: Program = program({
  name: 'ucmatose',
  summary: 'connections that exchange messages, as ucmatose of rdmacm-utils',
  options: (command) =>
    command
      .option('-s <address>', 'connect to this server; without it, be one')
      .option('-c <count>', 'connections', integer(1, 1000), 1)
      .option('-C <count>', 'messages of each connection and direction', integer(0, 10_000), 10)
      .option('-S <bytes>', 'bytes of a message', integer(1, 1 << 20), 100)
      .option('-p <port>', 'port', integer(1, 65_535), RDMA_PORT),
  run: async ({ device, output }, { s, c, C, S, p }: UcmatoseFlags) => {
    const options = { connections: c, messages: C, messageBytes: S, port: p };
    const run = s === undefined ? runUcmatoseServer(device, options) : runUcmatoseClient(device, s, options);
    const { sent, received } = await run;
    output.line(`${sent} messages sent, ${received} received`);
    return 0;
  },
});

interface RdmaFlags {
  readonly s: string;
  readonly p: number;
}

export const rdmaServer: Program = program({
  name: 'rdma_server',
  summary: 'takes 16 bytes and answers with as many, as rdma_server of rdmacm-utils',
  options: portOption,
  run: async ({ device }, { p }: RdmaFlags) => {
    await runRdmaServer(device, p);
    return 0;
  },
});

export const rdmaClient: Program = program({
  name: 'rdma_client',
  summary: 'sends 16 bytes and waits for as many, as rdma_client of rdmacm-utils',
  options: (command) => portOption(command).requiredOption('-s <address>', 'the server'),
  run: async ({ device }, { s, p }: RdmaFlags) => {
    await runRdmaClient(device, s, p);
    return 0;
  },
});

function portOption(command: Command): Command {
  return command.option('-p <port>', 'port', integer(1, 65_535), RDMA_PORT);
}

const RDMA_PORT = 7471;
