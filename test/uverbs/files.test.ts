/**
 * Programs on the ABI, end to end: two open files on two devices of a simulated network, with commands, rings and
 * events as libibverbs and its rxe provider use them. Method: the program of support/, which knows the ABI only.
 */
import { describe, expect, it } from 'vitest';
import * as Q from '../../src/uverbs/abi/queues.ts';
import * as R from '../../src/uverbs/abi/rxe.ts';
import * as V from '../../src/uverbs/abi/verbs.ts';
import { Errno } from '../../src/uverbs/errno.ts';
import { Armed } from '../../src/uverbs/host.ts';
import { expectEmpty, gidIndex, Mask, makeEnds, type Pair, rdma, toRts } from './support/ends.ts';
import { fill, pick } from './support/program.ts';

const Op = {
  Write: 0,
  WriteImm: 1,
  Send: 2,
  SendImm: 3,
  Read: 4,
  CmpSwap: 5,
  FetchAdd: 6,
  LocalInv: 7,
  Bind: 8,
  SendInv: 9,
};
const Status = {
  Success: 0,
  LocQpOp: 2,
  LocProt: 4,
  Flush: 5,
  MwBind: 6,
  RemInv: 9,
  RemAccess: 10,
  Retry: 12,
  Rnr: 13,
};

async function connected(): Promise<Pair> {
  return toRts(await makeEnds());
}

const gather = (mr: { addr: number; lkey: number }, length: number, at = 0) => [
  { addr: mr.addr + at, length, lkey: mr.lkey },
];

