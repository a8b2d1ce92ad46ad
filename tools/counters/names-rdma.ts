/**
 * Counters of RDMA devices: the names of each driver, what they count, and where that is said.
 *
 * Owns facts only. A row is a name and its kind; what is common to the rows of a source stands once.
 */
import { type CounterName, namesOf } from './counter-name.ts';

const KERNEL = 'https://github.com/torvalds/linux/blob/master/';
const MLX5 = `${KERNEL}drivers/infiniband/hw/mlx5/counters.c`;
/** What mlx5's first counters mean, from the commit that added them. */
const MLX5_FIRST = 'https://git.zx2c4.com/linux-dev/commit/?id=0ad17a8f7fa000cbfc51eedd7fddd20f7664e4b6';
const MLX5_ACCELERATOR = 'https://git.zx2c4.com/linux-dev/commit/?id=d7fab916374c8f5488ca792c57ea8b72e8631213';
const EXPORTER = 'https://github.com/prometheus/node_exporter/pull/2827';
const BNXT = `${KERNEL}drivers/infiniband/hw/bnxt_re/hw_counters.c`;
const IRDMA = `${KERNEL}drivers/infiniband/hw/irdma/verbs.c`;
const RXE = `${KERNEL}drivers/infiniband/sw/rxe/rxe_hw_counters.c`;
const EFA = `${KERNEL}drivers/infiniband/hw/efa/efa_verbs.c`;
const HNS = `${KERNEL}drivers/infiniband/hw/hns/hns_roce_main.c`;
const IONIC = 'https://github.com/ROCm/rocm-systems/pull/5016, https://github.com/ROCm/rocm-systems/pull/4961';
/** AMD's list, where these names are in capitals and begin with RDMA_. */
const AMD =
  'https://github.com/sundar-pds/rocm-device-metrics-exporter/blob/8172de0e3bec85ccfcba8ba9f5a49ffc9cabd827/docs/configuration/network-metricslist.md';
const CM = `${KERNEL}drivers/infiniband/core/cm.c`;

/** The 32 bits are those of `mlx5_ib_query_q_counters`. */
const MLX5_NAMES = [
  ...namesOf(
    'mlx5_ib',
    `${MLX5}, ${MLX5_FIRST}`,
    {
      out_of_buffer: 'no-receive',
      out_of_sequence: 'out-of-sequence',
      duplicate_request: 'duplicate-request',
      rnr_nak_retry_err: 'rnr-nak-received',
      packet_seq_err: 'sequence-nak',
      implied_nak_seq_err: 'implied-nak',
      local_ack_timeout_err: 'ack-timeout',
    },
    { bits: 32 },
  ),
  ...namesOf(
    'mlx5_ib',
    `${MLX5}, ${EXPORTER}`,
    {
      req_remote_invalid_request: 'invalid-request',
      req_remote_access_errors: 'access-error',
      resp_remote_access_errors: 'access-refused',
      req_transport_retries_exceeded: 'retry-exceeded',
      req_rnr_retries_exceeded: 'rnr-exceeded',
    },
    { bits: 32 },
  ),
  ...namesOf(
    'mlx5_ib',
    MLX5_ACCELERATOR,
    {
      roce_adp_retrans: 'adaptive-retransmission',
      roce_adp_retrans_to: 'adaptive-timeout',
      roce_slow_restart: 'slow-restart',
    },
    { bits: 32 },
  ),
  ...namesOf('mlx5_ib', MLX5, {
    np_ecn_marked_roce_packets: 'ecn-marked',
    np_cnp_sent: 'cnp-sent',
    rp_cnp_handled: 'cnp-handled',
    rp_cnp_ignored: 'cnp-ignored',
    rx_icrc_encapsulated: 'icrc-error',
    rdma_rx_packets: 'rx-packets',
    rdma_tx_packets: 'tx-packets',
  }),
];

const BNXT_NAMES = [
  ...namesOf('bnxt_re', BNXT, {
    rx_pkts: 'rx-packets',
    tx_pkts: 'tx-packets',
    rx_roce_discards: 'rx-discard',
    to_retransmits: 'ack-timeout',
    seq_err_naks_rcvd: 'sequence-nak',
    max_retry_exceeded: 'retry-exceeded',
    rnr_naks_rcvd: 'rnr-nak-received',
    missing_resp: 'implied-nak',
    remote_invalid_req_err: 'invalid-request',
    remote_access_err: 'access-error',
    remote_op_err: 'operation-error',
    dup_req: 'duplicate-request',
    oos_drop_count: 'out-of-sequence',
    rx_out_of_buffer: 'no-receive',
  }),
  ...namesOf(
    'bnxt_re',
    BNXT,
    {
      res_rx_invalid_rkey: 'access-refused',
      res_rx_domain_err: 'access-refused',
      res_rx_no_perm: 'access-refused',
      res_rx_range_err: 'access-refused',
      res_opcode_err: 'invalid-refused',
      res_unsup_opcode: 'invalid-refused',
      res_unaligned_atomic: 'invalid-refused',
      res_length_mismatch: 'invalid-refused',
      res_mem_err: 'operation-refused',
    },
    { part: true },
  ),
];

