/**
 * Goal: a command that is refused leaves nothing behind: no ring, no object, no count. Method: the program of support/,
 * with a device or a client that changes in the middle of a command.
 */
import { describe, expect, it } from 'vitest';
import * as Q from '../../src/uverbs/abi/queues.ts';
import * as R from '../../src/uverbs/abi/rxe.ts';
import * as V from '../../src/uverbs/abi/verbs.ts';
import { Errno } from '../../src/uverbs/errno.ts';
import { expectEmpty, makeEnds, rdma, toRts } from './support/ends.ts';
import type { Values } from './support/program.ts';

const NONE = new Uint8Array(0);

describe('a refusal after a ring was made for the command', () => {
  it.each([
    ['CREATE_CQ', V.CREATE_CQ, { cqe: 3, comp_channel: -1 }, R.RXE_CREATE_CQ_RESP.size],
    ['CREATE_SRQ', Q.CREATE_SRQ, { max_wr: 3 }, R.RXE_CREATE_SRQ_RESP.size],
    ['CREATE_QP', Q.CREATE_QP, { qp_type: 2, max_send_wr: 3 }, R.RXE_CREATE_QP_RESP.size],
  ] as const)('%s on a device that was closed frees it', async (name, layout, values, more) => {
    const pair = await makeEnds();
    const { program, pd, cq, device } = pair.left;
    device.close();
    const before = program.host.rings.size;
    const handles: Values =
      name === 'CREATE_CQ'
        ? {}
        : name === 'CREATE_SRQ'
          ? { pd_handle: pd }
          : { pd_handle: pd, send_cq_handle: cq.handle, recv_cq_handle: cq.handle };
    expect(await program.errno(name, layout, { ...values, ...handles }, NONE, more)).toBe(Errno.ENODEV);
    expect(program.host.rings.size).toBe(before);
    await expectEmpty(pair);
  });

  it('CREATE_QP with room for the first of its rings frees that', async () => {
    const pair = await makeEnds();
    const { program, pd, cq } = pair.left;
    const values = { pd_handle: pd, send_cq_handle: cq.handle, recv_cq_handle: cq.handle, qp_type: 2 };
    const before = program.host.rings.size;
    program.host.room = 20_000;
    const asked = { ...values, max_send_wr: 31, max_recv_wr: 200 };
    expect(await program.errno('CREATE_QP', Q.CREATE_QP, asked, NONE, R.RXE_CREATE_QP_RESP.size)).toBe(Errno.ENOMEM);
    expect([program.host.rings.size, program.host.room]).toEqual([before, 20_000]);
    await expectEmpty(pair);
  });

  it('RESIZE_CQ of a client that takes completions back in the middle frees it', async () => {
    const pair = await toRts(await makeEnds());
    const { world, left, right } = pair;
    const { host } = left.program;
    for (const wrId of [1, 2, 3, 4, 5])
      left.program.post(left.qp, { wrId, opcode: 0, inline: Uint8Array.of(1), wr: rdma(right.mr, 0) });
    world.runFor(1e7);
    expect(left.program.pollAll(left.cq)).toHaveLength(5);
    const allocate = host.allocate.bind(host);
    host.allocate = (length) => {
      left.cq.ring.consumer = 0;
      return allocate(length);
    };
    const before = host.rings.size;
    const resize = { cq_handle: left.cq.handle, cqe: 1 };
    expect(await left.program.errno('RESIZE_CQ', V.RESIZE_CQ, resize, NONE, 16)).toBe(Errno.EINVAL);
    expect(host.rings.size).toBe(before);
    await expectEmpty(pair);
  });
});
