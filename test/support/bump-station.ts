/** Two devices of ours on unix sockets with a bump between them, all in this process, and a transfer through it. */

import { join } from 'node:path';
import { expect } from 'vitest';
import { defined } from '../../packets/defined.ts';
import type { NotifyOptions } from '../../src/faults/notifier.ts';
import type { WireFaults, WireRule } from '../../src/faults/rule.ts';
import type { Link } from '../../src/ground/link.ts';
import {
  Access,
  type Connection,
  type Cq,
  type Device,
  type MemoryRegion,
  type OpenDevice,
  openDevice,
  type Qp,
  WcStatus,
  WrOpcode,
} from '../../src/index.ts';
import { QemuLink } from '../../src/node/links/qemu.ts';
import type { BumpAccount } from '../../tools/bump/account.ts';
import { type RunningBump, runBump } from '../../tools/bump/run.ts';
import type { CongestionOptions } from '../../transport/congestion/index.ts';
import { type BumpPacket, bumpPackets } from './bump-packets.ts';

const PORT = 7471;
const ALL = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead | Access.RemoteAtomic;
/** Eight packets at the path MTU of 1024 that a link MTU of 1500 gives. */
const MESSAGE_BYTES = 8192;
/** 4.096 us * 2^17 = 0.54 s: a busy machine repeats nothing that was not lost. */
const ACK_TIMEOUT = 17;

let sockets = 0;

export interface StationOptions {
  readonly faults?: WireFaults;
  readonly notify?: boolean | NotifyOptions;
  readonly ipVersion?: 4 | 6;
  /** Code of the ACK timeout; default 0.54 s. */
  readonly ackTimeout?: number;
  readonly trafficClass?: number;
  /** Of both devices. */
  readonly congestion?: CongestionOptions;
  /** Comes between the wire and its end b. */
  readonly around?: (link: Link) => Link;
}

export interface Station {
  readonly running: RunningBump;
  readonly a: Device;
  readonly b: Device;
  readonly capture: string;
  readonly accountPath: string;
  close(): Promise<BumpAccount>;
}

/** Two devices with a bump between them; files go to `directory`. */
export async function openStation(
  directory: string,
  rules: readonly WireRule[],
  { faults = {}, notify = false, congestion, around = (link) => link }: StationOptions = {},
): Promise<Station> {
  const name = `${sockets++}`;
  const paths = [join(directory, `${name}a`), join(directory, `${name}b`)] as const;
  const capture = join(directory, `${name}.pcapng`);
  const accountPath = join(directory, `${name}.json`);
  const [a, b] = [new QemuLink({ path: paths[0] }), new QemuLink({ path: paths[1] })];
  const running = await runBump({ a, b: around(b), rules, faults, notify, seed: 7, capturePath: capture, accountPath });
  const open = (id: 1 | 2): Promise<OpenDevice> =>
    openDevice({
      link: `qemu:${paths[id === 1 ? 0 : 1]},connect`,
      addresses: [`10.0.0.${id}/24`, `fd00::${id}/64`],
      ...defined({ congestion }),
    });
  const opened = [await open(1), await open(2)] as const;
  const close = async (): Promise<BumpAccount> => {
    await Promise.all(opened.map((device) => device.close()));
    return running.stop();
  };
  return { running, a: opened[0].device, b: opened[1].device, capture, accountPath, close };
}

export interface Connected {
  readonly qp: Qp;
  readonly cq: Cq;
  readonly local: MemoryRegion;
  readonly remote: MemoryRegion;
  readonly active: Connection;
}

export async function connect(
  { a, b }: Station,
  { ipVersion = 4, trafficClass, ackTimeout = ACK_TIMEOUT }: StationOptions,
): Promise<Connected> {
  const side = (device: Device) => {
    const pd = device.allocPd();
    const cq = device.createCq(64);
    return { qp: pd.createQp({ sendCq: cq, recvCq: cq }), mr: pd.regMr(MESSAGE_BYTES, { access: ALL }), cq };
  };
  const left = side(a);
  const right = side(b);
  const listener = b.cm.listen(PORT);
  const accepting = listener.next().then(({ value, done }) => {
    if (done === true) throw new Error('the listener was closed');
    return value.accept({ qp: right.qp });
  });
  const address = ipVersion === 4 ? '10.0.0.2' : 'fd00::2';
  const tunables = { ackTimeout, ...defined({ trafficClass }) };
  const [active] = await Promise.all([a.cm.connect({ address, port: PORT, qp: left.qp, ...tunables }), accepting]);
  listener.close();
  return { qp: left.qp, cq: left.cq, local: left.mr, remote: right.mr, active };
}

/** Posts one work request and awaits its success; the bytes of the two regions must be equal then. */
export async function transfer({ qp, cq, local, remote }: Connected, opcode: 'write' | 'read'): Promise<void> {
  const [from, to] = opcode === 'write' ? [local, remote] : [remote, local];
  from.bytes.forEach((_, at) => {
    from.bytes[at] = (at * 7 + (at >> 8)) & 0xff;
  });
  to.bytes.fill(0);
  qp.postSend({
    wrId: 1,
    opcode: opcode === 'write' ? WrOpcode.RdmaWrite : WrOpcode.RdmaRead,
    sges: [{ mr: local }],
    remoteAddr: remote.iova,
    rkey: remote.rkey,
  });
  const { value, done } = await cq.next();
  if (done === true) throw new Error('the device was closed');
  expect(value.status).toBe(WcStatus.Success);
  expect(Buffer.compare(to.bytes, from.bytes)).toBe(0);
}

export interface Outcome {
  readonly account: BumpAccount;
  readonly packets: readonly BumpPacket[];
  readonly capture: string;
}

/** Lets device a transfer once through a bump with these rules. */
export async function runTransfer(
  directory: string,
  opcode: 'write' | 'read',
  rules: readonly WireRule[],
  options: StationOptions = {},
): Promise<Outcome> {
  const station = await openStation(directory, rules, options);
  const { capture } = station;
  let account: BumpAccount;
  try {
    const connected = await connect(station, options);
    await transfer(connected, opcode);
    await connected.active.disconnect();
  } finally {
    account = await station.close();
  }
  return { account, packets: await bumpPackets(capture, account), capture };
}
