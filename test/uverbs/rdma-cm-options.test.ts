/**
 * Options of ids of rdma_cm: their values are in the memory of the program. Goal: each takes effect as in the kernel,
 * and is refused as there. Method: an id, SET_OPTION, and what INIT_QP_ATTR and later commands then say.
 */
import { describe, expect, it } from 'vitest';
import * as C from '../../src/uverbs/abi/cm.ts';
import * as Q from '../../src/uverbs/abi/queues.ts';
import { Errno } from '../../src/uverbs/errno.ts';
import { createUverbsServer } from '../../src/uverbs/index.ts';
import { CmProgram, PortSpace, sockaddr } from './support/cm-program.ts';
import { makeEnds, type Pair } from './support/ends.ts';
import { fill, pick } from './support/program.ts';

const Option = { Tos: 0, ReuseAddr: 1, AfOnly: 2, AckTimeout: 3 };
const PORT = 7174;
const RTR = 2;
const RTS = 3;

interface Setting extends Pair {
  readonly active: CmProgram;
  readonly passive: CmProgram;
}

async function setUp(): Promise<Setting> {
  const pair = await makeEnds();
  const programs = [pair.left, pair.right].map(({ device }) => new CmProgram(createUverbsServer(device)));
  const [active, passive] = programs as [CmProgram, CmProgram];
  return { ...pair, active, passive };
}

function set(cm: CmProgram, id: number, optname: number, bytes: readonly number[], more: object = {}): number {
  const optval = cm.memory.alloc(8);
  cm.memory.at(optval, bytes.length).set(bytes);
  return cm.errno('SET_OPTION', C.SET_OPTION, { id, optname, optval, optlen: bytes.length, ...more });
}

function attribute(cm: CmProgram, id: number, state: number, name: keyof typeof Q.QP_ATTR.at): number {
  return pick(Q.QP_ATTR, cm.ok('INIT_QP_ATTR', C.INIT_QP_ATTR, { id, qp_state: state }), name);
}

/** A listener, and the id of a request that has come to it. */
async function requested({ active, passive, left, world }: Setting, options: (id: number) => void): Promise<number[]> {
  const listener = passive.createId(50);
  passive.ok('BIND_IP', C.BIND_IP, { id: listener, addr: sockaddr('0.0.0.0', PORT) });
  passive.ok('LISTEN', C.LISTEN, { id: listener, backlog: 1 });
  const client = active.createId(60);
  active.ok('RESOLVE_IP', C.RESOLVE_IP, { id: client, timeout_ms: 2000, dst_addr: sockaddr('10.0.0.2', PORT) });
  for (let i = 0; i < 50 && active.ready === 0; i++) {
    world.runFor(1e8);
    await world.run(Promise.resolve());
  }
  active.event();
  options(client);
  active.ok('RESOLVE_ROUTE', C.RESOLVE_ROUTE, { id: client });
  active.event();
  const conn_param = fill(C.CONN_PARAM, { valid: 1, qp_num: left.qp.qpn, retry_count: 7, rnr_retry_count: 7 });
  active.ok('CONNECT', C.CONNECT, { id: client, conn_param });
  world.runFor(1e8);
  return [client, passive.event()?.id ?? 0];
}

describe('options of an id', () => {
  it.each([
    // What the kernel makes of each: room for the packet, and for the peer to answer.
    [undefined, 17, 17],
    [21, 21, 21],
    [16, 16, 17],
    [14, 14, 16],
    [5, 5, 15],
    [0, 0, 31],
  ])('an ACK timeout of %s is that of its queue pair, and offers the peer one', async (asked, own, offered) => {
    const setting = await setUp();
    const { active, passive } = setting;
    const [client = 0, server = 0] = await requested(setting, (id) => {
      if (asked !== undefined) expect(set(active, id, Option.AckTimeout, [asked])).toBe(0);
    });
    expect(attribute(active, client, RTS, 'timeout')).toBe(own);
    expect(attribute(passive, server, RTS, 'timeout')).toBe(offered);
    // The other side chooses its own.
    expect(set(passive, server, Option.AckTimeout, [9])).toBe(0);
    expect(attribute(passive, server, RTS, 'timeout')).toBe(9);
  });

  it('a type of service is that of its path, and of the peer', async () => {
    const setting = await setUp();
    const { active, passive } = setting;
    const [client = 0, server = 0] = await requested(setting, (id) => {
      expect(set(active, id, Option.Tos, [0x68])).toBe(0);
    });
    const at = Q.QP_ATTR.at.ah_attr + Q.GLOBAL_ROUTE.at.traffic_class;
    for (const [cm, id] of [
      [active, client],
      [passive, server],
    ] as const)
      expect(cm.ok('INIT_QP_ATTR', C.INIT_QP_ATTR, { id, qp_state: RTR })[at]).toBe(0x68);
  });

  it('a port is shared by those who both say so before they have it', async () => {
    const { passive } = await setUp();
    const [one, two, three] = [passive.createId(1), passive.createId(2), passive.createId(3)];
    for (const id of [one, two]) expect(set(passive, id, Option.ReuseAddr, [1, 0, 0, 0])).toBe(0);
    const addr = sockaddr('10.0.0.2', PORT);
    passive.ok('BIND_IP', C.BIND_IP, { id: one, addr });
    passive.ok('BIND_IP', C.BIND_IP, { id: two, addr });
    expect(passive.errno('BIND_IP', C.BIND_IP, { id: three, addr })).toBe(Errno.EADDRINUSE);
    passive.ok('LISTEN', C.LISTEN, { id: one, backlog: 1 });
    expect(set(passive, one, Option.ReuseAddr, [1, 0, 0, 0])).toBe(Errno.EINVAL);
    expect(set(passive, two, Option.ReuseAddr, [0, 0, 0, 0])).toBe(Errno.EINVAL);
    expect(set(passive, one, Option.AfOnly, [1, 0, 0, 0])).toBe(Errno.EINVAL);
    expect(set(passive, two, Option.AfOnly, [1, 0, 0, 0])).toBe(0);
  });

  it('are refused: another size, memory that is not there, others, of datagrams', async () => {
    const { active } = await setUp();
    const id = active.createId(1);
    expect(set(active, id, Option.Tos, [1, 0])).toBe(Errno.EINVAL);
    expect(set(active, id, Option.AckTimeout, [1, 0, 0, 0])).toBe(Errno.EINVAL);
    expect(set(active, id, Option.ReuseAddr, [1])).toBe(Errno.EINVAL);
    expect(set(active, id, Option.Tos, [1], { optval: 4096 })).toBe(Errno.EFAULT);
    expect(set(active, id, 4, [1])).toBe(Errno.ENOSYS);
    expect(set(active, id, Option.Tos, [1], { level: 1 })).toBe(Errno.ENOSYS);
    expect(set(active, 999, Option.Tos, [1])).toBe(Errno.ENOENT);
    const datagrams = active.createId(2, PortSpace.Udp);
    expect(set(active, datagrams, Option.AckTimeout, [1])).toBe(Errno.EINVAL);
  });
});
