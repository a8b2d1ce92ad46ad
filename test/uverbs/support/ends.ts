/** Two programs on two devices, each with a domain, a region, a completion queue and a queue pair. */
import { expect } from 'vitest';
import { attachDevice, type Device, World } from '../../../src/index.ts';
import * as Q from '../../../src/uverbs/abi/queues.ts';
import { RXE_CREATE_AH_RESP, WR_RDMA } from '../../../src/uverbs/abi/rxe.ts';
import { createUverbsServer, type UverbsServer } from '../../../src/uverbs/index.ts';
import {
  type CqHandle,
  fill,
  type MappedRing,
  type MrHandle,
  Program,
  pick,
  type QpHandle,
  sendWqe,
} from './program.ts';

/** Attribute masks, written anew. */
export const Mask = {
  STATE: 0x1,
  CUR_STATE: 0x2,
  SQD_NOTIFY: 0x4,
  ACCESS: 0x8,
  PKEY: 0x10,
  PORT: 0x20,
  QKEY: 0x40,
  AV: 0x80,
  MTU: 0x100,
  TIMEOUT: 0x200,
  RETRY: 0x400,
  RNR: 0x800,
  RQ_PSN: 0x1000,
  RD: 0x2000,
  ALT_PATH: 0x4000,
  MIN_RNR: 0x8000,
  SQ_PSN: 0x10000,
  DEST_RD: 0x20000,
  DEST: 0x100000,
};

const RC = 2;
const UD = 4;

/** Index of the address 10.0.0.x: 0 is the link-local one. */
export const gidIndex = 1;

export interface End {
  /** Of its queue pair, as the kernel numbers them. */
  readonly type: number;
  readonly device: Device;
  readonly program: Program;
  readonly pd: number;
  readonly mr: MrHandle;
  /** The bytes of the region. */
  readonly bytes: Uint8Array;
  readonly channel: number;
  readonly cq: CqHandle;
  readonly qp: QpHandle;
  readonly srq: { handle: number; ring: MappedRing; srqn: number } | undefined;
  /** The device's address as a GID. */
  readonly gid: Uint8Array;
}

export interface Pair {
  readonly world: World;
  readonly left: End;
  readonly right: End;
  readonly sendWqe: typeof sendWqe;
}

export interface EndOptions {
  /** Of both queue pairs, as the kernel numbers them: RC [2], UC 3, UD 4. */
  readonly type?: number;
  /** The right end takes from a shared receive queue. */
  readonly srq?: boolean;
  /** Both programs use the same device. */
  readonly same?: boolean;
}

export function makeDevice(world: World, id: number): { device: Device; server: UverbsServer } {
  const device = attachDevice(world, `device ${id}`, { addresses: [`10.0.0.${id}/24`], mtu: 1500 });
  return { device, server: createUverbsServer(device) };
}

export function gidOf(id: number): Uint8Array {
  return Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, id);
}

export async function makeEnds({ type = 2, srq = false, same = false }: EndOptions = {}): Promise<Pair> {
  const world = new World({ seed: 1 });
  const first = makeDevice(world, 1);
  const second = same ? first : makeDevice(world, 2);
  const left = await makeEnd(first, type, false, gidOf(1));
  const right = await makeEnd(second, type, srq, gidOf(same ? 1 : 2));
  return { world, left, right, sendWqe };
}

async function makeEnd(
  { device, server }: { device: Device; server: UverbsServer },
  type: number,
  shared: boolean,
  gid: Uint8Array,
): Promise<End> {
  const program = await new Program(server).open();
  const pd = await program.allocPd();
  const mr = await program.regMr(pd, 8192, 0x1f);
  const channel = await program.createChannel();
  const cq = await program.createCq(7, channel, 77n);
  const srq = shared ? await program.createSrq(pd, { user_handle: 5 }) : undefined;
  const of = srq === undefined ? {} : { is_srq: 1, srq_handle: srq.handle };
  const qp = await program.createQp(pd, cq, { qp_type: type, user_handle: 6, ...of });
  const bytes = program.host.memory.at(mr.addr, mr.length);
  return { type, device, program, pd, mr, bytes, channel, cq, qp, srq, gid };
}

