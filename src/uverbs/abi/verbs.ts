/**
 * Structures of the write() commands of uverbs, as <rdma/ib_user_verbs.h> has them: contexts, devices, domains, memory,
 * completion queues. A test compiles that header and compares every size and offset.
 */
import { be64, bytes, s32, struct, u8, u16, u32, u64 } from './struct.ts';

export const CMD_HDR = struct('ib_uverbs_cmd_hdr', {
  command: u32,
  in_words: u16,
  out_words: u16,
});

export const EX_CMD_HDR = struct('ib_uverbs_ex_cmd_hdr', {
  response: u64,
  provider_in_words: u16,
  provider_out_words: u16,
  cmd_hdr_reserved: u32,
});

export const ASYNC_EVENT_DESC = struct('ib_uverbs_async_event_desc', {
  element: u64,
  event_type: u32,
  reserved: u32,
});

export const COMP_EVENT_DESC = struct('ib_uverbs_comp_event_desc', {
  cq_handle: u64,
});

export const GET_CONTEXT = struct('ib_uverbs_get_context', {
  response: u64,
});

export const GET_CONTEXT_RESP = struct('ib_uverbs_get_context_resp', {
  async_fd: u32,
  num_comp_vectors: u32,
});

export const QUERY_DEVICE = struct('ib_uverbs_query_device', {
  response: u64,
});

export const QUERY_DEVICE_RESP = struct('ib_uverbs_query_device_resp', {
  fw_ver: u64,
  node_guid: be64,
  sys_image_guid: be64,
  max_mr_size: u64,
  page_size_cap: u64,
  vendor_id: u32,
  vendor_part_id: u32,
  hw_ver: u32,
  max_qp: u32,
  max_qp_wr: u32,
  device_cap_flags: u32,
  max_sge: u32,
  max_sge_rd: u32,
  max_cq: u32,
  max_cqe: u32,
  max_mr: u32,
  max_pd: u32,
  max_qp_rd_atom: u32,
  max_ee_rd_atom: u32,
  max_res_rd_atom: u32,
  max_qp_init_rd_atom: u32,
  max_ee_init_rd_atom: u32,
  atomic_cap: u32,
  max_ee: u32,
  max_rdd: u32,
  max_mw: u32,
  max_raw_ipv6_qp: u32,
  max_raw_ethy_qp: u32,
  max_mcast_grp: u32,
  max_mcast_qp_attach: u32,
  max_total_mcast_qp_attach: u32,
  max_ah: u32,
  max_fmr: u32,
  max_map_per_fmr: u32,
  max_srq: u32,
  max_srq_wr: u32,
  max_srq_sge: u32,
  max_pkeys: u16,
  local_ca_ack_delay: u8,
  phys_port_cnt: u8,
  reserved: bytes(4),
});

export const EX_QUERY_DEVICE = struct('ib_uverbs_ex_query_device', {
  comp_mask: u32,
  reserved: u32,
});

export const QUERY_PORT = struct('ib_uverbs_query_port', {
  response: u64,
  port_num: u8,
  reserved: bytes(7),
});

export const QUERY_PORT_RESP = struct('ib_uverbs_query_port_resp', {
  port_cap_flags: u32,
  max_msg_sz: u32,
  bad_pkey_cntr: u32,
  qkey_viol_cntr: u32,
  gid_tbl_len: u32,
  pkey_tbl_len: u16,
  lid: u16,
  sm_lid: u16,
  state: u8,
  max_mtu: u8,
  active_mtu: u8,
  lmc: u8,
  max_vl_num: u8,
  sm_sl: u8,
  subnet_timeout: u8,
  init_type_reply: u8,
  active_width: u8,
  active_speed: u8,
  phys_state: u8,
  link_layer: u8,
  flags: u8,
  reserved: u8,
});

export const ALLOC_PD = struct('ib_uverbs_alloc_pd', {
  response: u64,
});

export const ALLOC_PD_RESP = struct('ib_uverbs_alloc_pd_resp', {
  pd_handle: u32,
});

export const DEALLOC_PD = struct('ib_uverbs_dealloc_pd', {
  pd_handle: u32,
});

