/**
 * Goal: an event names an object that is there: none is sent when it is destroyed, and the counts that a client waits
 * for are those of events it has read. Method: the program of support/.
 */
import { describe, expect, it } from 'vitest';
import * as Q from '../../src/uverbs/abi/queues.ts';
import { RXE_CREATE_CQ_RESP } from '../../src/uverbs/abi/rxe.ts';
import * as V from '../../src/uverbs/abi/verbs.ts';
import { Errno } from '../../src/uverbs/errno.ts';
import { expectEmpty, Mask, makeEnds, rdma, toRts } from './support/ends.ts';
import { type CqHandle, fill, type Program, pick, plain, type QpHandle, type Values } from './support/program.ts';

const NONE = new Uint8Array(0);
const CQ_ERR = 0;
const QP_FATAL = 1;
const SQ_DRAINED = 5;
const UD = 4;

describe('an event that comes with the end of its object', () => {
  it('is not sent: the command comes before anything else has run', async () => {
    const pair = await toRts(await makeEnds());
    const { left, right, world } = pair;
    const { program, qp, cq } = left;
    const write = { opcode: 0, inline: Uint8Array.of(1), wr: rdma(right.mr, 0) };
    for (let i = 0; i < cq.ring.mask; i++) program.post(qp, write);
    world.runFor(1e7);
    // In ERROR a request is flushed at once, into a queue that is full.
    const toError = { qp_handle: qp.handle, attr_mask: Mask.STATE, qp_state: 6 };
    await program.ok('MODIFY_QP', Q.MODIFY_QP, toError);
    program.asyncEvents();
    program.post(qp, write);
    const destroyQp = plain('DESTROY_QP', fill(Q.DESTROY_QP, { qp_handle: qp.handle }), NONE, Q.DESTROY_QP_RESP.size);
    const destroyCq = plain('DESTROY_CQ', fill(V.DESTROY_CQ, { cq_handle: cq.handle }), NONE, V.DESTROY_CQ_RESP.size);
    const answers = [program.file.command(destroyQp), program.file.command(destroyCq)];
    expect(answers).toMatchObject([{ errno: 0 }, { errno: 0 }]);
    await world.run(Promise.resolve());
    expect(program.asyncEvents()).toEqual([]);
    await expectEmpty(pair);
  });
});

describe('an event that comes before', () => {
  it('is counted where it was read, and taken back where it was not', async () => {
    for (const isRead of [true, false]) {
      const pair = await toRts(await makeEnds());
      const { left, right, world } = pair;
      const { program, qp, cq } = left;
      for (let i = 0; i <= cq.ring.mask; i++) {
        program.post(qp, { opcode: 0, inline: Uint8Array.of(1), wr: rdma(right.mr, 0) });
        world.runFor(1e6);
      }
      await world.run(Promise.resolve());
      const read = isRead ? program.asyncEvents() : [];
      expect(read.filter((type) => type === CQ_ERR || type === QP_FATAL)).toEqual(isRead ? [QP_FATAL, CQ_ERR] : []);
      const destroyedQp = await program.ok('DESTROY_QP', Q.DESTROY_QP, { qp_handle: qp.handle });
      const destroyedCq = await program.ok('DESTROY_CQ', V.DESTROY_CQ, { cq_handle: cq.handle });
      expect([
        pick(Q.DESTROY_QP_RESP, destroyedQp, 'events_reported'),
        pick(V.DESTROY_CQ_RESP, destroyedCq, 'async_events_reported'),
      ]).toEqual(isRead ? [read.length - 1, 1] : [0, 0]);
      expect(program.asyncEvents()).toEqual([]);
      await expectEmpty(pair);
    }
  });
});

