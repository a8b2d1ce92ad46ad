/** Goal: a program that asks for the attributes of its queue pair gets those that it has set, and what it has room for. */
import { expect, it } from 'vitest';
import * as Q from '../../src/uverbs/abi/queues.ts';
import { expectEmpty, Mask, makeEnds, toRts } from './support/ends.ts';
import { fill, pick } from './support/program.ts';

it('has each attribute in its own place, until RESET forgets them', async () => {
  const pair = await toRts(await makeEnds());
  const { program, qp } = pair.left;
  const query = async (...names: readonly string[]) => {
    const answer = await program.ok('QUERY_QP', Q.QUERY_QP, { qp_handle: qp.handle, attr_mask: Mask.STATE });
    return Object.fromEntries(names.map((name) => [name, pick(Q.QUERY_QP_RESP, answer, name)]));
  };
  // As `toRts` has set them; each value but the PSNs and the depths is another.
  const set = {
    ...{ qp_access_flags: 0xf, port_num: 1, path_mtu: 3, dest_qp_num: pair.right.qp.qpn },
    ...{ rq_psn: 0xff_ff_fe, sq_psn: 0xff_ff_fe, max_rd_atomic: 4, max_dest_rd_atomic: 4 },
    ...{ min_rnr_timer: 1, timeout: 10, retry_cnt: 3, rnr_retry: 2 },
  };
  expect(await query('qp_state', ...Object.keys(set))).toEqual({ qp_state: 3, ...set });
  const answer = await program.ok('QUERY_QP', Q.QUERY_QP, { qp_handle: qp.handle, attr_mask: Mask.STATE });
  const dest = answer.subarray(Q.QUERY_QP_RESP.at.dest, Q.QUERY_QP_RESP.at.dest + Q.QP_DEST.size);
  expect(dest).toEqual(fill(Q.QP_DEST, { dgid: pair.right.gid, sgid_index: 1, is_global: 1, port_num: 1 }));
  const room = await query('max_send_wr', 'max_recv_wr', 'max_send_sge', 'max_recv_sge', 'max_inline_data');
  for (const [name, least] of Object.entries({ max_send_wr: 8, max_recv_wr: 8, max_send_sge: 2, max_recv_sge: 2 }))
    expect(room[name], name).toBeGreaterThanOrEqual(least);
  expect(room['max_inline_data']).toBeGreaterThanOrEqual(64);

  await program.ok('MODIFY_QP', Q.MODIFY_QP, { qp_handle: qp.handle, attr_mask: Mask.STATE, qp_state: 0 });
  const reset = await query('qp_state', 'timeout', 'retry_cnt', 'max_rd_atomic', 'max_dest_rd_atomic', 'dest_qp_num');
  expect(new Set(Object.values(reset))).toEqual(new Set([0]));
  await expectEmpty(pair);
});
