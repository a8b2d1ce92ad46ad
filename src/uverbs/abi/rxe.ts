/**
 * Structures that the user provider of rdma_rxe and its driver share, as <rdma/rdma_user_rxe.h> has them: what the
 * driver adds to responses, and the entries of the rings. A test compiles that header and compares every size and
 * offset.
 */
import { bytes, struct, u8, u16, u32, u64 } from './struct.ts';

export const RXE_GLOBAL_ROUTE = struct('rxe_global_route', {
  dgid: bytes(16, 8),
  flow_label: u32,
  sgid_index: u8,
  hop_limit: u8,
  traffic_class: u8,
});

export const RXE_SGE = struct('rxe_sge', {
  addr: u64,
  length: u32,
  lkey: u32,
});

export const MMINFO = struct('mminfo', {
  offset: u64,
  size: u32,
  pad: u32,
});

export const RXE_CREATE_AH_RESP = struct('rxe_create_ah_resp', {
  ah_num: u32,
  reserved: u32,
});

export const RXE_CREATE_CQ_RESP = struct('rxe_create_cq_resp', {
  mi: MMINFO,
});

export const RXE_RESIZE_CQ_RESP = struct('rxe_resize_cq_resp', {
  mi: MMINFO,
});

export const RXE_CREATE_QP_RESP = struct('rxe_create_qp_resp', {
  rq_mi: MMINFO,
  sq_mi: MMINFO,
});

export const RXE_CREATE_SRQ_RESP = struct('rxe_create_srq_resp', {
  mi: MMINFO,
  srq_num: u32,
  reserved: u32,
});

export const RXE_MODIFY_SRQ_CMD = struct('rxe_modify_srq_cmd', {
  mmap_info_addr: u64,
});

/** A sockaddr_in or sockaddr_in6 stands at either address. */
export const RXE_AV = struct('rxe_av', {
  port_num: u8,
  network_type: u8,
  dmac: bytes(6),
  grh: RXE_GLOBAL_ROUTE,
  sgid_addr: bytes(28, 4),
  dgid_addr: bytes(28, 4),
});

/** WRITE and READ, and of FLUSH and ATOMIC WRITE what they share with them. */
export const WR_RDMA = struct('rxe_send_wr.wr.rdma', { remote_addr: u64, rkey: u32, reserved: u32 });

/** COMPARE SWAP and FETCH ADD. */
export const WR_ATOMIC = struct('rxe_send_wr.wr.atomic', {
  remote_addr: u64,
  compare_add: u64,
  swap: u64,
  rkey: u32,
  reserved: u32,
});

/** Datagrams. */
export const WR_UD = struct('rxe_send_wr.wr.ud', {
  remote_qpn: u32,
  remote_qkey: u32,
  pkey_index: u16,
  reserved: u16,
  ah_num: u32,
  pad: bytes(16, 4),
  av: RXE_AV,
});

/** BIND MW. */
export const WR_MW = struct('rxe_send_wr.wr.mw', {
  addr: u64,
  length: u64,
  mr_lkey: u32,
  mw_rkey: u32,
  rkey: u32,
  access: u32,
});

/** What stands at `wr` depends on the opcode: one of the four above. */
export const RXE_SEND_WR = struct('rxe_send_wr', {
  wr_id: u64,
  reserved: u32,
  opcode: u32,
  send_flags: u32,
  ex: u32,
  wr: bytes(WR_UD.size, 8),
});

/** Inline data or pieces of memory follow. */
export const RXE_DMA_INFO = struct('rxe_dma_info', {
  length: u32,
  resid: u32,
  cur_sge: u32,
  num_sge: u32,
  sge_offset: u32,
  reserved: u32,
});

export const RXE_SEND_WQE = struct('rxe_send_wqe', {
  wr: RXE_SEND_WR,
  status: u32,
  state: u32,
  iova: u64,
  mask: u32,
  first_psn: u32,
  last_psn: u32,
  ack_length: u32,
  ssn: u32,
  has_rd_atomic: u32,
  dma: RXE_DMA_INFO,
});

export const RXE_RECV_WQE = struct('rxe_recv_wqe', { wr_id: u64, reserved: u32, padding: u32, dma: RXE_DMA_INFO });

/** What every ring begins with; entries follow. */
export const RXE_QUEUE_BUF = struct('rxe_queue_buf', {
  log2_elem_size: u32,
  index_mask: u32,
  pad_1: bytes(120, 4),
  producer_index: u32,
  pad_2: bytes(124, 4),
  consumer_index: u32,
  pad_3: bytes(124, 4),
});
