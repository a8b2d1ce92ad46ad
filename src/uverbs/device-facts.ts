/**
 * The device as the kernel describes one of rdma_rxe: limits, port, addresses. What we hold less of than rxe is told as
 * we hold it. Owns the table of GIDs: index 0 is the link-local address of the MAC address, as for every RoCE port
 * (linux:core/roce_gid_mgmt.c), the device's own addresses follow; all are of type RoCE v2.
 */
import { IpAddress } from '../../packets/address.ts';
import type { Device } from '../device/device.ts';

/** Rings of 64 MiB. The 32,767 entries of rdma_rxe are too few for RxM of libfabric, which shares one queue. */
const MAX_CQE = 2 ** 20 - 1;
const EUI64_FLIP = 0x02;
/** Of one file, channels included: some hundred bytes each, where no table of the device bounds their kind. */
export const MOST_OBJECTS = 65_536;

export class DeviceFacts {
  readonly device: Device;
  /** By index. */
  readonly gids: readonly IpAddress[];
  /** EUI-64. */
  readonly guid: bigint;
  /** Work requests of a queue of a queue pair; a ring of the next power of two holds no more than the device does. */
  readonly maxQpWr: number;
  readonly maxSrqWr: number;
  readonly maxCqe: number;
  /** Regions, and as many windows: each is one of the objects of its file. */
  readonly maxMr: number;
  readonly maxSge: number;
  readonly maxInline: number;

  constructor(device: Device) {
    const { limits, addresses } = device;
    this.device = device;
    this.guid = device.guid;
    const local = linkLocalOf(device);
    this.gids = [local, ...addresses.map(({ address }) => address).filter((address) => !address.equals(local))];
    this.maxQpWr = ringCapacity(limits.maxQpWr);
    this.maxSrqWr = ringCapacity(limits.maxSrqWr);
    this.maxCqe = Math.min(MAX_CQE, ringCapacity(limits.maxCqe));
    this.maxMr = Math.min(limits.maxMr, MOST_OBJECTS);
    this.maxSge = limits.maxSge;
    this.maxInline = limits.maxInlineData;
  }

  /** rxe has 1024 of them, nearly all empty, and each is a file: here those that are in use and one that is not. */
  get gidTableLength(): number {
    return this.gids.length + 1;
  }

  /** Code of an MTU of 256 to 4096 bytes, 1 to 5. */
  get mtuCode(): number {
    return mtuCodeOf(this.device.activeMtu);
  }
}

/** The most entries, one less than a power of two, that are not more than `limit`. */
function ringCapacity(limit: number): number {
  return 2 ** Math.floor(Math.log2(limit + 1)) - 1;
}

export function mtuCodeOf(bytes: number): number {
  return Math.log2(bytes) - 7;
}

export function mtuOfCode(code: number): number {
  return 2 ** (code + 7);
}

function linkLocalOf({ mac }: Device): IpAddress {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = mac;
  const high = (((a ^ EUI64_FLIP) << 24) | (b << 16) | (c << 8) | 0xff) >>> 0;
  const low = ((0xfe << 24) | (d << 16) | (e << 8) | f) >>> 0;
  return new IpAddress(6, 0xfe_80_00_00, 0, high, low);
}
