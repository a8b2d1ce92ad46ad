/**
 * What tests of links between two namespaces have in common: the links, devices over them, and programs beside them.
 */

import { spawnSync } from 'node:child_process';
import { networkInterfaces } from 'node:os';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { defined } from '../../../packets/defined.ts';
import type { RoceError } from '../../../packets/errors.ts';
import type { Link, LinkSink } from '../../../src/ground/link.ts';
import { type Connection, type OpenDevice, openDevice, QpState, WcStatus, WrOpcode } from '../../../src/index.ts';
import { openLink } from '../../../src/node/links/index.ts';
import { makeNetnsPair, type Netns, type NetnsPair } from '../../../tools/netns.ts';
import { makeSide, PORT, type Side } from '../../device/support.ts';
import { Collector } from '../../sim/support.ts';
import { within } from '../../support/netns.ts';
import type { LinkPair } from './compliance.ts';

/** Addresses as the compliance suite takes them. */
export const V4 = ['10.99.0.1', '10.99.0.2'] as const;
export const V6 = ['fd99::1', 'fd99::2'] as const;

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turn();
}

/** A pair whose interfaces have seen each other: before that, the system shows none of their addresses. */
export async function settledPair(options: { readonly mtu?: number } = {}): Promise<NetnsPair> {
  const netns = makeNetnsPair(options);
  for (const end of [netns.a, netns.b])
    await within(end, () => until(() => networkInterfaces()[end.device] !== undefined));
  return netns;
}

/** Two links of one kind, one in each of two namespaces made for them. */
export function netnsPair<L extends Link>(
  spec: string,
  addresses: readonly [string, string],
  ready: (links: readonly [L, L]) => Promise<void>,
) {
  return async (): Promise<LinkPair> => {
    const netns = await settledPair();
    const open = (where: Netns): Promise<L> => within(where, () => Promise.resolve(openLink(spec) as L));
    const a = await open(netns.a);
    const b = await open(netns.b);
    return {
      a,
      b,
      addresses,
      start: (link, start) => within(link === a ? netns.a : netns.b, start),
      ready: () => ready([a, b]),
      pump: turn,
      dispose: () => Promise.resolve(netns.remove()),
    };
  };
}

/**
 * A veth interface queues what it receives on the processor that sends, and a shaper sends on either: what went out
 * later could arrive first. For slow wires only, for the queue of the one processor is short.
 */
export function receiveOnOneProcessor({ device, exec }: Netns): void {
  exec('sh', '-c', `echo 1 > /sys/class/net/${device}/queues/rx-0/rps_cpus`);
}

/** Counts what comes in and remembers how the link ended. */
export class Watcher extends Collector implements LinkSink {
  error: RoceError | undefined;

  override closed(error?: RoceError): void {
    super.closed();
    this.error = error;
  }
}

export async function withNetns(test: (netns: NetnsPair) => Promise<void>): Promise<void> {
  const netns = await settledPair();
  try {
    await test(netns);
  } finally {
    netns.remove();
  }
}

/** Starts a link in a namespace. */
export async function startLink(where: Netns, spec: string): Promise<{ link: Link; sink: Watcher }> {
  const sink = new Watcher();
  const link = await within(where, async () => {
    const opened = openLink(spec);
    await opened.start(sink);
    return opened;
  });
  return { link, sink };
}

export interface DevicePair {
  readonly a: OpenDevice;
  readonly b: OpenDevice;
}

/**
 * Runs `test` with a device over a link of `spec` in each namespace; `addresses` for links that do not share the
 * kernel's.
 */
