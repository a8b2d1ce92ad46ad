/**
 * Connections by the ABI of rdma_cm between programs that move their queue pairs themselves, as librdmacm does.
 * Method: two devices on a simulated network; the queue pairs are those of files of uverbs.
 */
import { describe, expect, it } from 'vitest';
import * as C from '../../src/uverbs/abi/cm.ts';
import * as Q from '../../src/uverbs/abi/queues.ts';
import { Errno } from '../../src/uverbs/errno.ts';
import { createUverbsServer } from '../../src/uverbs/index.ts';
import { CmProgram, PortSpace, sockaddr } from './support/cm-program.ts';
import { type End, expectEmpty, makeEnds, type Pair, rdma } from './support/ends.ts';
import { fill, pick } from './support/program.ts';

const Event = { AddrResolved: 0, AddrError: 1, RouteResolved: 2, Request: 4, Response: 5, Unreachable: 7, Rejected: 8 };
const Later = { Established: 9, Disconnected: 10, TimewaitExit: 15 };
const PORT = 7174;

interface Setting extends Pair {
  readonly active: CmProgram;
  readonly passive: CmProgram;
}

async function setUp(same = false): Promise<Setting> {
  const pair = await makeEnds({ same });
  const server = createUverbsServer(pair.left.device);
  const other = same ? server : createUverbsServer(pair.right.device);
  return { ...pair, active: new CmProgram(server), passive: new CmProgram(other) };
}

function param(values: Readonly<Record<string, number | Uint8Array>>): Uint8Array {
  const data = values['private_data'];
  const length = data instanceof Uint8Array ? data.length : 0;
  return fill(C.CONN_PARAM, { valid: 1, private_data_len: length, retry_count: 7, rnr_retry_count: 7, ...values });
}

function listen({ passive }: Setting, backlog = 4): number {
  const id = passive.createId(50);
  passive.ok('BIND_IP', C.BIND_IP, { id, addr: sockaddr('0.0.0.0', PORT) });
  passive.ok('LISTEN', C.LISTEN, { id, backlog });
  return id;
}

/** Up to the route, to an address of the peer. */
async function routed({ active, world }: Setting, to = '10.0.0.2', port = PORT): Promise<number> {
  const id = active.createId(60);
  active.ok('RESOLVE_IP', C.RESOLVE_IP, { id, timeout_ms: 2000, dst_addr: sockaddr(to, port) });
  for (let i = 0; i < 50 && active.ready === 0; i++) {
    world.runFor(1e8);
    await world.run(Promise.resolve());
  }
  expect(active.event()).toMatchObject({ uid: 60, id, event: Event.AddrResolved, status: 0 });
  active.ok('RESOLVE_ROUTE', C.RESOLVE_ROUTE, { id });
  expect(active.event()).toMatchObject({ event: Event.RouteResolved });
  return id;
}

/** What the next event of a connection has of its parameters, and the id that it names. */
function parametersRead(cm: CmProgram) {
  const event = cm.ok('GET_EVENT', C.GET_EVENT, {}, C.EVENT_RESP.size);
  const of = (name: string): number => pick(C.CONN_PARAM, event, name, C.EVENT_RESP.at.param);
  const names = ['responder_resources', 'initiator_depth', 'retry_count', 'rnr_retry_count', 'flow_control', 'srq'];
  return { id: pick(C.EVENT_RESP, event, 'id'), parameters: Object.fromEntries(names.map((name) => [name, of(name)])) };
}

/** What INIT_QP_ATTR says of a queue pair that is going to send. */
function attributes(cm: CmProgram, id: number) {
  const attr = cm.ok('INIT_QP_ATTR', C.INIT_QP_ATTR, { id, qp_state: 3 });
  const names = ['retry_cnt', 'rnr_retry', 'max_rd_atomic', 'max_dest_rd_atomic', 'dest_qp_num'];
  return Object.fromEntries(names.map((name) => [name, pick(Q.QP_ATTR, attr, name)]));
}