/** Brings both queue pairs to RTS, connected to one another where their service is. */
export async function toRts(pair: Pair, { access = 0xf } = {}): Promise<Pair> {
  const { world, left, right } = pair;
  await world.run(Promise.all([bring(left, right, access), bring(right, left, access)]));
  return pair;
}

async function bring({ program, qp, type }: End, peer: End, access: number): Promise<void> {
  const modify = (mask: number, values: Readonly<Record<string, number | Uint8Array>>) =>
    program.ok('MODIFY_QP', Q.MODIFY_QP, { qp_handle: qp.handle, attr_mask: mask | Mask.STATE, ...values });
  const begin = { qp_state: 1, port_num: 1, qp_access_flags: access, qkey: 0x11 };
  await modify(Mask.PKEY | Mask.PORT | (type === UD ? Mask.QKEY : Mask.ACCESS), begin);
  if (type === UD) {
    await modify(0, { qp_state: 2 });
    await modify(Mask.SQ_PSN, { qp_state: 3, sq_psn: 7 });
    return;
  }
  const dest = fill(Q.QP_DEST, { dgid: peer.gid, sgid_index: gidIndex, is_global: 1, port_num: 1 });
  const rtr = { qp_state: 2, dest, dest_qp_num: peer.qp.qpn, path_mtu: 3, rq_psn: 0xfffffe, min_rnr_timer: 1 };
  const toPeer = Mask.AV | Mask.DEST | Mask.MTU | Mask.RQ_PSN;
  await modify(type === RC ? toPeer | Mask.DEST_RD | Mask.MIN_RNR : toPeer, { ...rtr, max_dest_rd_atomic: 4 });
  const rts = { qp_state: 3, sq_psn: 0xfffffe, timeout: 10, retry_cnt: 3, rnr_retry: 2, max_rd_atomic: 4 };
  await modify(type === RC ? Mask.SQ_PSN | Mask.TIMEOUT | Mask.RETRY | Mask.RNR | Mask.RD : Mask.SQ_PSN, rts);
}

/** The union of a WRITE or READ to byte `offset` of the peer's region. */
export function rdma({ addr, rkey }: { addr: number; rkey: number }, offset: number): Uint8Array {
  return fill(WR_RDMA, { remote_addr: addr + offset, rkey });
}

/** Both files are closed, whatever state they are in: nothing is left, neither on the device nor on the host. */
export async function expectEmpty({ world, left, right }: Pair): Promise<void> {
  for (const { program } of [left, right]) program.file.close();
  world.runFor(1e9);
  await world.run(Promise.resolve());
  for (const { program, device } of [left, right]) {
    expect([program.host.rings.size, program.host.events.size]).toEqual([0, 0]);
    const { queuePairs, completionQueues, sharedReceiveQueues, memoryRegions, memoryWindows, keys, timers, nextHops } =
      device.tables();
    expect({
      queuePairs,
      completionQueues,
      sharedReceiveQueues,
      memoryRegions,
      memoryWindows,
      keys,
      timers,
      nextHops,
    }).toEqual({
      ...{ queuePairs: 0, completionQueues: 0, sharedReceiveQueues: 0, memoryRegions: 0, memoryWindows: 0 },
      ...{ keys: 0, timers: 0, nextHops: 0 },
    });
  }
}

/** A struct ib_uverbs_ah_attr that leads to this GID. */
export function attrTo(gid: Uint8Array): Uint8Array {
  const attr = fill(Q.AH_ATTR, { is_global: 1, port_num: 1 });
  attr.set(gid, Q.GLOBAL_ROUTE.at.dgid);
  attr[Q.GLOBAL_ROUTE.at.sgid_index] = gidIndex;
  return attr;
}

/** Makes an address handle to this GID. */
export async function createAh(world: World, { program, pd }: End, gid: Uint8Array) {
  const values = { pd_handle: pd, attr: attrTo(gid) };
  const created = await world.run(program.ok('CREATE_AH', Q.CREATE_AH, values, undefined, RXE_CREATE_AH_RESP.size));
  const number = pick(RXE_CREATE_AH_RESP, created, 'ah_num', Q.CREATE_AH_RESP.size);
  return { handle: pick(Q.CREATE_AH_RESP, created, 'ah_handle'), number };
}
