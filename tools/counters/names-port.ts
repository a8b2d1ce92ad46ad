/**
 * Counters of Ethernet ports: `ethtool -S` of each driver, and columns of switches. Owns facts only.
 */
import { type CounterName, namesOf } from './counter-name.ts';

const KERNEL = 'https://github.com/torvalds/linux/blob/master/';
const MLX5_ETHTOOL = `${KERNEL}Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst`;
const BNXT_ETHTOOL = 'https://github.com/ROCm/rocm-systems/pull/3414, https://github.com/ROCm/rocm-systems/pull/5016';
const ICE = `${KERNEL}drivers/net/ethernet/intel/ice/ice_ethtool.c`;
const HNS3 = `${KERNEL}drivers/net/ethernet/hisilicon/hns3/hns3pf/hclge_main.h`;
const IONIC = 'https://github.com/ROCm/rocm-systems/pull/5016';
const AMD =
  'https://github.com/sundar-pds/rocm-device-metrics-exporter/blob/8172de0e3bec85ccfcba8ba9f5a49ffc9cabd827/docs/configuration/network-metricslist.md';
const SAI = 'https://github.com/opencomputeproject/SAI/blob/master/inc/saiport.h';
const SYSFS = `${KERNEL}Documentation/ABI/stable/sysfs-class-infiniband`;

/** All of them. */
export const PORT_NAMES: readonly CounterName[] = [
  ...namesOf('mlx5 ethtool', MLX5_ETHTOOL, {
    'rx_prio{p}_pause': 'pause-rx',
    'tx_prio{p}_pause': 'pause-tx',
    'rx_prio{p}_pause_duration': 'pause-rx-time',
    'tx_prio{p}_pause_duration': 'pause-tx-time',
    'rx_prio{p}_packets': 'priority-rx',
    'tx_prio{p}_packets': 'priority-tx',
    rx_global_pause: 'pause-rx',
    tx_global_pause: 'pause-tx',
    rx_global_pause_duration: 'pause-rx-time',
    tx_global_pause_duration: 'pause-tx-time',
    rx_pause_ctrl_phy: 'pause-rx',
    tx_pause_ctrl_phy: 'pause-tx',
    'rx_prio{p}_discards': 'rx-discard',
    'rx_prio{p}_buf_discard': 'rx-discard',
    'rx_prio{p}_cong_discard': 'rx-discard',
    rx_discards_phy: 'rx-discard',
    tx_discards_phy: 'tx-discard',
    'rx_prio{p}_marked': 'ecn-set',
    rx_oversize_pkts_phy: 'oversize',
    rx_out_of_range_len_phy: 'oversize',
    tx_errors_phy: 'oversize',
    rx_crc_errors_phy: 'frame-error',
    rx_symbol_err_phy: 'frame-error',
    link_down_events_phy: 'link-down',
    rx_vport_rdma_unicast_packets: 'rx-packets',
    tx_vport_rdma_unicast_packets: 'tx-packets',
  }),
  ...namesOf('bnxt_en ethtool', BNXT_ETHTOOL, {
    'rx_pfc_ena_frames_pri{p}': 'pause-rx',
    'tx_pfc_ena_frames_pri{p}': 'pause-tx',
  }),
  ...namesOf('ice ethtool', ICE, {
    'rx_priority_{p}_xoff.nic': 'pause-rx',
    'tx_priority_{p}_xoff.nic': 'pause-tx',
    'link_xoff_rx.nic': 'pause-rx',
    'link_xoff_tx.nic': 'pause-tx',
    'rx_dropped.nic': 'rx-discard',
    'tx_dropped_link_down.nic': 'tx-discard',
    'rx_oversize.nic': 'oversize',
    'rx_crc_errors.nic': 'frame-error',
  }),
  ...namesOf('hns3 ethtool', HNS3, {
    'mac_rx_pfc_pri{p}_pkt_num': 'pause-rx',
    'mac_tx_pfc_pri{p}_pkt_num': 'pause-tx',
  }),
  ...namesOf('ionic ethtool', IONIC, {
    'frames_rx_pripause{p}': 'pause-rx',
    'frames_tx_pripause{p}': 'pause-tx',
  }),
  ...namesOf('ionic ethtool', AMD, {
    frames_rx_pripause: 'pause-rx',
    frames_tx_pripause: 'pause-tx',
    'frames_rx_pri_{p}': 'priority-rx',
    'frames_tx_pri_{p}': 'priority-tx',
  }),
  ...namesOf('sysfs counters', SYSFS, {
    port_xmit_discards: 'tx-discard',
    link_downed: 'link-down',
    symbol_error: 'symbol-error',
  }),
  ...namesOf('switch (SAI)', SAI, {
    'SAI_PORT_STAT_PFC_{p}_RX_PKTS': 'pause-rx',
    'SAI_PORT_STAT_PFC_{p}_TX_PKTS': 'pause-tx',
    'SAI_PORT_STAT_PFC_{p}_RX_PAUSE_DURATION': 'pause-rx-time',
    'SAI_PORT_STAT_PFC_{p}_TX_PAUSE_DURATION': 'pause-tx-time',
    SAI_PORT_STAT_IF_IN_DISCARDS: 'rx-discard',
    SAI_PORT_STAT_IF_OUT_DISCARDS: 'tx-discard',
    SAI_PORT_STAT_ECN_MARKED_PACKETS: 'ecn-set',
  }),
];
