/**
 * The cases of the interop matrix: stock tools of rdmacm-utils in an rdma_rxe guest against our side of the same conversation,
 * in both roles. A case throws when anything differs from success.
 */
import { IpAddress } from '../../src/index.ts';
import type { RunResult } from '../lab/guest.ts';
import { runRpingClient } from '../rping/client.ts';
import { RPING_PORT } from '../rping/protocol.ts';
import { runRpingServer } from '../rping/server.ts';
import type { RpingOutput } from '../rping/session.ts';
import { runRdmaClient, runRdmaServer } from './rdma-pair.ts';
import {
  COMMAND_TIMEOUT_MS,
  GUEST_IPV4,
  GUEST_IPV6,
  OUR_IPV4,
  OUR_IPV6,
  type PathMtu,
  type Station,
} from './station.ts';
import { rpingFault } from './stock-rping.ts';
import { runUcmatoseClient, runUcmatoseServer } from './ucmatose.ts';

export interface InteropCase {
  readonly tool: string;
  /** What the guest is. */
  readonly guest: 'client' | 'server';
  readonly ip: 4 | 6;
  readonly mtu: PathMtu;
  /** What the stock tool was called with. */
  readonly command: string;
  readonly run: (station: Station) => Promise<void>;
}

/** Default port of ucmatose, rdma_server and rdma_client. */
const RDMA_PORT = 7471;
const RPING = { port: RPING_PORT, count: 5, size: 3000, verbose: true } as const;
const UCMATOSE = { connections: 2, messages: 3, messageBytes: 2000 } as const;

export function interopCases(mtu: PathMtu): InteropCase[] {
  return [
    ...([4, 6] as const).flatMap((ip) => [rpingServer(mtu, ip), rpingClient(mtu, ip)]),
    ucmatoseServer(mtu),
    ucmatoseClient(mtu),
    rdmaServer(mtu),
    rdmaClient(mtu),
  ];
}

export function caseName({ tool, guest, ip, mtu }: InteropCase): string {
  return `${tool}-guest-${guest}-ipv${ip}-mtu${mtu}`;
}

function rpingServer(mtu: PathMtu, ip: 4 | 6): InteropCase {
  const address = ip === 4 ? GUEST_IPV4 : GUEST_IPV6;
  const command = `rping -s -a ${address} -C ${RPING.count} -S ${RPING.size} -v -V`;
  const ours = (station: Station) => (output: RpingOutput) =>
    runRpingClient(station.device, { address: IpAddress.parse(address), ...RPING, validate: true }, output);
  const run = (station: Station) => guestServes(station, command, RPING_PORT, () => pings(ours(station)), pingedWell);
  return { tool: 'rping', guest: 'server', ip, mtu, command, run };
}

function rpingClient(mtu: PathMtu, ip: 4 | 6): InteropCase {
  const address = ip === 4 ? OUR_IPV4 : OUR_IPV6;
  // A ping of a full packet first: who cannot be reached by that has no business with RDMA.
  const command = `ping -c 2 -s ${mtu} ${address} && rping -c -a ${address} -C ${RPING.count} -S ${RPING.size} -v -V`;
  const ours = (station: Station) => (output: RpingOutput) => runRpingServer(station.device, RPING, output);
  const run = (station: Station) => guestConnects(station, command, () => pings(ours(station)), pingedWell);
  return { tool: 'rping', guest: 'client', ip, mtu, command, run };
}

function ucmatoseServer(mtu: PathMtu): InteropCase {
  const { connections, messages, messageBytes } = UCMATOSE;
  const command = `ucmatose -c ${connections} -C ${messages} -S ${messageBytes}`;
  const run = (station: Station) =>
    guestServes(station, command, RDMA_PORT, () => runUcmatoseClient(station.device, GUEST_IPV4, UCMATOSE));
  return { tool: 'ucmatose', guest: 'server', ip: 4, mtu, command, run };
}

function ucmatoseClient(mtu: PathMtu): InteropCase {
  const { connections, messages, messageBytes } = UCMATOSE;
  const command = `ucmatose -s ${OUR_IPV4} -c ${connections} -C ${messages} -S ${messageBytes}`;
  const run = (station: Station) => guestConnects(station, command, () => runUcmatoseServer(station.device, UCMATOSE));
  return { tool: 'ucmatose', guest: 'client', ip: 4, mtu, command, run };
}

function rdmaServer(mtu: PathMtu): InteropCase {
  const command = `rdma_server -p ${RDMA_PORT}`;
  const run = (station: Station) =>
    guestServes(station, command, RDMA_PORT, () => runRdmaClient(station.device, GUEST_IPV4, RDMA_PORT));
  return { tool: 'rdma_server', guest: 'server', ip: 4, mtu, command, run };
}

function rdmaClient(mtu: PathMtu): InteropCase {
  const command = `rdma_client -s ${OUR_IPV4} -p ${RDMA_PORT}`;
  const run = (station: Station) => guestConnects(station, command, () => runRdmaServer(station.device, RDMA_PORT));
  return { tool: 'rdma_client', guest: 'client', ip: 4, mtu, command, run };
}

/** Runs our side of rping, which must print every ping and end with exit code 0. */
async function pings(run: (output: RpingOutput) => Promise<number>): Promise<void> {
  const lines: string[] = [];
  const complaints: string[] = [];
  const code = await run({ line: (text) => lines.push(text), complaint: (text) => complaints.push(text) });
  if (code !== 0) throw new Error(`our rping ended with exit code ${code}\n${complaints.join('\n')}`);
  const seen = lines.filter((line) => /ping data: rdma-ping-\d+: /.test(line)).length;
  if (seen !== RPING.count) throw new Error(`our rping saw ${seen} of ${RPING.count} pings\n${lines.join('\n')}`);
}

/** The guest listens, ours connects; the stock tool must end well by itself. */
async function guestServes(
  station: Station,
  command: string,
  port: number,
  ours: () => Promise<unknown>,
  faultOf: FaultOf = endedWell,
): Promise<void> {
  const job = await station.serve(command, port);
  try {
    await within(ours(), `our client against "${command}"`);
    demand(command, faultOf(await job.wait(COMMAND_TIMEOUT_MS)));
  } finally {
    await job.kill('KILL');
  }
}

/** Ours listens, the guest connects. */
async function guestConnects(
  station: Station,
  command: string,
  ours: () => Promise<unknown>,
  faultOf: FaultOf = endedWell,
): Promise<void> {
  const served = within(ours(), `our server against "${command}"`);
  const failed = served.then(
    () => new Promise<never>(() => {}),
    (error: unknown) => Promise.reject(error),
  );
  const ended = station.guest.run(command, { timeoutMs: COMMAND_TIMEOUT_MS });
  demand(command, faultOf(await Promise.race([ended, failed])));
  await served;
}

/** What is wrong with how a guest's program ended; empty when nothing is. */
type FaultOf = (result: RunResult) => string;

const endedWell: FaultOf = ({ code, stdout, stderr }) => (code === 0 ? '' : `exit code ${code}\n${stdout}${stderr}`);
const pingedWell: FaultOf = (result) => rpingFault(result, RPING.count);

function demand(command: string, fault: string): void {
  if (fault !== '') throw new Error(`guest: ${command}: ${fault}`);
}

/** A conversation that never ends is a failure with a name. */
export async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`${what} did not end within ${COMMAND_TIMEOUT_MS / 1000} s`)),
      COMMAND_TIMEOUT_MS,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
