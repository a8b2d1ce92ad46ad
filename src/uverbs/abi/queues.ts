/**
 * Structures of the write() commands of uverbs, as <rdma/ib_user_verbs.h> has them: queue pairs, address handles,
 * shared receive queues. A test compiles that header and compares every size and offset.
 */
import { bytes, struct, u8, u16, u32, u64 } from './struct.ts';

export const GLOBAL_ROUTE = struct('ib_uverbs_global_route', {
  dgid: bytes(16),
  flow_label: u32,
  sgid_index: u8,
  hop_limit: u8,
  traffic_class: u8,
  reserved: u8,
});

export const AH_ATTR = struct('ib_uverbs_ah_attr', {
  grh: GLOBAL_ROUTE,
  dlid: u16,
  sl: u8,
  src_path_bits: u8,
  static_rate: u8,
  is_global: u8,
  port_num: u8,
  reserved: u8,
});

export const QP_ATTR = struct('ib_uverbs_qp_attr', {
  qp_attr_mask: u32,
  qp_state: u32,
  cur_qp_state: u32,
  path_mtu: u32,
  path_mig_state: u32,
  qkey: u32,
  rq_psn: u32,
  sq_psn: u32,
  dest_qp_num: u32,
  qp_access_flags: u32,
  ah_attr: AH_ATTR,
  alt_ah_attr: AH_ATTR,
  max_send_wr: u32,
  max_recv_wr: u32,
  max_send_sge: u32,
  max_recv_sge: u32,
  max_inline_data: u32,
  pkey_index: u16,
  alt_pkey_index: u16,
  en_sqd_async_notify: u8,
  sq_draining: u8,
  max_rd_atomic: u8,
  max_dest_rd_atomic: u8,
  min_rnr_timer: u8,
  port_num: u8,
  timeout: u8,
  retry_cnt: u8,
  rnr_retry: u8,
  alt_port_num: u8,
  alt_timeout: u8,
  reserved: bytes(5),
});

/** What both forms of the command have. */
const NEW_QP = {
  user_handle: u64,
  pd_handle: u32,
  send_cq_handle: u32,
  recv_cq_handle: u32,
  srq_handle: u32,
  max_send_wr: u32,
  max_recv_wr: u32,
  max_send_sge: u32,
  max_recv_sge: u32,
  max_inline_data: u32,
  sq_sig_all: u8,
  qp_type: u8,
  is_srq: u8,
  reserved: u8,
};

export const CREATE_QP = struct('ib_uverbs_create_qp', { response: u64, ...NEW_QP });

export const EX_CREATE_QP = struct('ib_uverbs_ex_create_qp', {
  ...NEW_QP,
  comp_mask: u32,
  create_flags: u32,
  rwq_ind_tbl_handle: u32,
  source_qpn: u32,
});

export const CREATE_QP_RESP = struct('ib_uverbs_create_qp_resp', {
  qp_handle: u32,
  qpn: u32,
  max_send_wr: u32,
  max_recv_wr: u32,
  max_send_sge: u32,
  max_recv_sge: u32,
  max_inline_data: u32,
  reserved: u32,
});

export const EX_CREATE_QP_RESP = struct('ib_uverbs_ex_create_qp_resp', {
  base: CREATE_QP_RESP,
  comp_mask: u32,
  response_length: u32,
});

export const QP_DEST = struct('ib_uverbs_qp_dest', {
  dgid: bytes(16),
  flow_label: u32,
  dlid: u16,
  reserved: u16,
  sgid_index: u8,
  hop_limit: u8,
  traffic_class: u8,
  sl: u8,
  src_path_bits: u8,
  static_rate: u8,
  is_global: u8,
  port_num: u8,
});

export const QUERY_QP = struct('ib_uverbs_query_qp', {
  response: u64,
  qp_handle: u32,
  attr_mask: u32,
});

export const QUERY_QP_RESP = struct('ib_uverbs_query_qp_resp', {
  dest: QP_DEST,
  alt_dest: QP_DEST,
  max_send_wr: u32,
  max_recv_wr: u32,
  max_send_sge: u32,
  max_recv_sge: u32,
  max_inline_data: u32,
  qkey: u32,
  rq_psn: u32,
  sq_psn: u32,
  dest_qp_num: u32,
  qp_access_flags: u32,
  pkey_index: u16,
  alt_pkey_index: u16,
  qp_state: u8,
  cur_qp_state: u8,
  path_mtu: u8,
  path_mig_state: u8,
  sq_draining: u8,
  max_rd_atomic: u8,
  max_dest_rd_atomic: u8,
  min_rnr_timer: u8,
  port_num: u8,
  timeout: u8,
  retry_cnt: u8,
  rnr_retry: u8,
  alt_port_num: u8,
  alt_timeout: u8,
  sq_sig_all: u8,
  reserved: bytes(5),
});

