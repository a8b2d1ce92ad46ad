// Goal: the agent does in a guest what host control are told, and says what verbs say. Method: one guest of Linux 6.12
// whose rxe0 speaks to itself; every call once or more, by way of the client that the tester uses.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { AgentClient } from '../../../../tools/conformance/host-control/client.ts';
import { Guest } from '../../../../tools/lab/guest.ts';
import { buildImage } from '../../../../tools/lab/image.ts';
import { describeWith } from '../../../support/need.ts';
import {
  ADDRESS,
  bytesAt,
  completions,
  connectPair,
  eventually,
  furnish,
  HOME,
  makeQp,
  RIGHTS,
  takeHostControl,
  toRtr,
  toRts,
} from './support.ts';

describeWith(['lab', 'compiler'], 'the agent in a guest with Linux 6.12', () => {
  let guest: Guest;
  let hostControl: AgentClient;

  beforeAll(async () => {
    guest = await Guest.boot({ image: await buildImage('6.12'), addresses: [`${ADDRESS}/24`], hostControl: true });
    hostControl = await takeHostControl(guest);
  }, 300_000);

  afterAll(async () => {
    await hostControl?.close();
    await guest?.stop();
  });

  beforeEach(async () => {
    await hostControl.call('reset', {});
  });

  it('says what the device is and can do', async () => {
    expect(hostControl.description).toMatchObject({ device: 'rxe0', driver: 'rdma_rxe', version: guest.release });
    expect(hostControl.description.gids).toContainEqual({ index: 1, address: ADDRESS, type: 'v2' });
    expect(hostControl.description.activeMtu).toBe(1024);
    const all = ['uc', 'ud', 'srq', 'mw2', 'atomics', 'flush', 'atomic-write', 'mcast', 'cm'];
    expect([...hostControl.description.features].sort()).toEqual(all.sort());
    expect(await hostControl.call('port.query', {})).toMatchObject({
      state: 'PORT_ACTIVE',
      linkLayer: 'Ethernet',
      activeMtu: 1024,
    });
    const { counters } = await hostControl.call('counters', {});
    expect(counters['sent_pkts']).toBeGreaterThanOrEqual(0);
  });

  it('moves a queue pair from state to state, and tells what it is', async () => {
    await furnish(hostControl);
    const qpn = await makeQp(hostControl, 1, 'rc');
    expect(await hostControl.call('qp.query', { qp: 1 })).toMatchObject({ state: 'RESET' });
    await toRtr(hostControl, 1, qpn);
    await toRts(hostControl, 1);
    const asked = await hostControl.call('qp.query', { qp: 1 });
    expect(asked).toMatchObject({ state: 'RTS', destQpn: qpn, rqPsn: 0x10_00_00, sqPsn: 0x10_00_00, mtu: 1024 });
    expect(asked).toMatchObject({ path: { ...HOME, hopLimit: 64, trafficClass: 0 }, access: RIGHTS, timeout: 10 });
    await hostControl.call('qp.modify', { qp: 1, state: 'ERR' });
    expect(await hostControl.call('qp.query', { qp: 1 })).toMatchObject({ state: 'ERR' });
  });

  it('sends, with immediate data and inline', async () => {
    await furnish(hostControl);
    await connectPair(hostControl);
    await hostControl.call('mem.write', { mr: 1, offset: 0, hex: '0102030405060708' });
    await hostControl.call('qp.recv', { qp: 2, wrId: 10, pieces: [{ mr: 1, offset: 4096, length: 64 }] });
    await hostControl.call('qp.recv', { qp: 2, wrId: 11, pieces: [{ mr: 1, offset: 4160, length: 64 }] });
    const pieces = [{ mr: 1, offset: 0, length: 8 }];
    await hostControl.call('qp.send', { qp: 1, wrId: 1, opcode: 'send', pieces, inline: true });
    const imm = 0xde_ad_be_ef;
    await hostControl.call('qp.send', { qp: 1, wrId: 2, opcode: 'send-imm', imm, pieces: [...pieces, ...pieces] });
    const found = await completions(hostControl, 4);
    expect(found.get(1)).toMatchObject({ status: 0, opcode: 0 });
    expect(found.get(10)).toMatchObject({ status: 0, opcode: 128, byteLen: 8 });
    expect(found.get(10)).not.toHaveProperty('imm');
    expect(found.get(11)).toMatchObject({ status: 0, opcode: 128, byteLen: 16, imm });
    expect(await bytesAt(hostControl, 4096, 8)).toBe('0102030405060708');
    expect(await bytesAt(hostControl, 4160, 17)).toBe(`${'0102030405060708'.repeat(2)}00`);
  });

  it('writes, reads, and does atomics', async () => {
    const { va, rkey } = await furnish(hostControl);
    await connectPair(hostControl);
    await hostControl.call('mem.write', { mr: 1, offset: 0, hex: '1100000000000000' });
    const remote = { rkey, remoteAddr: va + 4096n };
    const piece = (offset: number): { pieces: { mr: number; offset: number; length: number }[] } => {
      return { pieces: [{ mr: 1, offset, length: 8 }] };
    };
    await hostControl.call('qp.send', { qp: 1, wrId: 1, opcode: 'write', ...remote, ...piece(0), signaled: false });
    await hostControl.call('qp.send', {
      qp: 1,
      wrId: 2,
      opcode: 'fetch-add',
      compareAdd: 2n ** 63n,
      ...remote,
      ...piece(64),
    });
    const swap = { compareAdd: 2n ** 63n + 0x11n, swap: 0x1122334455667788n };
    await hostControl.call('qp.send', { qp: 1, wrId: 3, opcode: 'cmp-swap', ...swap, ...remote, ...piece(72) });
    await hostControl.call('qp.send', { qp: 1, wrId: 4, opcode: 'read', ...remote, ...piece(80), fence: true });
    const found = await completions(hostControl, 3);
    expect([...found].map(([wrId, { status, opcode }]) => [wrId, status, opcode])).toEqual([
      [2, 0, 4],
      [3, 0, 3],
      [4, 0, 2],
    ]);
    expect(await bytesAt(hostControl, 64, 24)).toBe('1100000000000000' + '1100000000000080' + '8877665544332211');
  });

  it('does ATOMIC WRITE and FLUSH', async () => {
    const access = ['local-write', 'remote-write', 'flush-global'] as const;
    const { va, rkey } = await furnish(hostControl, access);
    const [first, second] = [await makeQp(hostControl, 1, 'rc'), await makeQp(hostControl, 2, 'rc')];
    await toRtr(hostControl, 1, second, access);
    await toRtr(hostControl, 2, first, access);
    await toRts(hostControl, 1);
    await hostControl.call('mem.write', { mr: 1, offset: 0, hex: 'a1a2a3a4a5a6a7a8' });
    const remote = { rkey, remoteAddr: va + 4096n };
    await hostControl.call('qp.send', {
      qp: 1,
      wrId: 1,
      opcode: 'atomic-write',
      ...remote,
      pieces: [{ mr: 1, offset: 0, length: 8 }],
    });
    await hostControl.call('qp.send', {
      qp: 1,
      wrId: 2,
      opcode: 'flush',
      ...remote,
      flush: { type: 1, level: 0, length: 8 },
    });
    const found = await completions(hostControl, 2);
    expect([found.get(1)?.status, found.get(2)?.status]).toEqual([0, 0]);
    expect(await bytesAt(hostControl, 4096, 8)).toBe('a1a2a3a4a5a6a7a8');
  });

  it('sends datagrams, whose receiver learns who sent', async () => {
    await furnish(hostControl);
    const sender = await makeQp(hostControl, 1, 'ud');
    const remoteQpn = await makeQp(hostControl, 2, 'ud');
    for (const qp of [1, 2]) {
      await hostControl.call('qp.modify', { qp, state: 'INIT', port: 1, pkeyIndex: 0, qkey: 0x11 });
      await hostControl.call('qp.modify', { qp, state: 'RTR' });
      await hostControl.call('qp.modify', { qp, state: 'RTS', sqPsn: 0 });
    }
    await hostControl.call('ah.create', { ah: 1, pd: 1, ...HOME });
    await hostControl.call('mem.write', { mr: 1, offset: 0, hex: 'cafe' });
    await hostControl.call('qp.recv', { qp: 2, wrId: 10, pieces: [{ mr: 1, offset: 4096, length: 100 }] });
    const pieces = [{ mr: 1, offset: 0, length: 2 }];
    await hostControl.call('qp.send', { qp: 1, wrId: 1, opcode: 'send', pieces, ah: 1, remoteQpn, remoteQkey: 0x11 });
    const found = await completions(hostControl, 2);
    expect(found.get(10)).toMatchObject({ status: 0, byteLen: 42, srcQp: sender, grh: true });
    expect(await bytesAt(hostControl, 4136, 2)).toBe('cafe');
    await hostControl.call('ah.destroy', { ah: 1 });
  });

  it('takes receives from a shared queue, and tells of its limit', async () => {
    await furnish(hostControl);
    await hostControl.call('srq.create', { srq: 1, pd: 1, maxWr: 8 });
    await connectPair(hostControl, 1);
    for (const wrId of [10, 11])
      await hostControl.call('srq.recv', { srq: 1, wrId, pieces: [{ mr: 1, offset: 4096, length: 64 }] });
    await hostControl.call('srq.modify', { srq: 1, limit: 2 });
    await hostControl.call('qp.send', { qp: 1, wrId: 1, opcode: 'send', pieces: [{ mr: 1, offset: 0, length: 8 }] });
    expect((await completions(hostControl, 2)).get(10)).toMatchObject({ status: 0, byteLen: 8 });
    const told = await eventually(
      () => hostControl.call('events', {}),
      ({ events }) => events.some(({ event }) => event === 'srq-limit-reached'),
    );
    expect(told.events).toContainEqual({ event: 'srq-limit-reached', srq: 1 });
  });

  it('binds a window, which is gone once it was invalidated', async () => {
    const { va } = await furnish(hostControl);
    await connectPair(hostControl);
    const { rkey } = await hostControl.call('mw.alloc', { mw: 1, pd: 1 });
    const key = (rkey & ~0xff) | ((rkey + 1) & 0xff);
    const bind = { mw: 1, mr: 1, offset: 4096, length: 16, access: ['remote-write'], rkey: key >>> 0 } as const;
    await hostControl.call('qp.send', { qp: 2, wrId: 1, opcode: 'bind-mw', bind });
    expect((await completions(hostControl, 1)).get(1)).toMatchObject({ status: 0, opcode: 5 });
    await hostControl.call('mem.write', { mr: 1, offset: 0, hex: 'beef' });
    const write = { qp: 1, opcode: 'write', rkey: key >>> 0, remoteAddr: va + 4096n } as const;
    await hostControl.call('qp.send', { ...write, wrId: 2, pieces: [{ mr: 1, offset: 0, length: 2 }] });
    expect((await completions(hostControl, 1)).get(2)).toMatchObject({ status: 0 });
    expect(await bytesAt(hostControl, 4096, 2)).toBe('beef');
    await hostControl.call('qp.send', { qp: 2, wrId: 3, opcode: 'local-inv', invalidateRkey: key >>> 0 });
    expect((await completions(hostControl, 1)).get(3)).toMatchObject({ status: 0, opcode: 6 });
    await hostControl.call('qp.send', { ...write, wrId: 4, pieces: [{ mr: 1, offset: 0, length: 2 }] });
    expect((await completions(hostControl, 1)).get(4)).toMatchObject({ status: REM_ACCESS_ERR });
  });

  it('counts completion events once asked for, solicited ones alone too', async () => {
    await furnish(hostControl);
    await connectPair(hostControl);
    for (const wrId of [10, 11]) await hostControl.call('qp.recv', { qp: 2, wrId, pieces: [] });
    expect(await hostControl.call('cq.events', { cq: 1 })).toEqual({ count: 0 });
    await hostControl.call('cq.arm', { cq: 1, solicitedOnly: true });
    await hostControl.call('qp.send', { qp: 1, wrId: 1, opcode: 'send', signaled: false });
    await completions(hostControl, 1);
    expect(await hostControl.call('cq.events', { cq: 1 })).toEqual({ count: 0 });
    await hostControl.call('qp.send', { qp: 1, wrId: 2, opcode: 'send', signaled: false, solicited: true });
    await completions(hostControl, 1);
    const told = await eventually(
      () => hostControl.call('cq.events', { cq: 1 }),
      ({ count }) => count > 0,
    );
    expect(told).toEqual({ count: 1 });
  });

  it('tells of asynchronous events, and of whom', async () => {
    await furnish(hostControl);
    await connectPair(hostControl);
    await hostControl.call('qp.modify', { qp: 2, state: 'SQD', enSqdAsyncNotify: true });
    const told = await eventually(
      () => hostControl.call('events', {}),
      ({ events }) => events.length > 0,
    );
    expect(told.events).toEqual([{ event: 'sq-drained', qp: 2 }]);
    expect(await hostControl.call('events', {})).toEqual({ events: [] });
  });

  it('lets a queue pair join a multicast group and leave it', async () => {
    await furnish(hostControl);
    await makeQp(hostControl, 1, 'ud');
    await hostControl.call('mcast.attach', { qp: 1, group: '239.1.2.3' });
    await expect(hostControl.call('qp.destroy', { qp: 1 })).rejects.toMatchObject({ kind: 'refused', errno: 'EBUSY' });
    await hostControl.call('mcast.detach', { qp: 1, group: '239.1.2.3' });
    await hostControl.call('mcast.attach', { qp: 1, group: 'ff0e::77' });
    await hostControl.call('reset', {});
    await expect(hostControl.call('qp.query', { qp: 1 })).rejects.toMatchObject({ errno: 'ENOENT' });
  });

  it('says what a peer or the device itself refused, in completions', async () => {
    const { va, rkey } = await furnish(hostControl);
    await connectPair(hostControl);
    const pieces = [{ mr: 1, offset: 0, length: 8 }];
    const wrong = [{ mr: 1, offset: 0, length: 8, lkey: rkey ^ 0x5500 }];
    await hostControl.call('qp.send', { qp: 1, wrId: 1, opcode: 'write', remoteAddr: va, rkey: rkey ^ 0x5500, pieces });
    expect((await completions(hostControl, 1)).get(1)).toMatchObject({ status: REM_ACCESS_ERR });
    await hostControl.call('qp.send', { qp: 1, wrId: 2, opcode: 'write', remoteAddr: va, rkey, pieces });
    expect((await completions(hostControl, 1)).get(2)).toMatchObject({ status: WR_FLUSH_ERR });
    await hostControl.call('qp.destroy', { qp: 1 });
    await hostControl.call('qp.destroy', { qp: 2 });
    await connectPair(hostControl);
    await hostControl.call('qp.send', { qp: 1, wrId: 3, opcode: 'read', remoteAddr: va, rkey, pieces: wrong });
    expect((await completions(hostControl, 1)).get(3)).toMatchObject({ status: LOC_PROT_ERR });
  });

  it('leaves nothing in the kernel after a reset', async () => {
    await furnish(hostControl);
    await connectPair(hostControl);
    await hostControl.call('mw.alloc', { mw: 1, pd: 1 });
    await hostControl.call('reset', {});
    const { stdout } = await guest.run(
      'rdma resource show qp; rdma resource show mr; rdma resource show pd; rdma resource show cq',
    );
    expect(stdout.split('\n').filter((line) => line.includes('attached'))).toEqual([]);
  });
});

/** Values of ibv_wc_status. */
const LOC_PROT_ERR = 4;
const WR_FLUSH_ERR = 5;
const REM_ACCESS_ERR = 10;
