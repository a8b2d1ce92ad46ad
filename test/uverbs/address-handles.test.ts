/** Goal: an address handle is there from its creation to its end, and nothing is sent by it before or after. */
import { expect, it } from 'vitest';
import * as Q from '../../src/uverbs/abi/queues.ts';
import * as R from '../../src/uverbs/abi/rxe.ts';
import { Errno } from '../../src/uverbs/errno.ts';
import { attrTo, createAh, expectEmpty, makeEnds, toRts } from './support/ends.ts';
import { fill } from './support/program.ts';

const SEND = 2;
const UD = 4;
const Status = { Success: 0, LocProt: 4 };

it('is gone when it is destroyed: its number and its address vector lead nowhere, and another has another', async () => {
  const pair = await toRts(await makeEnds({ type: UD }));
  const { world, left, right } = pair;
  const av = new Uint8Array(R.RXE_AV.size);
  av.set(attrTo(right.gid).subarray(0, R.RXE_GLOBAL_ROUTE.size), R.RXE_AV.at.grh);
  let wrId = 0;
  const sendTo = (to: { ah_num: number; av?: Uint8Array }): number | undefined => {
    wrId += 1;
    right.program.receive(right.qp.rq, wrId, [{ addr: right.mr.addr, length: 100, lkey: right.mr.lkey }]);
    const wr = fill(R.WR_UD, { remote_qpn: right.qp.qpn, remote_qkey: 0x11, ...to });
    left.program.post(left.qp, { wrId, opcode: SEND, inline: Uint8Array.of(5), wr });
    world.runFor(1e7);
    return left.program.poll(left.cq)?.status;
  };
  const [first, second] = [await createAh(world, left, right.gid), await createAh(world, left, right.gid)];
  expect(first.number).not.toBe(second.number);
  expect(sendTo({ ah_num: first.number })).toBe(Status.Success);
  await left.program.ok('DESTROY_AH', Q.DESTROY_AH, { ah_handle: first.handle });
  // The other one has the same vector.
  expect(sendTo({ ah_num: second.number })).toBe(Status.Success);
  expect(sendTo({ ah_num: 0, av })).toBe(Status.Success);
  await left.program.ok('DESTROY_AH', Q.DESTROY_AH, { ah_handle: second.handle });
  expect(sendTo({ ah_num: first.number })).toBe(Status.LocProt);
  expect(right.program.pollAll(right.cq).length).toBe(3);
  await expectEmpty(pair);
});

it('of another domain than the queue pair sends nothing, as no handle at all does', async () => {
  const pair = await toRts(await makeEnds({ type: UD }));
  const { world, left, right } = pair;
  const pd = await left.program.allocPd();
  const { number: ah_num } = await createAh(world, { ...left, pd }, right.gid);
  const wr = fill(R.WR_UD, { remote_qpn: right.qp.qpn, remote_qkey: 0x11, ah_num });
  left.program.post(left.qp, { wrId: 1, opcode: SEND, inline: Uint8Array.of(5), wr });
  world.runFor(1e7);
  expect(left.program.poll(left.cq)).toMatchObject({ wrId: 1n, status: Status.LocProt });
  await expectEmpty(pair);
});

it('of the domain of its queue pair is found by its address vector, whoever has another of the same', async () => {
  const pair = await toRts(await makeEnds({ type: UD }));
  const { world, left, right } = pair;
  const pd = await left.program.allocPd();
  await createAh(world, { ...left, pd }, right.gid);
  const { number } = await createAh(world, left, right.gid);
  const av = new Uint8Array(R.RXE_AV.size);
  av.set(attrTo(right.gid).subarray(0, R.RXE_GLOBAL_ROUTE.size), R.RXE_AV.at.grh);
  for (const to of [{ ah_num: number }, { ah_num: 0, av }]) {
    right.program.receive(right.qp.rq, 1, [{ addr: right.mr.addr, length: 100, lkey: right.mr.lkey }]);
    const wr = fill(R.WR_UD, { remote_qpn: right.qp.qpn, remote_qkey: 0x11, ...to });
    left.program.post(left.qp, { wrId: 1, opcode: SEND, inline: Uint8Array.of(5), wr });
    world.runFor(1e7);
  }
  expect(left.program.pollAll(left.cq).map(({ status }) => status)).toEqual([Status.Success, Status.Success]);
  expect(right.program.pollAll(right.cq)).toHaveLength(2);
  await expectEmpty(pair);
});

it('is destroyed once, by a handle that is one', async () => {
  const pair = await makeEnds({ type: UD });
  const { left } = pair;
  const destroy = (ah_handle: number) => left.program.errno('DESTROY_AH', Q.DESTROY_AH, { ah_handle });
  expect(await destroy(999)).toBe(Errno.ENOENT);
  expect(await destroy(left.mr.handle)).toBe(Errno.EINVAL);
  await expectEmpty(pair);
});

it('has its neighbour asked for anew when it is used, and what was known is old', async () => {
  const pair = await toRts(await makeEnds({ type: UD }));
  const { world, left, right } = pair;
  const { number: ah_num } = await createAh(world, left, right.gid);
  const wr = fill(R.WR_UD, { remote_qpn: right.qp.qpn, remote_qkey: 0x11, ah_num });
  const questions = (): number | undefined => left.device.paths.neighbours?.counters.questions;
  const asked: (number | undefined)[] = [];
  for (const seconds of [1, 20, 20, 1, 40]) {
    world.runFor(seconds * 1e9);
    left.program.post(left.qp, { wrId: 1, opcode: SEND, inline: Uint8Array.of(5), wr });
    world.runFor(1e7);
    asked.push(questions());
  }
  // The first question was that of CREATE_AH; an answer is good for half a minute.
  expect(asked).toEqual([1, 1, 2, 2, 3]);
  await expectEmpty(pair);
});