export const REG_MR = struct('ib_uverbs_reg_mr', {
  response: u64,
  start: u64,
  length: u64,
  hca_va: u64,
  pd_handle: u32,
  access_flags: u32,
});

export const REG_MR_RESP = struct('ib_uverbs_reg_mr_resp', {
  mr_handle: u32,
  lkey: u32,
  rkey: u32,
});

export const REREG_MR = struct('ib_uverbs_rereg_mr', {
  response: u64,
  mr_handle: u32,
  flags: u32,
  start: u64,
  length: u64,
  hca_va: u64,
  pd_handle: u32,
  access_flags: u32,
});

export const REREG_MR_RESP = struct('ib_uverbs_rereg_mr_resp', {
  lkey: u32,
  rkey: u32,
});

export const DEREG_MR = struct('ib_uverbs_dereg_mr', {
  mr_handle: u32,
});

export const ALLOC_MW = struct('ib_uverbs_alloc_mw', {
  response: u64,
  pd_handle: u32,
  mw_type: u8,
  reserved: bytes(3),
});

export const ALLOC_MW_RESP = struct('ib_uverbs_alloc_mw_resp', {
  mw_handle: u32,
  rkey: u32,
});

export const DEALLOC_MW = struct('ib_uverbs_dealloc_mw', {
  mw_handle: u32,
});

export const CREATE_COMP_CHANNEL = struct('ib_uverbs_create_comp_channel', {
  response: u64,
});

export const CREATE_COMP_CHANNEL_RESP = struct('ib_uverbs_create_comp_channel_resp', {
  fd: u32,
});

export const CREATE_CQ = struct('ib_uverbs_create_cq', {
  response: u64,
  user_handle: u64,
  cqe: u32,
  comp_vector: u32,
  comp_channel: s32,
  reserved: u32,
});

export const EX_CREATE_CQ = struct('ib_uverbs_ex_create_cq', {
  user_handle: u64,
  cqe: u32,
  comp_vector: u32,
  comp_channel: s32,
  comp_mask: u32,
  flags: u32,
  reserved: u32,
});

export const CREATE_CQ_RESP = struct('ib_uverbs_create_cq_resp', {
  cq_handle: u32,
  cqe: u32,
});

export const EX_CREATE_CQ_RESP = struct('ib_uverbs_ex_create_cq_resp', {
  base: CREATE_CQ_RESP,
  comp_mask: u32,
  response_length: u32,
});

export const RESIZE_CQ = struct('ib_uverbs_resize_cq', {
  response: u64,
  cq_handle: u32,
  cqe: u32,
});

export const RESIZE_CQ_RESP = struct('ib_uverbs_resize_cq_resp', {
  cqe: u32,
  reserved: u32,
});

export const WC = struct('ib_uverbs_wc', {
  wr_id: u64,
  status: u32,
  opcode: u32,
  vendor_err: u32,
  byte_len: u32,
  ex: u32,
  qp_num: u32,
  src_qp: u32,
  wc_flags: u32,
  pkey_index: u16,
  slid: u16,
  sl: u8,
  dlid_path_bits: u8,
  port_num: u8,
  reserved: u8,
});

export const REQ_NOTIFY_CQ = struct('ib_uverbs_req_notify_cq', {
  cq_handle: u32,
  solicited_only: u32,
});

export const DESTROY_CQ = struct('ib_uverbs_destroy_cq', {
  response: u64,
  cq_handle: u32,
  reserved: u32,
});

export const DESTROY_CQ_RESP = struct('ib_uverbs_destroy_cq_resp', {
  comp_events_reported: u32,
  async_events_reported: u32,
});

export const EX_QUERY_DEVICE_RESP = struct('ib_uverbs_ex_query_device_resp', {
  base: QUERY_DEVICE_RESP,
  comp_mask: u32,
  response_length: u32,
  odp_caps: bytes(24, 8),
  timestamp_mask: u64,
  hca_core_clock: u64,
  device_cap_flags_ex: u64,
  rss_caps: bytes(16, 4),
  max_wq_type_rq: u32,
  raw_packet_caps: u32,
  tm_caps: bytes(24, 4),
  cq_moderation_caps: bytes(8, 4),
  max_dm_size: u64,
  xrc_odp_caps: u32,
  reserved: u32,
});
