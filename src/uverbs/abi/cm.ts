/**
 * Structures of the write() commands of rdma_cm, as <rdma/rdma_user_cm.h> and <rdma/ib_user_sa.h> have them. A test
 * compiles these headers and compares every size and offset.
 */
import { AH_ATTR } from './queues.ts';
import { bytes, struct, u8, u16, u32, u64 } from './struct.ts';

export const CM_CMD_HDR = struct('rdma_ucm_cmd_hdr', {
  cmd: u32,
  in: u16,
  out: u16,
});

export const CREATE_ID = struct('rdma_ucm_create_id', {
  uid: u64,
  response: u64,
  ps: u16,
  qp_type: u8,
  reserved: bytes(5),
});

export const CREATE_ID_RESP = struct('rdma_ucm_create_id_resp', {
  id: u32,
});

export const DESTROY_ID = struct('rdma_ucm_destroy_id', {
  response: u64,
  id: u32,
  reserved: u32,
});

export const DESTROY_ID_RESP = struct('rdma_ucm_destroy_id_resp', {
  events_reported: u32,
});

export const BIND_IP = struct('rdma_ucm_bind_ip', {
  response: u64,
  addr: bytes(28, 4),
  id: u32,
});

export const BIND = struct('rdma_ucm_bind', {
  id: u32,
  addr_size: u16,
  reserved: u16,
  addr: bytes(128, 8),
});

export const RESOLVE_IP = struct('rdma_ucm_resolve_ip', {
  src_addr: bytes(28, 4),
  dst_addr: bytes(28, 4),
  id: u32,
  timeout_ms: u32,
});

export const RESOLVE_ADDR = struct('rdma_ucm_resolve_addr', {
  id: u32,
  timeout_ms: u32,
  src_size: u16,
  dst_size: u16,
  reserved: u32,
  src_addr: bytes(128, 8),
  dst_addr: bytes(128, 8),
});

export const RESOLVE_ROUTE = struct('rdma_ucm_resolve_route', {
  id: u32,
  timeout_ms: u32,
});

export const CM_QUERY = struct('rdma_ucm_query', {
  response: u64,
  id: u32,
  option: u32,
});

export const QUERY_ADDR_RESP = struct('rdma_ucm_query_addr_resp', {
  node_guid: u64,
  port_num: u8,
  reserved: u8,
  pkey: u16,
  src_size: u16,
  dst_size: u16,
  src_addr: bytes(128, 8),
  dst_addr: bytes(128, 8),
  ibdev_index: u32,
  reserved1: u32,
});

export const QUERY_PATH_RESP = struct('rdma_ucm_query_path_resp', {
  num_paths: u32,
  reserved: u32,
});

export const CONN_PARAM = struct('rdma_ucm_conn_param', {
  qp_num: u32,
  qkey: u32,
  private_data: bytes(256),
  private_data_len: u8,
  srq: u8,
  responder_resources: u8,
  initiator_depth: u8,
  flow_control: u8,
  retry_count: u8,
  rnr_retry_count: u8,
  valid: u8,
});

export const UD_PARAM = struct('rdma_ucm_ud_param', {
  qp_num: u32,
  qkey: u32,
  ah_attr: AH_ATTR,
  private_data: bytes(256),
  private_data_len: u8,
  reserved: bytes(7),
});

export const ECE = struct('rdma_ucm_ece', {
  vendor_id: u32,
  attr_mod: u32,
});

export const CONNECT = struct('rdma_ucm_connect', {
  conn_param: CONN_PARAM,
  id: u32,
  reserved: u32,
  ece: ECE,
});

export const LISTEN = struct('rdma_ucm_listen', {
  id: u32,
  backlog: u32,
});

export const ACCEPT = struct('rdma_ucm_accept', {
  uid: u64,
  conn_param: CONN_PARAM,
  id: u32,
  reserved: u32,
  ece: ECE,
});

export const REJECT = struct('rdma_ucm_reject', {
  id: u32,
  private_data_len: u8,
  reason: u8,
  reserved: bytes(2),
  private_data: bytes(256),
});

export const DISCONNECT = struct('rdma_ucm_disconnect', {
  id: u32,
});

export const INIT_QP_ATTR = struct('rdma_ucm_init_qp_attr', {
  response: u64,
  id: u32,
  qp_state: u32,
});

export const NOTIFY = struct('rdma_ucm_notify', {
  id: u32,
  event: u32,
});

export const JOIN_IP_MCAST = struct('rdma_ucm_join_ip_mcast', {
  response: u64,
  uid: u64,
  addr: bytes(28, 4),
  id: u32,
});

export const JOIN_MCAST = struct('rdma_ucm_join_mcast', {
  response: u64,
  uid: u64,
  id: u32,
  addr_size: u16,
  join_flags: u16,
  addr: bytes(128, 8),
});

export const GET_EVENT = struct('rdma_ucm_get_event', {
  response: u64,
});

export const SET_OPTION = struct('rdma_ucm_set_option', {
  optval: u64,
  id: u32,
  level: u32,
  optname: u32,
  optlen: u32,
});

export const MIGRATE_ID = struct('rdma_ucm_migrate_id', {
  response: u64,
  id: u32,
  fd: u32,
});

export const MIGRATE_RESP = struct('rdma_ucm_migrate_resp', {
  events_reported: u32,
});

export const USER_PATH_REC = struct('ib_user_path_rec', {
  dgid: bytes(16),
  sgid: bytes(16),
  dlid: u16,
  slid: u16,
  raw_traffic: u32,
  flow_label: u32,
  reversible: u32,
  mtu: u32,
  pkey: u16,
  hop_limit: u8,
  traffic_class: u8,
  numb_path: u8,
  sl: u8,
  mtu_selector: u8,
  rate_selector: u8,
  rate: u8,
  packet_life_time_selector: u8,
  packet_life_time: u8,
  preference: u8,
});

export const QUERY_ROUTE_RESP = struct('rdma_ucm_query_route_resp', {
  node_guid: u64,
  ib_route: bytes(2 * USER_PATH_REC.size, 4),
  src_addr: bytes(28, 4),
  dst_addr: bytes(28, 4),
  num_paths: u32,
  port_num: u8,
  reserved: bytes(3),
  ibdev_index: u32,
  reserved1: u32,
});

export const PATH_REC_DATA = struct('ib_path_rec_data', { flags: u32, reserved: u32, path_rec: bytes(64, 4) });

/** At `param` stands a CONN_PARAM or a UD_PARAM. */
export const EVENT_RESP = struct('rdma_ucm_event_resp', {
  uid: u64,
  id: u32,
  event: u32,
  status: u32,
  param: bytes(UD_PARAM.size, 4),
  reserved: u32,
  ece: ECE,
});
