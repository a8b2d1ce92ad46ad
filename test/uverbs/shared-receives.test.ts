/** Goal: a shared receive queue says what it has room for, and is there until it is destroyed. */
import { expect, it } from 'vitest';
import * as Q from '../../src/uverbs/abi/queues.ts';
import * as R from '../../src/uverbs/abi/rxe.ts';
import { Errno } from '../../src/uverbs/errno.ts';
import { expectEmpty, makeEnds } from './support/ends.ts';
import { fill, pick } from './support/program.ts';

it('says its room and its limit as they are now', async () => {
  const pair = await makeEnds({ srq: true });
  const { program, mr, srq } = pair.right;
  if (srq === undefined) throw new Error('the right end has a shared receive queue');
  const srq_handle = srq.handle;
  const driver = fill(R.RXE_MODIFY_SRQ_CMD, { mmap_info_addr: mr.addr });
  const query = async () => {
    const answer = await program.ok('QUERY_SRQ', Q.QUERY_SRQ, { srq_handle });
    return ['max_wr', 'max_sge', 'srq_limit'].map((name) => pick(Q.QUERY_SRQ_RESP, answer, name));
  };
  const [maxWr = 0, maxSge] = await query();
  expect(maxWr).toBeGreaterThan(2);
  await program.ok('MODIFY_SRQ', Q.MODIFY_SRQ, { srq_handle, attr_mask: 2, srq_limit: 2 }, driver);
  expect(await query()).toEqual([maxWr, maxSge, 2]);
  // A power of two less one; the limit stays.
  await program.ok('MODIFY_SRQ', Q.MODIFY_SRQ, { srq_handle, attr_mask: 1, max_wr: 100 }, driver);
  expect(await query()).toEqual([127, maxSge, 2]);
  for (const max_wr of [0, 2 ** 30])
    expect(await program.errno('MODIFY_SRQ', Q.MODIFY_SRQ, { srq_handle, attr_mask: 1, max_wr }, driver)).toBe(
      Errno.EINVAL,
    );
  expect(await query()).toEqual([127, maxSge, 2]);
  await expectEmpty(pair);
});

it('stays as it is where the program cannot be told of its new ring', async () => {
  const pair = await makeEnds({ srq: true });
  const { program, srq } = pair.right;
  const srq_handle = srq?.handle ?? 0;
  const room = async () => pick(Q.QUERY_SRQ_RESP, await program.ok('QUERY_SRQ', Q.QUERY_SRQ, { srq_handle }), 'max_wr');
  const before = await room();
  const rings = program.host.rings.size;
  const nowhere = fill(R.RXE_MODIFY_SRQ_CMD, { mmap_info_addr: 8 });
  const asked = { srq_handle, attr_mask: 1, max_wr: 100 };
  expect(await program.errno('MODIFY_SRQ', Q.MODIFY_SRQ, asked, nowhere)).toBe(Errno.EFAULT);
  expect([await room(), program.host.rings.size]).toEqual([before, rings]);
  await expectEmpty(pair);
});

it('cannot be destroyed under a queue pair, and not twice', async () => {
  const pair = await makeEnds({ srq: true });
  const { program, qp, srq } = pair.right;
  const destroy = () => program.errno('DESTROY_SRQ', Q.DESTROY_SRQ, { srq_handle: srq?.handle ?? 0 });
  expect(await destroy()).toBe(Errno.EBUSY);
  await program.ok('DESTROY_QP', Q.DESTROY_QP, { qp_handle: qp.handle });
  expect([await destroy(), await destroy()]).toEqual([0, Errno.ENOENT]);
  await expectEmpty(pair);
});
