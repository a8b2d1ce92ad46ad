/**
 * The attributes of a device, in the terms and the layout of ibv_devinfo. Owns the text. What this stack does not have
 * (other transports' limits, offloads) is left out rather than printed as zero; what the standard fixes is printed as
 * it fixes it.
 */

import type { RdmaDevice, VlanOptions } from 'rocev2';
import { dscpOf, ECN_MASK, type IpPrefix, Medium, RoceError } from 'rocev2/packets';
import { MAX_MESSAGE_BYTES } from 'rocev2/transport';

type Entry = readonly [string, string | number];

export interface DevinfoOptions {
  readonly version: string;
  /** -v: all attributes and the GID table. */
  readonly verbose?: boolean;
}

/** Lines without their line ends; the last is empty, as ibv_devinfo ends each port. */
export function describeDevice(device: RdmaDevice, options: DevinfoOptions): string[] {
  const { verbose = false } = options;
  return [
    `hca_id:\t${device.name}`,
    ...deviceLines(device, options.version),
    ...(verbose ? limitLines(device) : []),
    ...portLines(device),
    ...(verbose ? [...verbosePortLines(device), ...device.addresses.map(gidLine)] : []),
    '',
  ];
}

function deviceLines(device: RdmaDevice, version: string): string[] {
  const guid = guidText(device.guid);
  return attributes(1, 32, [
    ['transport', 'InfiniBand (0)'],
    ['fw_ver', version],
    ['node_guid', guid],
    ['sys_image_guid', guid],
    ['vendor_id', '0xffffff'],
    ['vendor_part_id', '0'],
    ['hw_ver', '0x0'],
    ['phys_port_cnt', '1'],
  ]);
}

function limitLines({ limits }: RdmaDevice): string[] {
  return attributes(1, 32, [
    ['max_mr_size', `0x${LARGEST_REGION_BYTES.toString(16)}`],
    ['page_size_cap', `0x${PAGE_SIZES.toString(16)}`],
    ['max_qp', limits.maxQp],
    ['max_qp_wr', limits.maxQpWr],
    ['max_sge', limits.maxSge],
    ['max_sge_rd', limits.maxSge],
    ['max_cqe', limits.maxCqe],
    ['max_mr', limits.maxMr],
    ['max_qp_rd_atom', limits.maxQpRdAtom],
    ['max_qp_init_rd_atom', limits.maxQpRdAtom],
    ['atomic_cap', 'ATOMIC_HCA (1)'],
    ['max_pkeys', '1'],
    ['max_inline_data', limits.maxInlineData],
    ['local_ca_ack_delay', LOCAL_CA_ACK_DELAY],
  ]);
}

function portLines(device: RdmaDevice): string[] {
  const link = device.medium === Medium.Ethernet ? 'Ethernet' : 'Unspecified';
  return [
    '\t\tport:\t1',
    ...attributes(3, 24, [
      ['state', 'PORT_ACTIVE (4)'],
      ['max_mtu', mtuText(LARGEST_PATH_MTU)],
      ['active_mtu', mtuText(device.activeMtu)],
      ['sm_lid', '0'],
      ['port_lid', '0'],
      ['port_lmc', '0x00'],
      ['link_layer', link],
      ...(device.vlan === undefined ? [] : [['vlan', vlanText(device.vlan)] as const]),
    ]),
  ];
}

function verbosePortLines(device: RdmaDevice): string[] {
  return attributes(3, 24, [
    ['max_msg_sz', `0x${MAX_MESSAGE_BYTES.toString(16)}`],
    ['pkey_tbl_len', '1'],
    ['gid_tbl_len', device.addresses.length],
    ['phys_state', 'LINK_UP (5)'],
    ...pathEntries(device),
  ]);
}

/** Packet settings of this device; ibv_devinfo has no lines for them. */
function pathEntries(device: RdmaDevice): Entry[] {
  const { trafficClass, hopLimit, flowLabel, sourcePort } = device.pathTraits;
  const entries: (readonly [string, string | number | undefined])[] = [
    ['traffic_class', trafficClass === undefined ? undefined : classText(trafficClass)],
    ['hop_limit', hopLimit],
    ['flow_label', flowLabel === undefined ? undefined : `0x${flowLabel.toString(16).padStart(5, '0')}`],
    ['udp_sport', sourcePort],
  ];
  return entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
}

function vlanText({ id, priority = 0 }: VlanOptions): string {
  return `${id} (priority ${priority})`;
}

function classText(trafficClass: number): string {
  return `0x${trafficClass.toString(16).padStart(2, '0')} (DSCP ${dscpOf(trafficClass)}, ECN ${trafficClass & ECN_MASK})`;
}

/**
 * The table of GIDs holds the device's addresses in their order; one of version 4 is printed as the GID that maps it.
 */
function gidLine({ address }: IpPrefix, index: number): string {
  const gid = address.version === 4 ? `::ffff:${address}` : `${address}`;
  return `\t\t\tGID[${String(index).padStart(3)}]:\t\t${gid}, RoCE v2`;
}

/** Lines of name and value, the values in one column `width` places after the indentation; tabs are 8 places wide. */
function attributes(tabs: number, width: number, entries: readonly Entry[]): string[] {
  return entries.map(([name, value]) => {
    const gap = Math.max(1, Math.ceil((width - name.length - 1) / 8));
    return `${'\t'.repeat(tabs)}${name}:${'\t'.repeat(gap)}${value}`;
  });
}

/** As `ibv_mtu`: 256 is 1, 4096 is 5. */
function mtuText(bytes: number): string {
  const code = Math.log2(bytes) - 7;
  if (!Number.isInteger(code)) throw new RoceError('ERR_ROCE_ARGUMENT', `${bytes} bytes are no path MTU`);
  return `${bytes} (${code})`;
}

function guidText(guid: bigint): string {
  return guid
    .toString(16)
    .padStart(16, '0')
    .replace(/(?<=.)(?=(?:.{4})+$)/g, ':');
}

const LARGEST_PATH_MTU = 4096;
/** What a byte array of JavaScript can hold everywhere. */
const LARGEST_REGION_BYTES = 2 ** 32;
/** Memory has no pages here; rdma_rxe says 4 KiB and up, and so do we. */
const PAGE_SIZES = 0xff_ff_f0_00;
/** As rdma_rxe: 4.096 us * 2^15. */
const LOCAL_CA_ACK_DELAY = 15;
