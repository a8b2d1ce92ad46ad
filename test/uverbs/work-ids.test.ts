/**
 * Goal: the id of a receive comes back with all of its 64 bits, and is kept for no longer than its receive may complete.
 * Method: the program of support/, with a message that is cut off in the middle.
 */
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import * as Q from '../../src/uverbs/abi/queues.ts';
import { WorkIds } from '../../src/uverbs/work-ids.ts';
import { expectEmpty, Mask, makeEnds, type Pair, toRts } from './support/ends.ts';

const SEND = 2;
const RC = 2;
const UC = 3;
const FLUSHED = 5;
/** Bits everywhere, 2^53 and its neighbours, the largest. */
const IDS = [0n, 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 0x8000_0000_0000_0001n, 2n ** 64n - 1n] as const;

/** The tables of ids that have kept one. */
const kept = vi.spyOn(WorkIds.prototype, 'keep');
afterEach(() => kept.mockClear());
afterAll(() => kept.mockRestore());

const idsKept = (): number => (kept.mock.contexts as WorkIds[]).reduce((sum, ids) => Math.max(sum, ids.size), 0);

function receive({ right }: Pair, wrId: bigint): void {
  const ring = right.srq?.ring ?? right.qp.rq;
  right.program.receive(ring, wrId, [{ addr: right.mr.addr, length: 8000, lkey: right.mr.lkey }]);
}

/** A message of which the first packet arrives and no other. */
function begin({ world, left, right }: Pair): void {
  let packets = 0;
  const match = ({ start, end }: { start: number; end: number }): boolean => end - start > 500 && packets++ > 0;
  world.network.addRule({ match, direction: 'send', action: 'drop' });
  left.program.post(left.qp, {
    ...{ wrId: 7, opcode: SEND },
    sges: [{ addr: left.mr.addr, length: 8000, lkey: left.mr.lkey }],
  });
  world.runFor(1e5);
  expect(right.program.poll(right.cq)).toBeUndefined();
}

const modify = ({ program, qp }: Pair['right'], qp_state: number) =>
  program.ok('MODIFY_QP', Q.MODIFY_QP, { qp_handle: qp.handle, attr_mask: Mask.STATE, qp_state });

describe.each([
  [RC, false],
  [RC, true],
  [UC, false],
])('receives of service %i, shared: %s', (type, srq) => {
  it('complete with all bits of their ids, flushed ones too', async () => {
    const pair = await toRts(await makeEnds({ type, srq }));
    const { world, left, right } = pair;
    for (const id of IDS) receive(pair, id);
    for (const [wrId] of IDS.slice(0, 4).entries()) {
      left.program.post(left.qp, { wrId, opcode: SEND, inline: Uint8Array.of(1) });
      world.runFor(1e7);
    }
    const received = right.program.pollAll(right.cq).map(({ wrId }) => wrId);
    expect(received).toEqual(IDS.slice(0, 4));
    await modify(right, 6);
    const flushed = right.program.pollAll(right.cq);
    expect(flushed.map(({ wrId }) => wrId)).toEqual(srq ? [] : IDS.slice(4));
    expect(new Set(flushed.map(({ status }) => status))).toEqual(new Set(srq ? [] : [FLUSHED]));
    expect(idsKept()).toBe(0);
    await expectEmpty(pair);
  });

  it('that a message has begun to fill are flushed with their ids', async () => {
    const pair = await toRts(await makeEnds({ type, srq }));
    const { right } = pair;
    receive(pair, 2n ** 64n - 1n);
    begin(pair);
    expect(idsKept()).toBe(1);
    await modify(right, 6);
    expect(right.program.pollAll(right.cq)).toMatchObject([{ wrId: 2n ** 64n - 1n, status: FLUSHED }]);
    expect(idsKept()).toBe(0);
    await expectEmpty(pair);
  });

  it('that a message has begun to fill are forgotten by RESET', async () => {
    const pair = await toRts(await makeEnds({ type, srq }));
    receive(pair, 2n ** 64n - 1n);
    begin(pair);
    expect(idsKept()).toBe(1);
    await modify(pair.right, 0);
    expect(idsKept()).toBe(0);
    await expectEmpty(pair);
  });

  it('that a message has begun to fill are forgotten with their queue pair', async () => {
    const pair = await toRts(await makeEnds({ type, srq }));
    const { right } = pair;
    receive(pair, 2n ** 64n - 1n);
    begin(pair);
    expect(idsKept()).toBe(1);
    await right.program.ok('DESTROY_QP', Q.DESTROY_QP, { qp_handle: right.qp.handle });
    expect(idsKept()).toBe(0);
    await expectEmpty(pair);
  });
});