describe('two connected queue pairs of two programs', () => {
  it('SEND, WRITE, READ and atomics move the bytes of their processes', async () => {
    const pair = await connected();
    const { world, left, right } = pair;
    left.bytes.set([1, 2, 3, 4, 5, 6, 7, 8]);
    right.program.receive(right.qp.rq, 0x1234_5678_9abc_def0n, gather(right.mr, 100, 1000));
    left.program.post(left.qp, { wrId: 0xffff_ffff_ffff_ffffn, opcode: Op.Send, sges: gather(left.mr, 8) });
    left.program.post(left.qp, { wrId: 2, opcode: Op.Write, sges: gather(left.mr, 8), wr: rdma(right.mr, 64) });
    left.program.post(left.qp, { wrId: 3, opcode: Op.Read, sges: gather(left.mr, 8, 200), wr: rdma(right.mr, 64) });
    world.runFor(1e7);
    expect(
      left.program.pollAll(left.cq).map(({ wrId, status, opcode, byteLen }) => [wrId, status, opcode, byteLen]),
    ).toEqual([
      [0xffff_ffff_ffff_ffffn, 0, 0, 8],
      [2n, 0, 1, 8],
      [3n, 0, 2, 8],
    ]);
    expect(right.program.pollAll(right.cq)).toMatchObject([
      { wrId: 0x1234_5678_9abc_def0n, status: 0, opcode: 128, byteLen: 8, qpn: right.qp.qpn },
    ]);
    expect([...right.bytes.subarray(1000, 1008)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect([...left.bytes.subarray(200, 208)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    const atomic = fill(R.WR_ATOMIC, { remote_addr: right.mr.addr + 64, rkey: right.mr.rkey, compare_add: 1 });
    left.program.post(left.qp, { wrId: 4, opcode: Op.FetchAdd, sges: gather(left.mr, 8, 300), wr: atomic });
    world.runFor(1e7);
    expect(left.program.poll(left.cq)).toMatchObject({ wrId: 4n, status: 0, opcode: 4 });
    expect([right.bytes[64], left.bytes[300]]).toEqual([2, 1]);
    await expectEmpty(pair);
  });

  it('immediate data, inline data and invalidated keys arrive as the client has them', async () => {
    const pair = await connected();
    const { world, left, right } = pair;
    for (const wrId of [1, 2]) right.program.receive(right.qp.rq, wrId, gather(right.mr, 16));
    const inline = Uint8Array.of(9, 8, 7);
    left.program.post(left.qp, { opcode: Op.SendImm, inline, imm: 0x0102_0304 });
    left.program.post(left.qp, { opcode: Op.WriteImm, inline, imm: 5, wr: rdma(right.mr, 500) });
    world.runFor(1e7);
    expect(right.program.pollAll(right.cq)).toMatchObject([
      { wrId: 1n, opcode: 128, byteLen: 3, imm: 0x0102_0304, flags: 3 },
      { wrId: 2n, opcode: 129, byteLen: 3, imm: 5, flags: 3 },
    ]);
    expect(left.program.pollAll(left.cq)).toMatchObject([{ flags: 2 }, { flags: 2 }]);
    expect([...right.bytes.subarray(500, 503)]).toEqual([9, 8, 7]);
    await expectEmpty(pair);
  });

  it('requests without a completion give their entries back, in a ring that is filled many times', async () => {
    const pair = await connected();
    const { world, left, right } = pair;
    for (let round = 0; round < 40; round++) {
      for (let i = 0; !left.qp.sq.full; i++)
        left.qp.sq.put(
          pair.sendWqe({ wrId: i, opcode: Op.Write, flags: 0, inline: Uint8Array.of(round), wr: rdma(right.mr, i) }),
        );
      left.program.file.doorbell(left.qp.handle);
      world.runFor(1e6);
      left.program.file.doorbell(left.qp.handle);
    }
    expect(left.qp.sq.consumer).toBe(left.qp.sq.producer);
    expect(left.program.pollAll(left.cq)).toEqual([]);
    expect(right.bytes[0]).toBe(39);
    await expectEmpty(pair);
  });

  it('errors: no receive, a key of nobody, memory that is gone, a local key of nobody', async () => {
    const rnr = await connected();
    rnr.left.program.post(rnr.left.qp, { wrId: 1, opcode: Op.Send, inline: Uint8Array.of(1) });
    rnr.world.runFor(1e9);
    expect(rnr.left.program.poll(rnr.left.cq)).toMatchObject({ wrId: 1n, status: Status.Rnr });

    const key = await connected();
    key.left.program.post(key.left.qp, {
      wrId: 1,
      opcode: Op.Write,
      inline: Uint8Array.of(1),
      wr: rdma({ addr: 0, rkey: 7 }, 0),
    });
    key.left.program.post(key.left.qp, {
      wrId: 2,
      opcode: Op.Write,
      flags: 0,
      inline: Uint8Array.of(1),
      wr: rdma(key.right.mr, 0),
    });
    key.right.program.receive(key.right.qp.rq, 77, []);
    key.world.runFor(1e8);
    expect(key.left.program.pollAll(key.left.cq)).toMatchObject([
      { status: Status.RemAccess },
      { wrId: 2n, status: Status.Flush },
    ]);
    expect(key.left.qp.sq.consumer).toBe(key.left.qp.sq.producer);
    await key.world.run(Promise.resolve());
    expect(key.right.program.asyncEvents()).toContain(3);

    const gone = await connected();
    gone.right.program.host.memory.unmap(gone.right.mr.addr, 4096);
    gone.left.program.post(gone.left.qp, {
      wrId: 1,
      opcode: Op.Write,
      inline: Uint8Array.of(1),
      wr: rdma(gone.right.mr, 0),
    });
    gone.world.runFor(1e8);
    expect(gone.left.program.poll(gone.left.cq)).toMatchObject({ status: Status.RemAccess });

    const local = await connected();
    const sges = [{ addr: local.left.mr.addr, length: 8, lkey: local.left.mr.lkey ^ 1 }];
    local.left.program.post(local.left.qp, { wrId: 5, opcode: Op.Write, sges, wr: rdma(local.right.mr, 0) });
    local.world.runFor(1e8);
    expect(local.left.program.poll(local.left.cq)).toMatchObject({ wrId: 5n, status: Status.LocProt });
    for (const pair of [rnr, key, gone, local]) await expectEmpty(pair);
  });

  it('an armed queue sends one event, a solicited one only for what was solicited; DESTROY_CQ counts those read', async () => {
    const pair = await connected();
    const { world, left, right } = pair;
    const arm = (solicited: number) =>
      right.program.ok('REQ_NOTIFY_CQ', V.REQ_NOTIFY_CQ, { cq_handle: right.cq.handle, solicited_only: solicited });
    const send = (flags: number) => {
      right.program.receive(right.qp.rq, 1, gather(right.mr, 16));
      left.program.post(left.qp, { opcode: Op.Send, inline: Uint8Array.of(1), flags });
      world.runFor(1e6);
    };
    const waiting = () => right.program.host.events.get(right.channel)?.length;
    await arm(1);
    send(2);
    expect(waiting()).toBe(0);
    send(2 | 4);
    expect(waiting()).toBe(1);
    send(2 | 4);
    expect(waiting()).toBe(1);
    expect(pick(V.COMP_EVENT_DESC, right.program.readEvent(right.channel) ?? new Uint8Array(8), 'cq_handle')).toBe(77);
    await arm(0);
    send(2);
    expect(waiting()).toBe(1);
    await right.program.ok('DESTROY_QP', Q.DESTROY_QP, { qp_handle: right.qp.handle });
    const destroyed = await right.program.ok('DESTROY_CQ', V.DESTROY_CQ, { cq_handle: right.cq.handle });
    expect(pick(V.DESTROY_CQ_RESP, destroyed, 'comp_events_reported')).toBe(1);
    expect(waiting()).toBe(0);
    await expectEmpty(pair);
  });

  it('a queue is armed by its word as by the command, for as long as it is there', async () => {
    const pair = await connected();
    const { world, left, right } = pair;
    const { armed } = right.program.host;
    const at = right.cq.handle;
    const send = (flags: number): number | undefined => {
      right.program.receive(right.qp.rq, 1, gather(right.mr, 16));
      left.program.post(left.qp, { opcode: Op.Send, inline: Uint8Array.of(1), flags });
      world.runFor(1e6);
      right.program.pollAll(right.cq);
      left.program.pollAll(left.cq);
      return right.program.host.events.get(right.channel)?.length;
    };
    expect(armed[at]).toBe(Armed.Queue);
    expect(armed[right.qp.handle]).toBe(0);
    // Not armed; then for what is solicited, which the second is; then for nothing more.
    expect(send(2)).toBe(0);
    armed[at] = Armed.Queue | Armed.Solicited;
    expect([send(2), armed[at]]).toEqual([0, Armed.Queue | Armed.Solicited]);
    expect([send(2 | 4), armed[at]]).toEqual([1, Armed.Queue]);
    expect(send(2 | 4)).toBe(1);
    armed[at] = Armed.Queue | Armed.Any | Armed.Solicited;
    expect([send(2), armed[at]]).toEqual([2, Armed.Queue]);
    expect(send(2 | 4)).toBe(2);
    // Whatever else a client puts there is nothing.
    armed[at] = -8;
    expect(send(2)).toBe(2);
    armed[at] = -1;
    expect([send(2), armed[at]]).toEqual([3, Armed.Queue]);
    // By both ways: one event.
    armed[at] = Armed.Queue | Armed.Any;
    await right.program.ok('REQ_NOTIFY_CQ', V.REQ_NOTIFY_CQ, { cq_handle: at, solicited_only: 0 });
    expect([send(2), send(2)]).toEqual([4, 4]);
    await right.program.ok('DESTROY_QP', Q.DESTROY_QP, { qp_handle: right.qp.handle });
    await right.program.ok('DESTROY_CQ', V.DESTROY_CQ, { cq_handle: at });
    expect(armed[at]).toBe(0);
    await expectEmpty(pair);
  });

  it('a window is bound, used under its new key and invalidated', async () => {
    const pair = await connected();
    const { world, left, right } = pair;
    const mw = await right.program.ok('ALLOC_MW', V.ALLOC_MW, { pd_handle: right.pd, mw_type: 2 });
    const rkey = pick(V.ALLOC_MW_RESP, mw, 'rkey');
    const fresh = ((rkey & ~0xff) | ((rkey + 1) & 0xff)) >>> 0;
    const bind = {
      addr: right.mr.addr + 256,
      length: 64,
      mr_lkey: right.mr.lkey,
      mw_rkey: rkey,
      rkey: fresh,
      access: 2,
    };
    right.program.post(right.qp, { wrId: 1, opcode: Op.Bind, wr: fill(R.WR_MW, bind) });
    world.runFor(1e6);
    expect(right.program.poll(right.cq)).toMatchObject({ wrId: 1n, status: 0, opcode: 5 });
    const wr = rdma({ addr: right.mr.addr, rkey: fresh }, 256);
    left.program.post(left.qp, { wrId: 2, opcode: Op.Write, inline: Uint8Array.of(42), wr });
    world.runFor(1e7);
    expect([left.program.poll(left.cq)?.status, right.bytes[256]]).toEqual([0, 42]);
    expect(await right.program.errno('DEREG_MR', V.DEREG_MR, { mr_handle: right.mr.handle })).toBe(Errno.EINVAL);
    right.program.post(right.qp, { wrId: 3, opcode: Op.LocalInv, invalidate: fresh });
    right.program.post(right.qp, { wrId: 4, opcode: Op.Bind, wr: fill(R.WR_MW, { ...bind, mw_rkey: 99 }) });
    world.runFor(1e7);
    expect(right.program.pollAll(right.cq)).toMatchObject([
      { wrId: 3n, status: 0, opcode: 6 },
      { wrId: 4n, status: Status.MwBind },
    ]);
    await expectEmpty(pair);
  });

  it('ERROR flushes both rings, RESET forgets them, and the queue pair is connected again', async () => {
    const pair = await connected();
    const { left, right, world } = pair;
    for (const wrId of [1, 2]) left.program.receive(left.qp.rq, wrId, gather(left.mr, 16));
    const modify = (state: number) =>
      left.program.ok('MODIFY_QP', Q.MODIFY_QP, { qp_handle: left.qp.handle, attr_mask: Mask.STATE, qp_state: state });
    await modify(6);
    expect(left.program.pollAll(left.cq)).toMatchObject([
      { wrId: 1n, status: Status.Flush },
      { wrId: 2n, status: Status.Flush },
    ]);
    left.program.post(left.qp, { wrId: 3, opcode: Op.Send, inline: Uint8Array.of(1) });
    expect(left.program.poll(left.cq)).toMatchObject({ wrId: 3n, status: Status.Flush });
    left.program.receive(left.qp.rq, 4, gather(left.mr, 16));
    await modify(0);
    expect([left.qp.rq?.consumer, left.program.poll(left.cq)]).toEqual([left.qp.rq?.producer, undefined]);
    await right.program.ok('MODIFY_QP', Q.MODIFY_QP, {
      qp_handle: right.qp.handle,
      attr_mask: Mask.STATE,
      qp_state: 0,
    });
    await toRts(pair);
    left.program.post(left.qp, { wrId: 5, opcode: Op.Write, inline: Uint8Array.of(3), wr: rdma(right.mr, 9) });
    world.runFor(1e7);
    expect([left.program.poll(left.cq)?.status, right.bytes[9]]).toEqual([0, 3]);
    await expectEmpty(pair);
  });

  it('a full completion queue is an event, and the queue pairs fail', async () => {
    const pair = await connected();
    const { world, left, right } = pair;
    for (let i = 0; i <= left.cq.ring.mask; i++) {
      left.program.post(left.qp, { wrId: i, opcode: Op.Write, inline: Uint8Array.of(1), wr: rdma(right.mr, 0) });
      world.runFor(1e6);
    }
    await world.run(Promise.resolve());
    expect(left.program.asyncEvents()).toContain(0);
    const query = await left.program.ok('QUERY_QP', Q.QUERY_QP, { qp_handle: left.qp.handle, attr_mask: Mask.STATE });
    expect(pick(Q.QUERY_QP_RESP, query, 'qp_state')).toBe(6);
    await expectEmpty(pair);
  });

  it('RESIZE_CQ counts what doorbells before it complete', async () => {
    const pair = await toRts(await makeEnds({ type: 3 }));
    const { world, left, right } = pair;
    for (const wrId of [1, 2])
      left.program.post(left.qp, { wrId, opcode: Op.Write, inline: Uint8Array.of(1), wr: rdma(right.mr, 0) });
    left.program.host.meanwhile = () => world.runFor(1e7);
    const resized = { cq_handle: left.cq.handle, cqe: 1 };
    expect(await left.program.errno('RESIZE_CQ', V.RESIZE_CQ, resized, new Uint8Array(0), 16)).toBe(Errno.EINVAL);
    expect(left.program.pollAll(left.cq)).toHaveLength(2);
    // A queue may go, and its file too, while a command waits.
    left.program.host.meanwhile = () => left.program.file.close();
    expect(await left.program.errno('RESIZE_CQ', V.RESIZE_CQ, resized, new Uint8Array(0), 16)).toBe(Errno.EIO);
    await expectEmpty(pair);
  });

  it('RESIZE_CQ moves what waits into another ring', async () => {
    const pair = await connected();
    const { world, left, right } = pair;
    for (const wrId of [1, 2, 3])
      left.program.post(left.qp, { wrId, opcode: Op.Write, inline: Uint8Array.of(1), wr: rdma(right.mr, 0) });
    world.runFor(1e7);
    expect(left.program.poll(left.cq)).toMatchObject({ wrId: 1n });
    const resize = (cqe: number) =>
      left.program.send('RESIZE_CQ', V.RESIZE_CQ, { cq_handle: left.cq.handle, cqe }, new Uint8Array(0), 16);
    expect((await resize(1)).errno).toBe(Errno.EINVAL);
    const { response } = await resize(100);
    expect(pick(V.RESIZE_CQ_RESP, response, 'cqe')).toBe(127);
    left.cq.ring = left.program.map(response, V.RESIZE_CQ_RESP.size);
    expect(left.program.pollAll(left.cq).map(({ wrId }) => wrId)).toEqual([2n, 3n]);
    left.program.post(left.qp, { wrId: 4, opcode: Op.Write, inline: Uint8Array.of(1), wr: rdma(right.mr, 0) });
    world.runFor(1e7);
    expect(left.program.poll(left.cq)).toMatchObject({ wrId: 4n });
    // As libfabric's RxM has it for 256 peers.
    expect((await resize(262_144)).errno).toBe(0);
    expect((await resize(2 ** 20)).errno).toBe(Errno.EINVAL);
    await expectEmpty(pair);
  });
});

describe('shared receives', () => {
  it('serve two queue pairs, tell when they run low, and can be resized', async () => {
    const pair = await toRts(await makeEnds({ srq: true }));
    const { world, left, right } = pair;
    const { srq } = right;
    if (srq === undefined) throw new Error('the right end has a shared receive queue');
    for (const wrId of [1, 2, 3]) right.program.receive(srq.ring, wrId, gather(right.mr, 16));
    const driver = fill(R.RXE_MODIFY_SRQ_CMD, { mmap_info_addr: right.mr.addr });
    await right.program.ok('MODIFY_SRQ', Q.MODIFY_SRQ, { srq_handle: srq.handle, attr_mask: 2, srq_limit: 2 }, driver);
    const send = (): void => {
      left.program.post(left.qp, { opcode: Op.Send, inline: Uint8Array.of(1) });
      world.runFor(1e6);
    };
    send();
    send();
    await world.run(Promise.resolve());
    expect(right.program.asyncEvents()).toEqual([15]);
    expect(right.program.pollAll(right.cq).map(({ wrId }) => wrId)).toEqual([1n, 2n]);
    await right.program.ok('MODIFY_SRQ', Q.MODIFY_SRQ, { srq_handle: srq.handle, attr_mask: 1, max_wr: 40 }, driver);
    const ring = right.program.map(right.bytes, 0);
    expect(ring.mask).toBe(63);
    send();
    expect(right.program.pollAll(right.cq).map(({ wrId }) => wrId)).toEqual([3n]);
    right.program.receive(ring, 9, gather(right.mr, 16, 64));
    send();
    expect(right.program.pollAll(right.cq).map(({ wrId }) => wrId)).toEqual([9n]);
    await expectEmpty(pair);
  });
});

describe('datagrams', () => {
  it('go by the number of a handle, or by the address vector of an old provider, and come with 40 bytes', async () => {
    const pair = await toRts(await makeEnds({ type: 4 }));
    const { world, left, right } = pair;
    const attr = fill(Q.AH_ATTR, { is_global: 1, port_num: 1 });
    attr.set(right.gid, Q.GLOBAL_ROUTE.at.dgid);
    attr[Q.GLOBAL_ROUTE.at.sgid_index] = gidIndex;
    attr[Q.GLOBAL_ROUTE.at.hop_limit] = 3;
    const creating = left.program.ok('CREATE_AH', Q.CREATE_AH, { pd_handle: left.pd, attr }, new Uint8Array(0), 8);
    const created = await world.run(creating);
    const number = pick(R.RXE_CREATE_AH_RESP, created, 'ah_num', Q.CREATE_AH_RESP.size);
    expect(number).toBeGreaterThan(0);
    const av = new Uint8Array(R.RXE_AV.size);
    av.set(attr.subarray(0, R.RXE_GLOBAL_ROUTE.size), R.RXE_AV.at.grh);
    for (const [wrId, to] of [
      [1, { ah_num: number }],
      [2, { ah_num: 0, av }],
    ] as const) {
      right.program.receive(right.qp.rq, wrId, gather(right.mr, 100));
      const wr = fill(R.WR_UD, { remote_qpn: right.qp.qpn, remote_qkey: 0x11, ...to });
      left.program.post(left.qp, { wrId, opcode: Op.SendImm, imm: 6, inline: Uint8Array.of(5, 6), wr });
      world.runFor(1e7);
    }
    expect(left.program.pollAll(left.cq).map(({ status }) => status)).toEqual([0, 0]);
    expect(right.program.pollAll(right.cq)).toMatchObject([
      // What is in the 40 bytes, as NICs tell it: UDP, IPv4.
      { wrId: 1n, byteLen: 42, imm: 6, flags: 3, srcQp: left.qp.qpn, sl: 10 },
      { wrId: 2n, byteLen: 42, imm: 6, flags: 3, srcQp: left.qp.qpn, sl: 10 },
    ]);
    expect([...right.bytes.subarray(40, 42)]).toEqual([5, 6]);
    const wr = fill(R.WR_UD, { remote_qpn: right.qp.qpn, ah_num: 99 });
    left.program.post(left.qp, { wrId: 3, opcode: Op.Send, inline: Uint8Array.of(1), wr });
    world.runFor(1e7);
    expect(left.program.poll(left.cq)).toMatchObject({ wrId: 3n, status: Status.LocProt });
    await expectEmpty(pair);
  });
});
