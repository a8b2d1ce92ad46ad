/**
 * What <rdma/rdma_user_rxe.h> has since Linux 6.4: FLUSH. No test compares it with that header, which older
 * distributions do not have; pyverbs of rdma-core 56 has put FLUSH and ATOMIC WRITE into rings. The eight bytes of an
 * ATOMIC WRITE stand where inline data begin.
 */
import { struct, u8, u32, u64 } from './struct.ts';

export const WR_FLUSH = struct('rxe_send_wr.wr.flush', {
  remote_addr: u64,
  length: u32,
  rkey: u32,
  type: u8,
  level: u8,
});