export const MODIFY_QP = struct('ib_uverbs_modify_qp', {
  dest: QP_DEST,
  alt_dest: QP_DEST,
  qp_handle: u32,
  attr_mask: u32,
  qkey: u32,
  rq_psn: u32,
  sq_psn: u32,
  dest_qp_num: u32,
  qp_access_flags: u32,
  pkey_index: u16,
  alt_pkey_index: u16,
  qp_state: u8,
  cur_qp_state: u8,
  path_mtu: u8,
  path_mig_state: u8,
  en_sqd_async_notify: u8,
  max_rd_atomic: u8,
  max_dest_rd_atomic: u8,
  min_rnr_timer: u8,
  port_num: u8,
  timeout: u8,
  retry_cnt: u8,
  rnr_retry: u8,
  alt_port_num: u8,
  alt_timeout: u8,
  reserved: bytes(2),
});

export const EX_MODIFY_QP = struct('ib_uverbs_ex_modify_qp', {
  base: MODIFY_QP,
  rate_limit: u32,
  reserved: u32,
});

export const EX_MODIFY_QP_RESP = struct('ib_uverbs_ex_modify_qp_resp', {
  comp_mask: u32,
  response_length: u32,
});

export const DESTROY_QP = struct('ib_uverbs_destroy_qp', {
  response: u64,
  qp_handle: u32,
  reserved: u32,
});

export const DESTROY_QP_RESP = struct('ib_uverbs_destroy_qp_resp', {
  events_reported: u32,
});

export const POST_SEND = struct('ib_uverbs_post_send', {
  response: u64,
  qp_handle: u32,
  wr_count: u32,
  sge_count: u32,
  wqe_size: u32,
});

export const POST_SEND_RESP = struct('ib_uverbs_post_send_resp', {
  bad_wr: u32,
});

export const CREATE_AH = struct('ib_uverbs_create_ah', {
  response: u64,
  user_handle: u64,
  pd_handle: u32,
  reserved: u32,
  attr: AH_ATTR,
});

export const CREATE_AH_RESP = struct('ib_uverbs_create_ah_resp', {
  ah_handle: u32,
});

export const DESTROY_AH = struct('ib_uverbs_destroy_ah', {
  ah_handle: u32,
});

export const ATTACH_MCAST = struct('ib_uverbs_attach_mcast', {
  gid: bytes(16),
  qp_handle: u32,
  mlid: u16,
  reserved: u16,
});

export const DETACH_MCAST = struct('ib_uverbs_detach_mcast', {
  gid: bytes(16),
  qp_handle: u32,
  mlid: u16,
  reserved: u16,
});

export const CREATE_SRQ = struct('ib_uverbs_create_srq', {
  response: u64,
  user_handle: u64,
  pd_handle: u32,
  max_wr: u32,
  max_sge: u32,
  srq_limit: u32,
});

export const CREATE_SRQ_RESP = struct('ib_uverbs_create_srq_resp', {
  srq_handle: u32,
  max_wr: u32,
  max_sge: u32,
  srqn: u32,
});

export const MODIFY_SRQ = struct('ib_uverbs_modify_srq', {
  srq_handle: u32,
  attr_mask: u32,
  max_wr: u32,
  srq_limit: u32,
});

export const QUERY_SRQ = struct('ib_uverbs_query_srq', {
  response: u64,
  srq_handle: u32,
  reserved: u32,
});

export const QUERY_SRQ_RESP = struct('ib_uverbs_query_srq_resp', {
  max_wr: u32,
  max_sge: u32,
  srq_limit: u32,
  reserved: u32,
});

export const DESTROY_SRQ = struct('ib_uverbs_destroy_srq', {
  response: u64,
  srq_handle: u32,
  reserved: u32,
});

export const DESTROY_SRQ_RESP = struct('ib_uverbs_destroy_srq_resp', {
  events_reported: u32,
});