/** Moves a queue pair by what INIT_QP_ATTR says, as librdmacm does. */
async function move(cm: CmProgram, id: number, { program, qp }: End, ...states: readonly number[]): Promise<void> {
  for (const state of states) {
    const attr = cm.ok('INIT_QP_ATTR', C.INIT_QP_ATTR, { id, qp_state: state });
    const of = (name: string): number => pick(Q.QP_ATTR, attr, name);
    const ah = attr.subarray(Q.QP_ATTR.at.ah_attr, Q.QP_ATTR.at.ah_attr + Q.AH_ATTR.size);
    const dest = fill(Q.QP_DEST, {
      dgid: ah.slice(0, 16),
      ...{ sgid_index: ah[Q.GLOBAL_ROUTE.at.sgid_index] ?? 0, hop_limit: ah[Q.GLOBAL_ROUTE.at.hop_limit] ?? 0 },
      ...{ is_global: ah[Q.AH_ATTR.at.is_global] ?? 0, port_num: ah[Q.AH_ATTR.at.port_num] ?? 0 },
    });
    const same = ['qp_state', 'path_mtu', 'rq_psn', 'sq_psn', 'dest_qp_num', 'qp_access_flags', 'max_rd_atomic'];
    const more = ['max_dest_rd_atomic', 'min_rnr_timer', 'port_num', 'timeout', 'retry_cnt', 'rnr_retry'];
    const values = Object.fromEntries([...same, ...more].map((name) => [name, of(name)]));
    const mask = of('qp_attr_mask');
    await program.ok('MODIFY_QP', Q.MODIFY_QP, { qp_handle: qp.handle, attr_mask: mask, dest, ...values });
  }
}

async function established(
  setting: Setting,
  to = '10.0.0.2',
): Promise<{ client: number; server: number; listener: number }> {
  const { active, passive, left, right, world } = setting;
  const listener = listen(setting);
  const client = await routed(setting, to);
  await move(active, client, left, 1);
  const asked = {
    qp_num: left.qp.qpn,
    private_data: Uint8Array.of(1, 2, 3),
    responder_resources: 4,
    initiator_depth: 3,
  };
  active.ok('CONNECT', C.CONNECT, { id: client, conn_param: param(asked) });
  world.runFor(1e8);
  const request = passive.event();
  expect(request).toMatchObject({ uid: 50, event: Event.Request, status: 0, qpn: left.qp.qpn });
  expect(request?.data.slice(0, 3)).toEqual([1, 2, 3]);
  const server = request?.id ?? 0;
  await move(passive, server, right, 1, 2, 3);
  const granted = { qp_num: right.qp.qpn, private_data: Uint8Array.of(9), responder_resources: 3, initiator_depth: 4 };
  passive.ok('ACCEPT', C.ACCEPT, { id: server, uid: 51, conn_param: param(granted) });
  world.runFor(1e8);
  const response = active.event();
  expect(response).toMatchObject({ uid: 60, event: Event.Response, status: 0, qpn: right.qp.qpn });
  expect(response?.data[0]).toBe(9);
  await move(active, client, left, 2, 3);
  active.ok('ACCEPT', C.ACCEPT, { id: client });
  world.runFor(1e8);
  expect(passive.event()).toMatchObject({ uid: 51, id: server, event: Later.Established, status: 0 });
  return { client, server, listener };
}

async function expectOver(setting: Setting): Promise<void> {
  setting.active.file.close();
  setting.passive.file.close();
  // A refusal is remembered for as long as its request may be repeated.
  setting.world.runFor(200e9);
  for (const { device } of [setting.left, setting.right]) {
    const { listeners, connectionEntries, heldQueuePairNumbers } = device.tables();
    expect({ listeners, connectionEntries, heldQueuePairNumbers }).toEqual({
      ...{ listeners: 0, connectionEntries: 0, heldQueuePairNumbers: 0 },
    });
  }
  await expectEmpty(setting);
}

