/**
 * Requests that rings have since Linux 6.4: FLUSH and ATOMIC WRITE, laid out as rdma-core 56's provider lays them out.
 * Goal: each does to the peer's memory what it says, and fails as on rdma_rxe. Method: the program of support/.
 */
import { describe, expect, it } from 'vitest';
import { WR_FLUSH } from '../../src/uverbs/abi/rxe-newer.ts';
import { expectEmpty, makeEnds, type Pair, rdma, toRts } from './support/ends.ts';
import { fill, type MrHandle } from './support/program.ts';

const Op = { Flush: 14, AtomicWrite: 15 };
const WcOp = { Flush: 8, AtomicWrite: 9 };
const Status = { Success: 0, RemInv: 9, RemAccess: 10 };
const Type = { Global: 1, Persistent: 2 };
const Level = { Range: 0, Region: 1 };
const FLUSHABLE = 0x1_0f;

/** The right end has a region that may be flushed, and queue pairs that may ask for it. */
async function flushable(): Promise<Pair & { mr: MrHandle }> {
  const pair = await toRts(await makeEnds(), { access: FLUSHABLE });
  return { ...pair, mr: await pair.right.program.regMr(pair.right.pd, 4096, FLUSHABLE) };
}

function post({ left, world }: Pair, opcode: number, wr: Uint8Array, atomic?: Uint8Array) {
  left.program.post(left.qp, { opcode, wr, ...(atomic === undefined ? {} : { atomic }) });
  world.runFor(1e8);
  return left.program.poll(left.cq);
}

const flush = ({ addr, rkey }: MrHandle, length: number, type: number, level: number): Uint8Array =>
  fill(WR_FLUSH, { remote_addr: addr, length, rkey, type, level });

describe('FLUSH from a ring', () => {
  it.each([
    ['of a range', 64, Type.Global, Level.Range],
    ['of nothing', 0, Type.Global, Level.Range],
    ['of a region', 0, Type.Global, Level.Region],
  ])('%s completes', async (_, length, type, level) => {
    const pair = await flushable();
    expect(post(pair, Op.Flush, flush(pair.mr, length, type, level))).toMatchObject({
      ...{ status: Status.Success, opcode: WcOp.Flush },
    });
    await expectEmpty(pair);
  });

  it.each([
    ['that the queue pair has no right to: persistence', 64, Type.Persistent, Status.RemInv],
    ['of more than the region has', 4097, Type.Global, Status.RemAccess],
  ])('%s is refused', async (_, length, type, status) => {
    const pair = await flushable();
    expect(post(pair, Op.Flush, flush(pair.mr, length, type, Level.Range))?.status).toBe(status);
    await expectEmpty(pair);
  });

  it('is refused for a region without the right', async () => {
    const pair = await flushable();
    const wr = flush(pair.right.mr, 64, Type.Global, Level.Range);
    expect(post(pair, Op.Flush, wr)?.status).toBe(Status.RemAccess);
    await expectEmpty(pair);
  });
});

describe('ATOMIC WRITE from a ring', () => {
  it('puts its eight bytes at a multiple of eight, and nowhere else', async () => {
    const pair = await toRts(await makeEnds());
    const { right } = pair;
    const bytes = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
    expect(post(pair, Op.AtomicWrite, rdma(right.mr, 8), bytes)).toMatchObject({
      ...{ status: Status.Success, opcode: WcOp.AtomicWrite, byteLen: 8 },
    });
    expect([...right.bytes.subarray(7, 17)]).toEqual([0, ...bytes, 0]);
    expect(post(pair, Op.AtomicWrite, rdma(right.mr, 12), bytes)?.status).toBe(Status.RemInv);
    expect([...right.bytes.subarray(16, 24)]).toEqual(new Array(8).fill(0));
    await expectEmpty(pair);
  });
});