const OTHER_NAMES = [
  ...namesOf('irdma', IRDMA, {
    'RNR sent': 'rnr-nak-sent',
    'RNR received': 'rnr-nak-received',
    'Nak Sequence Error': 'sequence-nak',
    'Nak Sequence Error Implied': 'implied-nak',
    RTO: 'ack-timeout',
    'Rcvd Out of order packets': 'out-of-sequence',
    'CRC errors': 'icrc-error',
    cnpSent: 'cnp-sent',
    cnpHandled: 'cnp-handled',
    cnpIgnored: 'cnp-ignored',
    RxECNMrkd: 'ecn-marked',
    RxUDP: 'rx-packets',
    TxUDP: 'tx-packets',
  }),
  ...namesOf('irdma', IRDMA, { RetransSegs: 'retransmission', tcpRetransSegs: 'retransmission' }),
  ...namesOf('irdma', IRDMA, { ip4InDiscards: 'rx-discard', ip6InDiscards: 'rx-discard' }, { part: true }),
  ...namesOf('rdma_rxe', RXE, {
    sent_pkts: 'tx-packets',
    rcvd_pkts: 'rx-packets',
    duplicate_request: 'duplicate-request',
    out_of_seq_request: 'out-of-sequence',
    rcvd_rnr_err: 'rnr-nak-received',
    send_rnr_err: 'rnr-nak-sent',
    rcvd_seq_err: 'sequence-or-implied-nak',
    retry_exceeded_err: 'retry-exceeded',
    retry_rnr_exceeded_err: 'rnr-exceeded',
    link_downed: 'link-down',
  }),
  ...namesOf('efa', EFA, {
    retrans_pkts: 'retransmission',
    retrans_timeout_events: 'ack-timeout',
    rx_drops: 'rx-discard',
  }),
  ...namesOf(
    'efa',
    EFA,
    {
      unresponsive_remote_events: 'dead-peer',
      impaired_remote_conn_events: 'dead-peer',
    },
    { part: true },
  ),
  ...namesOf(
    'hns_roce',
    HNS,
    { rx_rc_pkt: 'rx-packets', rx_uc_pkt: 'rx-packets', rx_ud_pkt: 'rx-packets' },
    { part: true },
  ),
  ...namesOf('ionic', IONIC, {
    tx_rdma_ack_timeout: 'ack-timeout',
    tx_rdma_retx_pkts: 'retransmission',
    rx_rdma_mtu_discard_pkts: 'oversize',
  }),
  ...namesOf('ionic', AMD, {
    tx_rdma_cnp_pkts: 'cnp-sent',
    rx_rdma_cnp_pkts: 'cnp-received',
    rx_rdma_ecn_pkts: 'ecn-marked',
    rx_rdma_ucast_pkts: 'rx-packets',
    tx_rdma_ucast_pkts: 'tx-packets',
    req_rx_pkt_seq_err: 'sequence-nak',
    req_rx_impl_nak_seq_err: 'implied-nak',
    req_rx_rnr_retry_err: 'rnr-nak-received',
    req_rx_rmt_acc_err: 'access-error',
    req_rx_rmt_req_err: 'invalid-request',
    req_rx_oper_err: 'operation-error',
    req_tx_retry_excd_err: 'retry-exceeded',
    resp_rx_dup_request: 'duplicate-request',
    resp_rx_outouf_seq: 'out-of-sequence',
    resp_rx_outof_buf: 'no-receive',
    resp_tx_rmt_acc_err: 'access-refused',
    resp_tx_rmt_inval_req_err: 'invalid-refused',
    resp_tx_rmt_oper_err: 'operation-refused',
    resp_tx_rnr_retry_err: 'rnr-nak-sent',
  }),
  ...namesOf('ib_cm', CM, {
    'cm_rx_msgs/rej': 'cm-reject-received',
    'cm_rx_msgs/rep': 'cm-reply-received',
    'cm_tx_retries/req': 'cm-request-retry',
    'cm_rx_duplicates/req': 'cm-duplicate',
  }),
];

/** What this project's own devices add to the names above: `PortCounters`, `DeviceCounters`, the connection manager. */
const OWN_NAMES = namesOf(
  'rocev2',
  'transport/counters.ts, src/device/counters.ts, transport/cm/core.ts',
  {
    retransmitted_pkts: 'retransmission',
    req_remote_operation_errors: 'operation-error',
    refused_request: 'request-refused',
    bad_address: 'wrong-address',
    bad_icrc: 'icrc-error',
    no_receive: 'no-receive',
    'cm_own/no_listener': 'cm-refused',
    'cm_own/refused': 'cm-refused',
    'cm_own/backlog_full': 'cm-backlog-full',
    'cm_own/duplicate': 'cm-duplicate',
    'cm_own/ok': 'cm-accepted',
  },
  { part: true },
);

/** All of them. */
export const RDMA_NAMES: readonly CounterName[] = [...MLX5_NAMES, ...BNXT_NAMES, ...OTHER_NAMES, ...OWN_NAMES];
