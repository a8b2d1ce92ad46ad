/**
 * Memory windows as programs on the ABI have them: both types, and access flags that mean nothing to a window. Method:
 * the program of support/.
 */
import { describe, expect, it } from 'vitest';
import * as R from '../../src/uverbs/abi/rxe.ts';
import * as V from '../../src/uverbs/abi/verbs.ts';
import { Errno } from '../../src/uverbs/errno.ts';
import { expectEmpty, makeEnds, type Pair, rdma, toRts } from './support/ends.ts';
import { fill, pick } from './support/program.ts';

const Op = { Write: 0, LocalInv: 7, Bind: 8 };
const Status = { Success: 0, MwBind: 6, RemAccess: 10 };
/** Local write access, which is not a window's to give, and remote write access. */
const WRITES = 0x3;
const HINT = 0x10_00_00;

const nextKey = (key: number) => ((key & ~0xff) | ((key + 1) & 0xff)) >>> 0;

async function allocMw({ right }: Pair, type: number): Promise<number> {
  const response = await right.program.ok('ALLOC_MW', V.ALLOC_MW, { pd_handle: right.pd, mw_type: type });
  return pick(V.ALLOC_MW_RESP, response, 'rkey');
}

/** Binds bytes of the right end's region to its window; the status. */
function bind({ world, right }: Pair, rkey: number, length: number, access: number): number | undefined {
  const terms = {
    addr: right.mr.addr + 256,
    length,
    mr_lkey: right.mr.lkey,
    mw_rkey: rkey,
    rkey: nextKey(rkey),
    access,
  };
  right.program.post(right.qp, { opcode: Op.Bind, wr: fill(R.WR_MW, terms) });
  world.runFor(1e6);
  return right.program.poll(right.cq)?.status;
}

/** The left end writes a byte through the window; the status. */
function write({ world, left, right }: Pair, rkey: number, byte: number): number | undefined {
  const wr = rdma({ addr: right.mr.addr, rkey }, 256);
  left.program.post(left.qp, { opcode: Op.Write, inline: Uint8Array.of(byte), wr });
  world.runFor(1e7);
  return left.program.poll(left.cq)?.status;
}

describe('memory windows', () => {
  it.each([1, 2])('of type %i: local write access and hints are ignored', async (type) => {
    const pair = await toRts(await makeEnds());
    const rkey = await allocMw(pair, type);
    expect(bind(pair, rkey, 64, WRITES | HINT)).toBe(Status.Success);
    expect([write(pair, nextKey(rkey), 42), pair.right.bytes[256]]).toEqual([Status.Success, 42]);
    await expectEmpty(pair);
  });

  it('of type 1: bound again, ended by no bytes, not to be invalidated', async () => {
    const pair = await toRts(await makeEnds());
    const { left, right, world } = pair;
    const first = await allocMw(pair, 1);
    expect(bind(pair, first, 64, WRITES)).toBe(Status.Success);
    const second = nextKey(first);
    expect(bind(pair, second, 32, WRITES)).toBe(Status.Success);
    const third = nextKey(second);
    expect(write(pair, third, 7)).toBe(Status.Success);
    expect(bind(pair, third, 0, 0)).toBe(Status.Success);
    expect(write(pair, nextKey(third), 8)).toBe(Status.RemAccess);
    expect(right.bytes[256]).toBe(7);
    expect(await right.program.errno('DEREG_MR', V.DEREG_MR, { mr_handle: right.mr.handle })).toBe(0);
    right.program.post(right.qp, { opcode: Op.LocalInv, invalidate: nextKey(third) });
    world.runFor(1e6);
    expect([left.program.poll(left.cq), right.program.poll(right.cq)?.status]).not.toContain(Status.Success);
    await expectEmpty(pair);
  });

  it('are known by the key that they have when their turn comes', async () => {
    const pair = await toRts(await makeEnds());
    const { right, world } = pair;
    const first = await allocMw(pair, 2);
    const second = nextKey(first);
    const terms = { addr: right.mr.addr, length: 8, mr_lkey: right.mr.lkey, access: WRITES };
    const bindTo = (from: number, to: number) => fill(R.WR_MW, { ...terms, mw_rkey: from, rkey: to });
    right.program.post(right.qp, { wrId: 1, opcode: Op.Bind, wr: bindTo(first, second) });
    right.program.post(right.qp, { wrId: 2, opcode: Op.LocalInv, invalidate: second });
    right.program.post(right.qp, { wrId: 3, opcode: Op.Bind, wr: bindTo(second, nextKey(second)) });
    right.program.post(right.qp, { wrId: 4, opcode: Op.LocalInv, invalidate: nextKey(second) });
    right.program.post(right.qp, { wrId: 5, opcode: Op.Bind, wr: bindTo(first, second) });
    world.runFor(1e6);
    expect(right.program.pollAll(right.cq).map(({ wrId, status }) => [wrId, status])).toEqual([
      [1n, Status.Success],
      [2n, Status.Success],
      [3n, Status.Success],
      [4n, Status.Success],
      [5n, Status.MwBind],
    ]);
    await expectEmpty(pair);
  });

  it('of another type are refused', async () => {
    const pair = await makeEnds();
    for (const type of [0, 3, 255]) {
      const asked = { pd_handle: pair.right.pd, mw_type: type };
      expect(await pair.right.program.errno('ALLOC_MW', V.ALLOC_MW, asked)).toBe(Errno.EINVAL);
    }
    await expectEmpty(pair);
  });
});