export function withDevices(
  spec: string,
  addresses: readonly [readonly string[], readonly string[]] | undefined,
  test: (devices: DevicePair, netns: NetnsPair) => Promise<void>,
): Promise<void> {
  return withNetns(async (netns) => {
    const open = (where: Netns, ours: readonly string[] | undefined): Promise<OpenDevice> =>
      within(where, () => openDevice({ link: spec, ...defined({ addresses: ours }) }));
    const a = await open(netns.a, addresses?.[0]);
    const b = await open(netns.b, addresses?.[1]);
    try {
      await test({ a, b }, netns);
    } finally {
      await Promise.all([a.close(), b.close()]);
    }
  });
}

export interface Sides {
  readonly left: Side;
  readonly right: Side;
  readonly active: Connection;
}

/** Connects from `a` to `address` of `b` through the connection manager. */
export async function connectDevices({ a, b }: DevicePair, address: string): Promise<Sides> {
  const left = makeSide(a.device);
  const right = makeSide(b.device);
  const listener = b.device.cm.listen(PORT);
  const accepting = listener.next().then(({ value }) => value.accept({ qp: right.qp }));
  const connecting = a.device.cm.connect({ address, port: PORT, qp: left.qp });
  const [active] = await Promise.all([connecting, accepting]);
  listener.close();
  expect([left.qp.state, right.qp.state]).toEqual([QpState.Rts, QpState.Rts]);
  return { left, right, active };
}

/** Connects, and writes `bytes` bytes into the memory of each other. */
export async function writeBothWays(devices: DevicePair, address: string, bytes = 50_000): Promise<void> {
  const { left, right, active } = await connectDevices(devices, address);
  await writeTo(left, right, bytes, 7);
  await writeTo(right, left, bytes, 11);
  await active.disconnect();
}

async function writeTo(from: Side, to: Side, bytes: number, factor: number): Promise<void> {
  for (let i = 0; i < bytes; i++) from.mr.bytes[i] = i * factor;
  from.qp.postSend({
    wrId: 1,
    opcode: WrOpcode.RdmaWrite,
    sges: [{ mr: from.mr, length: bytes }],
    remoteAddr: to.mr.iova,
    rkey: to.mr.rkey,
  });
  const { value } = await from.cq.next();
  expect(value.status).toBe(WcStatus.Success);
  expect(Buffer.compare(to.mr.bytes.subarray(0, bytes), from.mr.bytes.subarray(0, bytes))).toBe(0);
}

export interface Elsewhere {
  /** What comes before node. */
  readonly prefix?: readonly string[];
  readonly inWorker?: boolean;
  /** A package that is not to be found. */
  readonly without?: string;
}

/** What a process of its own prints that starts a link of `spec`: 'started', or the code and message of the error. */
export function startElsewhere(spec: string, { prefix = [], inWorker = false, without }: Elsewhere): string {
  const words = [...prefix, process.execPath, '--import', 'tsx', STARTER, spec, ...(inWorker ? ['worker'] : [])];
  const [program = '', ...rest] = words;
  // The options of the environment reach the processes that a link starts, too.
  const env = without === undefined ? process.env : { ...process.env, NODE_OPTIONS: `--import=${hiding(without)}` };
  const { stdout, stderr } = spawnSync(program, rest, { cwd: ROOT, encoding: 'utf8', env });
  return `${stdout}${stderr}`.trim();
}

/** A module that keeps a package from being found. */
function hiding(name: string): string {
  const words = `Cannot find package '${name}'`;
  const hook = `export const resolve = (specifier, context, next) => {
    if (specifier === '${name}') throw new Error(${JSON.stringify(words)});
    return next(specifier, context);
  };`;
  return dataUrl(`import { register } from 'node:module'; register(${JSON.stringify(dataUrl(hook))});`);
}

function dataUrl(program: string): string {
  return `data:text/javascript,${encodeURIComponent(program)}`;
}

/** Runs what follows as root without the right to raw sockets. */
export const UNPRIVILEGED = ['setpriv', '--bounding-set', '-net_raw', '--inh-caps', '-net_raw'] as const;

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const STARTER = fileURLToPath(new URL('./link-starter.ts', import.meta.url));