describe('a connection by rdma_cm', () => {
  it.each([
    ['between two devices', false, '10.0.0.2'],
    ['of a device with itself', true, '10.0.0.1'],
  ])('%s carries data, and ends on both sides', async (_name, same, to) => {
    const setting = await setUp(same);
    const { active, passive, left, right, world } = setting;
    const { client, server } = await established(setting, to);
    left.program.post(left.qp, { wrId: 1, opcode: 0, inline: Uint8Array.of(5), wr: rdma(right.mr, 3) });
    world.runFor(1e8);
    expect([left.program.poll(left.cq)?.status, right.bytes[3]]).toEqual([0, 5]);
    // The passive side moves its queue pair before it accepts: what the request asks for has to be in it by then.
    const into = { addr: left.mr.addr + 9, length: 1, lkey: left.mr.lkey };
    left.program.post(left.qp, { wrId: 2, opcode: 4, sges: [into], wr: rdma(right.mr, 3) });
    world.runFor(1e8);
    expect([left.program.poll(left.cq)?.status, left.bytes[9]]).toEqual([0, 5]);
    active.ok('DISCONNECT', C.DISCONNECT, { id: client });
    world.runFor(1e8);
    expect(active.event()).toMatchObject({ event: Later.Disconnected, status: 0 });
    expect(passive.event()).toMatchObject({ uid: 51, event: Later.Disconnected });
    world.runFor(30e9);
    expect(active.event()).toMatchObject({ event: Later.TimewaitExit });
    const read = (cm: CmProgram, id: number): number =>
      pick(C.DESTROY_ID_RESP, cm.ok('DESTROY_ID', C.DESTROY_ID, { id }), 'events_reported');
    expect(read(active, client)).toBe(5);
    // The request was an event of the listening id; the end of TIMEWAIT was not read.
    expect(read(passive, server)).toBe(2);
    expect(passive.event()).toBeUndefined();
    await expectOver(setting);
  });

  it('is rejected with private data, refused where nobody listens, and given up where nobody answers', async () => {
    const setting = await setUp();
    const { active, passive, left, world } = setting;
    const listener = listen(setting);
    const first = await routed(setting);
    active.ok('CONNECT', C.CONNECT, { id: first, conn_param: param({ qp_num: left.qp.qpn }) });
    world.runFor(1e8);
    const request = passive.event();
    const rejection = { id: request?.id ?? 0, private_data_len: 2, private_data: Uint8Array.of(7, 8) };
    passive.ok('REJECT', C.REJECT, rejection);
    passive.ok('DESTROY_ID', C.DESTROY_ID, { id: listener });
    world.runFor(1e8);
    const rejected = active.event();
    expect(rejected).toMatchObject({ event: Event.Rejected, status: 28 });
    expect(rejected?.data.slice(0, 2)).toEqual([7, 8]);
    active.ok('DESTROY_ID', C.DESTROY_ID, { id: first });
    const second = await routed(setting);
    active.ok('CONNECT', C.CONNECT, { id: second, conn_param: param({ qp_num: left.qp.qpn }) });
    world.runFor(1e8);
    expect(active.event()).toMatchObject({ event: Event.Rejected, status: 8 });
    const lost = active.createId(61);
    active.ok('RESOLVE_IP', C.RESOLVE_IP, { id: lost, dst_addr: sockaddr('10.0.0.77', PORT) });
    world.runFor(10e9);
    await world.run(Promise.resolve());
    expect(active.event()).toMatchObject({ uid: 61, event: Event.AddrError, status: -Errno.EHOSTUNREACH });
    await expectOver(setting);
  });

  it('ends when the file of either side is closed, whatever was read', async () => {
    for (const closing of ['active', 'passive'] as const) {
      const setting = await setUp();
      const other = closing === 'active' ? setting.passive : setting.active;
      await established(setting);
      setting[closing].file.close();
      setting.world.runFor(1e8);
      expect(other.event()).toMatchObject({ event: Later.Disconnected });
      await expectOver(setting);
    }
    const unread = await setUp();
    listen(unread);
    const id = await routed(unread);
    unread.active.ok('CONNECT', C.CONNECT, { id, conn_param: param({ qp_num: unread.left.qp.qpn }) });
    unread.world.runFor(1e8);
    expect(unread.passive.ready).toBe(1);
    unread.passive.file.close();
    unread.world.runFor(1e8);
    expect(unread.active.event()).toMatchObject({ event: Event.Rejected });
    await expectOver(unread);
  });

  it('is what both sides asked for, and each is told what the other wants', async () => {
    const setting = await setUp();
    const { active, passive, left, right, world } = setting;
    listen(setting);
    const client = await routed(setting);
    const asked = { responder_resources: 4, initiator_depth: 3, retry_count: 5, rnr_retry_count: 6, flow_control: 1 };
    active.ok('CONNECT', C.CONNECT, { id: client, conn_param: param({ qp_num: left.qp.qpn, ...asked }) });
    world.runFor(1e8);
    const { id: server, parameters } = parametersRead(passive);
    // Credits would need a queue pair that gives them.
    expect(parameters).toEqual({
      ...{ responder_resources: 3, initiator_depth: 4, retry_count: 5, rnr_retry_count: 6, flow_control: 0, srq: 0 },
    });
    const granted = { responder_resources: 2, initiator_depth: 1, rnr_retry_count: 4, flow_control: 1, srq: 1 };
    const conn_param = param({ qp_num: right.qp.qpn, ...granted });
    passive.ok('ACCEPT', C.ACCEPT, { id: server, uid: 51, conn_param });
    world.runFor(1e8);
    expect(parametersRead(active).parameters).toEqual({
      ...{ responder_resources: 1, initiator_depth: 2, retry_count: 0, rnr_retry_count: 4, flow_control: 0, srq: 1 },
    });
    // Each sends again as often as the active side said; after RNR NAKs as often as the other side said.
    expect(attributes(active, client)).toEqual({
      ...{ retry_cnt: 5, rnr_retry: 4, max_rd_atomic: 2, max_dest_rd_atomic: 1, dest_qp_num: right.qp.qpn },
    });
    expect(attributes(passive, server)).toEqual({
      ...{ retry_cnt: 5, rnr_retry: 6, max_rd_atomic: 1, max_dest_rd_atomic: 2, dest_qp_num: left.qp.qpn },
    });
    await expectOver(setting);
  });

  it('comes by a port that the kernel chose, where nobody has bound the id that listens', async () => {
    const setting = await setUp();
    const { active, passive, left, world } = setting;
    const id = passive.createId(50);
    passive.ok('LISTEN', C.LISTEN, { id, backlog: 4 });
    expect(passive.errno('LISTEN', C.LISTEN, { id, backlog: 4 })).toBe(Errno.EINVAL);
    const route = passive.ok('QUERY_ROUTE', C.CM_QUERY, { id }, C.QUERY_ROUTE_RESP.size);
    const family = new DataView(route.buffer, route.byteOffset).getUint16(C.QUERY_ROUTE_RESP.at.src_addr, true);
    const port = new DataView(route.buffer, route.byteOffset).getUint16(C.QUERY_ROUTE_RESP.at.src_addr + 2);
    expect([family === 0, port > 0]).toEqual([false, true]);
    const client = await routed(setting, '10.0.0.2', port);
    active.ok('CONNECT', C.CONNECT, { id: client, conn_param: param({ qp_num: left.qp.qpn }) });
    world.runFor(1e8);
    expect(passive.event()).toMatchObject({ uid: 50, event: Event.Request });
    await expectOver(setting);
  });

  it('has no claim on the port it came by: that is listened on again while it is there', async () => {
    const setting = await setUp();
    const { passive } = setting;
    const { listener } = await established(setting);
    passive.ok('DESTROY_ID', C.DESTROY_ID, { id: listener });
    listen(setting);
    await expectOver(setting);
  });

  it('moves with its events to another file, and is nobody else’s', async () => {
    const setting = await setUp();
    const { active, world } = setting;
    const id = active.createId(60);
    active.ok('RESOLVE_IP', C.RESOLVE_IP, { id, dst_addr: sockaddr('10.0.0.2', PORT) });
    world.runFor(1e8);
    await world.run(Promise.resolve());
    const other = new CmProgram(createUverbsServer(setting.left.device));
    expect(other.errno('RESOLVE_ROUTE', C.RESOLVE_ROUTE, { id })).toBe(Errno.ENOENT);
    expect(active.errno('RESOLVE_ROUTE', C.RESOLVE_ROUTE, { id: 999 })).toBe(Errno.ENOENT);
    const reply = active.ok('MIGRATE_ID', C.MIGRATE_ID, { id, fd: active.number });
    expect(pick(C.MIGRATE_RESP, reply, 'events_reported')).toBe(0);
    other.file.close();
    await expectOver(setting);
  });
});

