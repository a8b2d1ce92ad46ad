/**
 * Two hosts for programs of the table, and a wire between them that is a network interface, for programs meet over TCP:
 * two namespaces and a veth, or a namespace and a guest with rdma_rxe. Owns their making and removal, the devices in
 * the namespaces, and how a run between them is judged.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Guest } from '../../lab/guest.ts';
import { buildImage } from '../../lab/image.ts';
import type { KernelLabel } from '../../lab/recipe.ts';
import { ip, makeNetnsPair, makeTapNetns, type Netns } from '../../netns.ts';
import { within } from '../../within-netns.ts';
import { type ServedFlags, withServer } from '../served.ts';
import { exitFault, type ProgramCase } from './case.ts';
import { guestHost } from './guest-host.ts';
import { type OwnHost, ownHost, type ProgramHost } from './host.ts';
import { type Conversation, converse, spread } from './run-between.ts';
import { type CaseOutcome, judgeCapture, lateRequests, NOTHING_LOST } from './run-case.ts';

/** Two hosts that are there. */
export interface ProgramStage {
  /** Names of what was made: namespaces, and a TAP. */
  readonly made: readonly string[];
  /** Runs a program, with the server here or there. Its capture is ours, or that of our first host. */
  run(one: ProgramCase, directory: string, serverIs: Side): Promise<CaseOutcome>;
  close(): Promise<void>;
}

/** Our host, our first one, or the other. */
export type Side = 'here' | 'there';

/** Two namespaces, each with a device of its own. */
export async function openVeth(shim: string, until?: AbortSignal): Promise<ProgramStage> {
  const pair = makeNetnsPair();
  for (const { name } of [pair.a, pair.b]) silenceKernel(name);
  const at = (netns: Netns): Place => ({ netns, shim, until });
  return {
    made: [pair.a.name, pair.b.name],
    run: (one, directory, serverIs) =>
      judged(one, directory, (capture) =>
        onHost(at(pair.a), directory, wireOf(one, capture, serverIs), (here) =>
          onHost(at(pair.b), directory, {}, async (there) => {
            const came = await between(one, { here, there }, serverIs);
            return { ...came, lost: lostOf([here, there]) };
          }),
        ),
      ),
    close: async () => pair.remove(),
  };
}

/** A namespace with a device, and a guest. Boots the guest. Rejects as `buildImage` and `Guest` do. */
export async function openGuest(
  kernel: KernelLabel,
  shim: string,
  until?: AbortSignal,
): Promise<ProgramStage & { release: string }> {
  const image = await buildImage(kernel, { userland: 'mpi' });
  const wire = makeTapNetns();
  const { tap } = wire;
  let guest: Guest | undefined;
  const close = async (): Promise<void> => {
    await guest?.stop();
    wire.remove();
  };
  try {
    const addresses = [`${THERE_4}/24`, `${THERE_6}/64`];
    const booted = await Guest.boot({ image, tap, addresses, mtu: MTU, memoryMiB: 1024, signal: until });
    guest = booted;
    wire.moveTap();
    const here = configure(wire.name, tap);
    const there = await guestHost(booted, THERE_4, THERE_6);
    const run: ProgramStage['run'] = (one, directory, serverIs) =>
      judged(one, directory, (capture) =>
        onHost({ netns: here, shim, until }, directory, wireOf(one, capture, serverIs), async (host) => {
          const came = await between(one, { here: host, there }, serverIs);
          if (serverIs === 'there' && one.check !== undefined)
            await bringFiles(booted, there, join(directory, 'files'));
          return { ...came, lost: repairsOf(host) };
        }),
      );
    return { made: [wire.name, tap], run, close, release: booted.release };
  } catch (error) {
    await close();
    throw error;
  }
}

function configure(name: string, tap: string): Netns {
  silenceKernel(name);
  const [ipv4, ipv6] = [`${HERE_4}/24`, `${HERE_6}/64`];
  ip('-n', name, 'link', 'set', tap, 'address', HERE_MAC, 'mtu', String(MTU), 'up');
  ip('-n', name, 'address', 'add', ipv4, 'dev', tap);
  ip('-n', name, 'address', 'add', ipv6, 'dev', tap, 'nodad');
  const prefix = ['ip', 'netns', 'exec', name];
  return { name, device: tap, mac: HERE_MAC, ipv4, ipv6, prefix, exec: () => '' };
}

/** The kernel has the device's addresses and nobody at the port of RoCE: it would say so by ICMP now and then. */
function silenceKernel(netns: string): void {
  const never = ['ipv4/icmp_ratelimit', 'ipv6/icmp/ratelimit'].map(
    (name) => `echo ${2 ** 31 - 1} > /proc/sys/net/${name}`,
  );
  execFileSync('ip', ['netns', 'exec', netns, 'sh', '-c', never.join(' && ')]);
}

