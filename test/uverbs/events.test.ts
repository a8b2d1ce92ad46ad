/**
 * Goal: an event names an object that is there: none is sent when it is destroyed, and the counts that a client waits
 * for are those of events it has read. Method: the program of support/.
 */
import { describe, expect, it } from 'vitest';
import * as Q from '../../src/uverbs/abi/queues.ts';
import * as V from '../../src/uverbs/abi/verbs.ts';
import { expectEmpty, Mask, makeEnds, rdma, toRts } from './support/ends.ts';
import { fill, pick, plain } from './support/program.ts';

const NONE = new Uint8Array(0);
const CQ_ERR = 0;
const QP_FATAL = 1;

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
