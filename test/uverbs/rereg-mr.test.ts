/**
 * REREG_MR: a region gets another domain or other rights, as on rdma_rxe of 6.12, which has no provider for it yet.
 * Method: the program of support/, and WRITEs and SENDs to what was changed.
 */
import { describe, expect, it } from 'vitest';
import * as V from '../../src/uverbs/abi/verbs.ts';
import { Errno } from '../../src/uverbs/errno.ts';
import { expectEmpty, makeEnds, type Pair, rdma, toRts } from './support/ends.ts';
import { pick } from './support/program.ts';

const Op = { Write: 0, Send: 2 };
const Status = { Success: 0, RemAccess: 10, RemOp: 11 };
const Flag = { Translation: 1, Pd: 2, Access: 4 };
const ALL = 0x1f;
const READS = 0x5;

const connected = async (): Promise<Pair> => toRts(await makeEnds());

function rereg({ right }: Pair, values: Readonly<Record<string, number>>) {
  return right.program.send('REREG_MR', V.REREG_MR, { mr_handle: right.mr.handle, ...values });
}

function write({ left, right, world }: Pair): number | undefined {
  left.program.post(left.qp, { opcode: Op.Write, inline: Uint8Array.of(1), wr: rdma(right.mr, 0) });
  world.runFor(1e7);
  return left.program.poll(left.cq)?.status;
}

describe('a region that is registered anew', () => {
  it('has other rights, under the same keys', async () => {
    const pair = await connected();
    const { right } = pair;
    expect(write(pair)).toBe(Status.Success);
    const { errno, response } = await rereg(pair, { flags: Flag.Access, access_flags: ALL });
    const keys = ['lkey', 'rkey'].map((name) => pick(V.REREG_MR_RESP, response, name));
    expect([errno, ...keys]).toEqual([0, right.mr.lkey, right.mr.lkey]);
    expect(write(pair)).toBe(Status.Success);
    expect((await rereg(pair, { flags: Flag.Access, access_flags: READS })).errno).toBe(0);
    expect(write(pair)).toBe(Status.RemAccess);
    await expectEmpty(pair);
  });

  it('is of another domain, and that one is in use', async () => {
    const pair = await connected();
    const { left, right, world } = pair;
    const other = await right.program.allocPd();
    expect((await rereg(pair, { flags: Flag.Pd, pd_handle: other })).errno).toBe(0);
    expect(await right.program.errno('DEALLOC_PD', V.DEALLOC_PD, { pd_handle: other })).toBe(Errno.EBUSY);
    right.program.receive(right.qp.rq, 1, [{ addr: right.mr.addr, length: 8, lkey: right.mr.lkey }]);
    left.program.post(left.qp, { opcode: Op.Send, inline: Uint8Array.of(1) });
    world.runFor(1e7);
    expect(left.program.poll(left.cq)?.status).toBe(Status.RemOp);
    expect((await rereg(pair, { flags: Flag.Pd | Flag.Access, pd_handle: right.pd, access_flags: ALL })).errno).toBe(0);
    expect(await right.program.errno('DEALLOC_PD', V.DEALLOC_PD, { pd_handle: other })).toBe(0);
    expect(await right.program.errno('DEREG_MR', V.DEREG_MR, { mr_handle: right.mr.handle })).toBe(0);
    await expectEmpty(pair);
  });

  it('stays in its new domain when it has other rights later', async () => {
    const pair = await connected();
    const { program } = pair.right;
    const [first, second] = [await program.allocPd(), await program.allocPd()];
    for (const pd_handle of [first, second]) expect((await rereg(pair, { flags: Flag.Pd, pd_handle })).errno).toBe(0);
    expect((await rereg(pair, { flags: Flag.Access, access_flags: ALL })).errno).toBe(0);
    const deallocated = [first, second].map((pd_handle) => program.errno('DEALLOC_PD', V.DEALLOC_PD, { pd_handle }));
    expect(await Promise.all(deallocated)).toEqual([0, Errno.EBUSY]);
    await expectEmpty(pair);
  });

  it.each([
    ['no change', { flags: 0 }, Errno.EINVAL],
    ['a flag of nobody', { flags: 8 }, Errno.EOPNOTSUPP],
    ['other memory', { flags: Flag.Translation, start: 0x1000, hca_va: 0x2000, length: 8 }, Errno.EOPNOTSUPP],
    ['other memory on other pages', { flags: Flag.Translation, start: 0x1000, hca_va: 0x2001 }, Errno.EINVAL],
    ['rights of no region', { flags: Flag.Access, access_flags: 2 }, Errno.EINVAL],
    ['a domain of nobody', { flags: Flag.Pd, pd_handle: 99 }, Errno.EINVAL],
    ['a region of nobody', { flags: Flag.Access, mr_handle: 99, access_flags: ALL }, Errno.ENOENT],
  ])('is refused: %s', async (_, values, errno) => {
    const pair = await connected();
    expect((await rereg(pair, values)).errno).toBe(errno);
    expect(write(pair)).toBe(Status.Success);
    await expectEmpty(pair);
  });
});
