/**
 * What libibverbs, librdmacm and their like read below /sys of a device of rdma_rxe: names and texts as the kernel
 * writes them (linux:core/sysfs.c, linux:core/uverbs_main.c, linux:core/ucma.c). The name begins with "rxe" because the
 * provider is chosen by it.
 */
import { IpAddress } from '../../packets/address.ts';
import type { DeviceFacts } from './device-facts.ts';

const VERBS_ABI = 6;
const RXE_ABI = 2;
const CM_ABI = 4;
const NO_GID = new IpAddress(6, 0, 0, 0, 0);

/** The device's name: libibverbs finds its provider by it. */
export const DEVICE_NAME = 'rxe0';
/** The name of its character device. */
export const UVERBS_NAME = 'uverbs0';

/** Paths below /sys, and what stands there, without the newline at the end. `netdev`: the network interface. */
export function sysfsOf(facts: DeviceFacts, netdev: string): ReadonlyMap<string, string> {
  const device = `class/infiniband/${DEVICE_NAME}`;
  const port = `${device}/ports/1`;
  const guid = words(facts.guid);
  const texts: [string, string][] = [
    [`${device}/node_type`, '1: CA'],
    [`${device}/node_guid`, guid],
    [`${device}/sys_image_guid`, guid],
    [`${device}/node_desc`, DEVICE_NAME],
    [`${device}/fw_ver`, ''],
    [`${device}/parent`, netdev],
    [`${port}/state`, '4: ACTIVE'],
    [`${port}/phys_state`, '5: LinkUp'],
    [`${port}/link_layer`, 'Ethernet'],
    [`${port}/rate`, '2.5 Gb/sec (1X SDR)'],
    [`${port}/lid`, '0x0'],
    [`${port}/sm_lid`, '0x0'],
    [`${port}/sm_sl`, '0'],
    [`${port}/lid_mask_count`, '0'],
    [`${port}/cap_mask`, '0x00010000'],
    [`${port}/pkeys/0`, '0xffff'],
    ['class/infiniband_verbs/abi_version', `${VERBS_ABI}`],
    [`class/infiniband_verbs/${UVERBS_NAME}/ibdev`, DEVICE_NAME],
    [`class/infiniband_verbs/${UVERBS_NAME}/abi_version`, `${RXE_ABI}`],
    [`class/infiniband_verbs/${UVERBS_NAME}/dev`, '231:192'],
    ['class/misc/rdma_cm/abi_version', `${CM_ABI}`],
    ['class/misc/rdma_cm/dev', '10:120'],
  ];
  for (const [index, gid] of facts.gids.entries()) {
    texts.push([`${port}/gids/${index}`, gidText(gid)]);
    texts.push([`${port}/gid_attrs/types/${index}`, 'RoCE v2']);
    texts.push([`${port}/gid_attrs/ndevs/${index}`, netdev]);
  }
  for (let index = facts.gids.length; index < facts.gidTableLength; index++) {
    texts.push([`${port}/gids/${index}`, gidText(NO_GID)]);
    // The kernel refuses to read it with EINVAL, which a file cannot; libibverbs makes this of it.
    texts.push([`${port}/gid_attrs/types/${index}`, 'IB/RoCE v1']);
  }
  return new Map(texts);
}

/** 64 bits as four groups of hexadecimal digits. */
function words(value: bigint): string {
  return groups(value.toString(16).padStart(16, '0'));
}

function gidText(gid: IpAddress): string {
  return groups([gid.w0, gid.w1, gid.w2, gid.w3].map((word) => word.toString(16).padStart(8, '0')).join(''));
}

function groups(digits: string): string {
  return (digits.match(/.{4}/g) ?? []).join(':');
}