describe('commands of rdma_cm', () => {
  it('say where an id is', async () => {
    const setting = await setUp();
    const { active, left, right } = setting;
    const id = await routed(setting);
    const route = active.ok('QUERY_ROUTE', C.CM_QUERY, { id }, C.QUERY_ROUTE_RESP.size);
    expect(pick(C.QUERY_ROUTE_RESP, route, 'num_paths')).toBe(1);
    expect([...route.subarray(8 + 16, 8 + 32)]).toEqual([...left.gid]);
    expect([...route.subarray(C.QUERY_ROUTE_RESP.at.dst_addr, C.QUERY_ROUTE_RESP.at.dst_addr + 8)]).toEqual([
      ...sockaddr('10.0.0.2', PORT).subarray(0, 8),
    ]);
    const query = active.ok('QUERY', C.CM_QUERY, { id, option: 0 }, C.QUERY_ADDR_RESP.size);
    const told = ['src_size', 'dst_size', 'port_num', 'pkey'].map((name) => pick(C.QUERY_ADDR_RESP, query, name));
    expect(told).toEqual([16, 16, 1, 0xff_ff]);
    // As GIDs: struct sockaddr_ib, with family, P_Key in the order of the network, flow label, GID.
    const gids = active.ok('QUERY', C.CM_QUERY, { id, option: 2 }, C.QUERY_ADDR_RESP.size);
    const { src_addr, dst_addr } = C.QUERY_ADDR_RESP.at;
    const ib = (gid: Uint8Array) => [27, 0, 0xff, 0xff, 0, 0, 0, 0, ...gid];
    expect([...gids.subarray(src_addr, src_addr + 24)]).toEqual(ib(left.gid));
    expect([...gids.subarray(dst_addr, dst_addr + 24)]).toEqual(ib(right.gid));
    expect(['src_size', 'dst_size'].map((name) => pick(C.QUERY_ADDR_RESP, gids, name))).toEqual([48, 48]);
    expect(active.errno('QUERY', C.CM_QUERY, { id, option: 3 }, C.QUERY_ADDR_RESP.size)).toBe(Errno.ENOSYS);
    await expectOver(setting);
  });

  it.each(['127.0.0.1', '127.9.9.9'])('do not find %s, which is on no wire', async (to) => {
    const setting = await setUp();
    const { active, world } = setting;
    const id = active.createId(60);
    active.ok('RESOLVE_IP', C.RESOLVE_IP, { id, timeout_ms: 2000, dst_addr: sockaddr(to, PORT) });
    await world.run(Promise.resolve());
    expect(active.event()).toMatchObject({ event: Event.AddrError, status: -Errno.ENODEV });
    await expectOver(setting);
  });

  it('are refused with the errno of the kernel', async () => {
    const setting = await setUp();
    const { passive, active } = setting;
    const listener = listen(setting);
    expect(passive.errno('CREATE_ID', C.CREATE_ID, { ps: PortSpace.Ib })).toBe(Errno.EPROTONOSUPPORT);
    expect(passive.errno('CREATE_ID', C.CREATE_ID, { ps: 7 })).toBe(Errno.EINVAL);
    const id = passive.createId(1);
    const bind = (address: string, port: number): number =>
      passive.errno('BIND_IP', C.BIND_IP, { id, addr: sockaddr(address, port) });
    expect(bind('192.0.2.9', 1)).toBe(Errno.EADDRNOTAVAIL);
    expect(bind('0.0.0.0', PORT)).toBe(Errno.EADDRINUSE);
    expect(bind('10.0.0.2', 0)).toBe(0);
    expect(bind('10.0.0.2', 0)).toBe(Errno.EINVAL);
    expect(passive.errno('CONNECT', C.CONNECT, { id, conn_param: param({}) })).toBe(Errno.EINVAL);
    expect(passive.errno('DISCONNECT', C.DISCONNECT, { id })).toBe(Errno.EINVAL);
    expect(passive.errno('GET_EVENT', C.GET_EVENT, {})).toBe(Errno.EAGAIN);
    expect(passive.errno('GET_EVENT', C.GET_EVENT, {}, 8)).toBe(Errno.ENOSPC);
    expect(active.errno('DESTROY_ID', C.DESTROY_ID, { id: listener + 40 })).toBe(Errno.ENOENT);
    expect(await passive.file.command(new Uint8Array(4))).toMatchObject({ errno: Errno.EINVAL });
    await expectOver(setting);
  });
});
