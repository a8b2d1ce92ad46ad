/**
 * Datagram services and groups by the ABI of rdma_cm (RDMA_PS_UDP): lookups by SIDR, joins. Method: two devices on a
 * simulated network.
 */
import { describe, expect, it } from 'vitest';
import { RDMA_UDP_QKEY } from '../../packets/cm/index.ts';
import * as C from '../../src/uverbs/abi/cm.ts';
import * as Q from '../../src/uverbs/abi/queues.ts';
import { Errno } from '../../src/uverbs/errno.ts';
import { createUverbsServer } from '../../src/uverbs/index.ts';
import { CmProgram, PortSpace, sockaddr } from './support/cm-program.ts';
import { expectEmpty, makeEnds, type Pair } from './support/ends.ts';
import { fill, pick } from './support/program.ts';

const Event = { AddrResolved: 0, RouteResolved: 2, Request: 4, Unreachable: 7, Established: 9, Join: 12 };
const PORT = 7174;

interface Setting extends Pair {
  readonly active: CmProgram;
  readonly passive: CmProgram;
}

async function setUp(): Promise<Setting> {
  const pair = await makeEnds({ type: 4 });
  const active = new CmProgram(createUverbsServer(pair.left.device));
  return { ...pair, active, passive: new CmProgram(createUverbsServer(pair.right.device)) };
}

function listen({ passive }: Setting, backlog = 4): number {
  const id = passive.createId(50, PortSpace.Udp);
  passive.ok('BIND_IP', C.BIND_IP, { id, addr: sockaddr('0.0.0.0', PORT) });
  passive.ok('LISTEN', C.LISTEN, { id, backlog });
  return id;
}

async function ask({ active, world }: Setting, data: Uint8Array): Promise<number> {
  const id = active.createId(60, PortSpace.Udp);
  active.ok('RESOLVE_IP', C.RESOLVE_IP, { id, timeout_ms: 2000, dst_addr: sockaddr('10.0.0.2', PORT) });
  for (let i = 0; i < 50 && active.ready === 0; i++) {
    world.runFor(1e8);
    await world.run(Promise.resolve());
  }
  expect(active.event()).toMatchObject({ event: Event.AddrResolved, status: 0 });
  active.ok('RESOLVE_ROUTE', C.RESOLVE_ROUTE, { id });
  expect(active.event()).toMatchObject({ event: Event.RouteResolved });
  active.ok('CONNECT', C.CONNECT, { id, conn_param: param(data, {}) });
  world.runFor(1e8);
  return id;
}

function param(data: Uint8Array, values: Readonly<Record<string, number>>): Uint8Array {
  return fill(C.CONN_PARAM, { valid: 1, private_data: data, private_data_len: data.length, ...values });
}

async function expectOver(setting: Setting): Promise<void> {
  setting.active.file.close();
  setting.passive.file.close();
  setting.world.runFor(200e9);
  for (const { device } of [setting.left, setting.right])
    expect(device.tables()).toMatchObject({ listeners: 0, connections: 0, connectionEntries: 0 });
  await expectEmpty(setting);
}