describe('a channel that the client has closed', () => {
  it('takes its unread events with it, and its queue sends no more', async () => {
    const pair = await toRts(await makeEnds());
    const { left, right, world } = pair;
    const { program, qp, cq, channel } = left;
    const complete = async (): Promise<void> => {
      await program.ok('REQ_NOTIFY_CQ', V.REQ_NOTIFY_CQ, { cq_handle: cq.handle });
      program.post(qp, { opcode: 0, inline: Uint8Array.of(1), wr: rdma(right.mr, 0) });
      world.runFor(1e7);
    };
    for (let round = 0; round < 3; round++) await complete();
    for (const _ of [1, 2]) expect(program.readEvent(channel)).toBeDefined();
    program.file.channelClosed(channel);
    await complete();
    expect(program.pollAll(cq)).toHaveLength(4);
    await program.ok('DESTROY_QP', Q.DESTROY_QP, { qp_handle: qp.handle });
    const destroyed = await program.ok('DESTROY_CQ', V.DESTROY_CQ, { cq_handle: cq.handle });
    expect(pick(V.DESTROY_CQ_RESP, destroyed, 'comp_events_reported')).toBe(2);
    await expectEmpty(pair);
  });
});

describe('the channel of asynchronous events', () => {
  it('is none for completions', async () => {
    const pair = await makeEnds();
    const { program } = pair.left;
    const values = { cqe: 1, comp_channel: program.asyncChannel };
    const more = RXE_CREATE_CQ_RESP.size;
    expect(await program.errno('CREATE_CQ', V.CREATE_CQ, values, NONE, more)).toBe(Errno.EBADF);
    await expectEmpty(pair);
  });
});

describe('objects of which the client calls two the same', () => {
  it('have completion events of their own', async () => {
    const pair = await toRts(await makeEnds());
    const { left, right, world } = pair;
    const { program, channel } = left;
    // Of the queue pair's completion queue, and of one that nothing completes into.
    const other = await program.createCq(7, channel, 77n);
    const destroy = async (cq: CqHandle) => {
      const destroyed = await program.ok('DESTROY_CQ', V.DESTROY_CQ, { cq_handle: cq.handle });
      return pick(V.DESTROY_CQ_RESP, destroyed, 'comp_events_reported');
    };
    await program.ok('REQ_NOTIFY_CQ', V.REQ_NOTIFY_CQ, { cq_handle: left.cq.handle });
    program.post(left.qp, { opcode: 0, inline: Uint8Array.of(1), wr: rdma(right.mr, 0) });
    world.runFor(1e7);
    expect(await destroy(other)).toBe(0);
    expect(program.readEvent(channel)).toBeDefined();
    await program.ok('DESTROY_QP', Q.DESTROY_QP, { qp_handle: left.qp.handle });
    expect(await destroy(left.cq)).toBe(1);
    await expectEmpty(pair);
  });

  it('have asynchronous events of their own', async () => {
    const pair = await makeEnds({ type: UD });
    const { left, world } = pair;
    const { program } = left;
    const other = await program.createQp(left.pd, left.cq, { qp_type: UD, user_handle: 6 });
    const destroy = async ({ handle }: QpHandle) => {
      const destroyed = await program.ok('DESTROY_QP', Q.DESTROY_QP, { qp_handle: handle });
      return pick(Q.DESTROY_QP_RESP, destroyed, 'events_reported');
    };
    for (const qp of [left.qp, other]) await drain(program, qp);
    await world.run(Promise.resolve());
    expect(await destroy(other)).toBe(0);
    expect(program.asyncEvents()).toEqual([SQ_DRAINED]);
    expect(await destroy(left.qp)).toBe(1);
    await expectEmpty(pair);
  });
});

/** To SQD, with nothing posted: the event comes at once. */
async function drain(program: Program, { handle }: QpHandle): Promise<void> {
  const modify = (attr_mask: number, values: Values) =>
    program.ok('MODIFY_QP', Q.MODIFY_QP, { qp_handle: handle, attr_mask: attr_mask | Mask.STATE, ...values });
  await modify(Mask.PKEY | Mask.PORT | Mask.QKEY, { qp_state: 1, port_num: 1 });
  await modify(0, { qp_state: 2 });
  await modify(Mask.SQ_PSN, { qp_state: 3 });
  await modify(Mask.SQD_NOTIFY, { qp_state: 4, en_sqd_async_notify: 1 });
}