/** What the wire of our first host does, and where it is captured. */
function wireOf({ loss, asksEarly = false }: ProgramCase, capture: string, serverIs: Side): ServedFlags {
  return {
    write: capture,
    ...(loss === undefined ? {} : { loss: { 'a-to-b': loss, 'b-to-a': loss } }),
    ...(asksEarly ? lateRequests(serverIs === 'here' ? 'b-to-a' : 'a-to-b') : {}),
  };
}

/** Where programs of ours run, and until when at the latest. */
interface Place {
  readonly netns: Netns;
  readonly shim: string;
  readonly until: AbortSignal | undefined;
}

/** Opens a device on the interface of a namespace, which has the addresses of its kernel, and serves it. */
async function onHost<T>(
  { netns, shim, until }: Place,
  directory: string,
  wire: ServedFlags,
  use: (host: OwnHost) => Promise<T>,
): Promise<T> {
  const flags = {
    link: `packet-ring:${netns.device}`,
    mac: netns.mac,
    ip: [netns.ipv4, netns.ipv6, `${linkLocal(netns.mac)}/64`],
    ...wire,
  };
  const socket = join(directory, `${netns.name}.sock`);
  let opened = (): void => undefined;
  const isOpen = new Promise<void>((resolve) => {
    opened = resolve;
  });
  let running: Promise<T> | undefined;
  await within(netns, async () => {
    running = withServer(flags, socket, (served, device) => {
      opened();
      return use(ownHost(netns, shim, { served, device }, join(directory, 'files'), until));
    });
    await Promise.race([isOpen, running]);
  });
  return running as Promise<T>;
}

/** Packets that one of them has sent and the other has not received. */
function lostOf(hosts: readonly OwnHost[]): number {
  return hosts.reduce((sum, { portCounters: { sentPkts, rcvdPkts } }) => sum + sentPkts - rcvdPkts, 0);
}

/** What one of two hosts has seen of losses: nothing tells how many packets a guest has sent. */
export function repairsOf({ portCounters }: Pick<OwnHost, 'portCounters'>): number {
  const { retransmittedPkts, duplicateRequest, outOfSeqRequest, impliedNakSeqErr } = portCounters;
  return retransmittedPkts + duplicateRequest + outOfSeqRequest + impliedNakSeqErr;
}

function between(one: ProgramCase, hosts: Readonly<Record<Side, ProgramHost>>, serverIs: Side): Promise<Conversation> {
  if (one.lines.length === 1) return spread(one, hosts.here, hosts.there);
  return converse(one, hosts[serverIs], hosts[serverIs === 'here' ? 'there' : 'here']);
}

async function judged(
  one: ProgramCase,
  directory: string,
  run: (capture: string) => Promise<Conversation & { readonly lost?: number }>,
): Promise<CaseOutcome> {
  mkdirSync(join(directory, 'files'), { recursive: true });
  const capture = join(directory, 'wire.pcapng');
  const { code, printed, lost } = await run(capture);
  const faults = exitFault(one, code);
  if (!one.prints.test(printed)) faults.push(`it does not print ${one.prints}`);
  if (one.loss !== undefined && lost === 0) faults.push(NOTHING_LOST);
  const wrong = one.check?.(join(directory, 'files'));
  if (wrong !== undefined) faults.push(wrong);
  if (code === undefined) rmSync(capture);
  const seen = code === undefined ? { frames: 0, roceFrames: 0 } : judgeCapture(one, capture, faults);
  return { case: one, faults, printed, capture, ...seen };
}

async function bringFiles(guest: Guest, { directory }: ProgramHost, to: string): Promise<void> {
  const { stdout } = await guest.run(`ls ${directory}`);
  for (const name of stdout.split('\n').filter((line) => line !== ''))
    writeFileSync(join(to, name), await guest.readFile(join(directory, name)));
}

/** GID 0 of a device, by its MAC address (EUI-64). */
function linkLocal(mac: string): string {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = mac.split(':').map((digits) => Number.parseInt(digits, 16));
  const words = [((a ^ 2) << 8) | b, (c << 8) | 0xff, 0xfe_00 | d, (e << 8) | f];
  return `fe80::${words.map((word) => word.toString(16)).join(':')}`;
}

/** For packets of 4 KiB: an emulated processor takes its time for each. */
const MTU = 4200;
const HERE_MAC = '02:99:00:00:00:01';
const [HERE_4, HERE_6, THERE_4, THERE_6] = ['10.99.0.1', 'fd99::1', '10.99.0.2', 'fd99::2'];