describe('a datagram service by rdma_cm', () => {
  it.each([
    ['with the Q_Key of the port space', 0, RDMA_UDP_QKEY],
    ['with its own Q_Key', 0x77, 0x77],
  ])('is found %s', async (_name, qkey, told) => {
    const setting = await setUp();
    const { active, passive, right, world } = setting;
    listen(setting);
    const client = await ask(setting, Uint8Array.of(1, 2, 3));
    const request = passive.datagramEvent();
    expect(request).toMatchObject({ uid: 50, event: Event.Request, qpn: 0, qkey: 0 });
    expect(request?.data.slice(0, 4)).toEqual([1, 2, 3, 0]);
    const id = request?.id ?? 0;
    const conn_param = param(Uint8Array.of(9), { qp_num: right.qp.qpn, qkey });
    passive.ok('ACCEPT', C.ACCEPT, { id, uid: 51, conn_param });
    expect(passive.errno('ACCEPT', C.ACCEPT, { id, uid: 51, conn_param })).toBe(Errno.EINVAL);
    world.runFor(1e8);
    const found = active.datagramEvent();
    expect(found).toMatchObject({ uid: 60, id: client, event: Event.Established, status: 0 });
    expect([found?.qpn, found?.qkey, found?.data[0]]).toEqual([right.qp.qpn, told, 9]);
    expect(found?.route.slice(0, 16)).toEqual([...right.gid]);
    expect(found?.route[Q.GLOBAL_ROUTE.at.sgid_index]).toBe(1);
    // Nothing is connected: there is nothing to tell the side that answered, and nothing to end.
    expect(passive.event()).toBeUndefined();
    active.ok('DISCONNECT', C.DISCONNECT, { id: client });
    await expectOver(setting);
  });

  it('that refuses, that is not there, or whose program ends is unreachable', async () => {
    const setting = await setUp();
    const { active, passive, world } = setting;
    await ask(setting, Uint8Array.of());
    expect(active.event()).toMatchObject({ event: Event.Unreachable, status: 1 });
    const listener = listen(setting);
    await ask(setting, Uint8Array.of());
    passive.ok('REJECT', C.REJECT, { id: passive.event()?.id ?? 0 });
    world.runFor(1e8);
    expect(active.event()).toMatchObject({ event: Event.Unreachable, status: 2 });
    await ask(setting, Uint8Array.of());
    passive.ok('DESTROY_ID', C.DESTROY_ID, { id: listener });
    world.runFor(1e8);
    expect(active.event()).toMatchObject({ event: Event.Unreachable, status: 2 });
    await expectOver(setting);
  });

  it('that says nothing is unreachable in the end', async () => {
    const setting = await setUp();
    const { active, world } = setting;
    listen(setting);
    await ask(setting, Uint8Array.of());
    world.runFor(100e9);
    expect(active.event()).toMatchObject({ event: Event.Unreachable, status: -Errno.ETIMEDOUT });
    await expectOver(setting);
  });

  it('has ports of its own', async () => {
    const setting = await setUp();
    const { passive } = setting;
    listen(setting);
    const id = passive.createId(1);
    passive.ok('BIND_IP', C.BIND_IP, { id, addr: sockaddr('0.0.0.0', PORT) });
    passive.ok('LISTEN', C.LISTEN, { id, backlog: 1 });
    const other = passive.createId(2, PortSpace.Udp);
    expect(passive.errno('BIND_IP', C.BIND_IP, { id: other, addr: sockaddr('0.0.0.0', PORT) })).toBe(Errno.EADDRINUSE);
    await expectOver(setting);
  });

  it('moves queue pairs by the Q_Key alone', async () => {
    const setting = await setUp();
    const { active } = setting;
    const id = active.createId(1, PortSpace.Udp);
    const attr = active.ok('INIT_QP_ATTR', C.INIT_QP_ATTR, { id, qp_state: 1 });
    expect([pick(Q.QP_ATTR, attr, 'qkey'), pick(Q.QP_ATTR, attr, 'qp_attr_mask')]).toEqual([RDMA_UDP_QKEY, 0x71]);
    const ipoib = active.createId(2, PortSpace.IpoIb);
    expect(active.errno('INIT_QP_ATTR', C.INIT_QP_ATTR, { id: ipoib, qp_state: 1 })).toBe(Errno.ENODEV);
    await expectOver(setting);
  });
});

describe('a group by rdma_cm', () => {
  const group = sockaddr('239.1.1.1', 0);

  it('is joined, and left with the count of its events', async () => {
    const setting = await setUp();
    const { active } = setting;
    const id = active.createId(60, PortSpace.Udp);
    active.ok('BIND_IP', C.BIND_IP, { id, addr: sockaddr('10.0.0.1', 0) });
    const addr = new Uint8Array(128);
    addr.set(group);
    const joined = active.ok('JOIN_MCAST', C.JOIN_MCAST, { id, uid: 70, addr, addr_size: 16, join_flags: 0 });
    const number = pick(C.CREATE_ID_RESP, joined, 'id');
    const event = active.datagramEvent();
    expect(event).toMatchObject({ uid: 70, id: number, event: Event.Join, qpn: 0xffffff, qkey: RDMA_UDP_QKEY });
    expect(event?.route.slice(10, 16)).toEqual([0xff, 0xff, 239, 1, 1, 1]);
    const left = active.ok('LEAVE_MCAST', C.DESTROY_ID, { id: number });
    expect(pick(C.DESTROY_ID_RESP, left, 'events_reported')).toBe(1);
    expect(active.errno('LEAVE_MCAST', C.DESTROY_ID, { id: number })).toBe(Errno.ENOENT);
    // One whose event is not read takes it along; the id has read none of them.
    active.ok('JOIN_IP_MCAST', C.JOIN_IP_MCAST, { id, uid: 71, addr: group });
    const gone = active.ok('DESTROY_ID', C.DESTROY_ID, { id });
    expect(pick(C.DESTROY_ID_RESP, gone, 'events_reported')).toBe(0);
    expect(active.event()).toBeUndefined();
    await expectOver(setting);
  });

  it.each([
    ['an id that has no address', undefined, PortSpace.Udp, '239.1.1.1', 0],
    ['an id for connections', '10.0.0.1', PortSpace.Tcp, '239.1.1.1', 0],
    ['no address', '10.0.0.1', PortSpace.Udp, '0.0.0.0', 0],
    ['flags that are none', '10.0.0.1', PortSpace.Udp, '239.1.1.1', 2],
  ])('is refused to %s', async (_name, from, space, to, join_flags) => {
    const setting = await setUp();
    const { active, passive } = setting;
    const id = active.createId(60, space);
    if (from !== undefined) active.ok('BIND_IP', C.BIND_IP, { id, addr: sockaddr(from, 0) });
    const addr = new Uint8Array(128);
    addr.set(sockaddr(to, 0));
    expect(active.errno('JOIN_MCAST', C.JOIN_MCAST, { id, addr, addr_size: 16, join_flags })).toBe(Errno.EINVAL);
    expect(passive.errno('LEAVE_MCAST', C.DESTROY_ID, { id: 1 })).toBe(Errno.ENOENT);
    await expectOver(setting);
  });
});
