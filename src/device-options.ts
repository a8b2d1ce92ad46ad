/** What a device is made of: what its wire and its host give it, and how much of everything it may hold. */
import type { IpAddress, IpPrefix, MacAddress } from '../packets/address.ts';
import type { Medium } from '../packets/frame.ts';
import type { Random } from '../transport/random.ts';
import type { Host } from './machine.ts';

export interface DeviceOptions {
  readonly host: Host;
  readonly random: Random;
  readonly medium: Medium;
  readonly mac: MacAddress;
  /** The addresses the device answers to and speaks from, with their on-link prefixes. At least one. */
  readonly addresses: readonly IpPrefix[];
  /** Largest IP packet of the link, in bytes; the active path MTU follows from it. */
  readonly mtu: number;
  readonly gateway?: IpAddress;
  readonly name?: string;
  /** UDP source port of every packet, where the wire allows only one; default a port for each queue pair. */
  readonly sourcePort?: number;
  /** Packets a queue pair may have sent and not seen acknowledged, 1 or more; default 128. */
  readonly maxUnacked?: number;
  readonly limits?: Partial<DeviceLimits>;
}

export interface DeviceLimits {
  readonly maxQp: number;
  readonly maxMr: number;
  readonly maxCqe: number;
  readonly maxQpWr: number;
  readonly maxSge: number;
  readonly maxInlineData: number;
  readonly maxQpRdAtom: number;
}

export const DEFAULT_LIMITS: DeviceLimits = {
  maxQp: 65_536,
  maxMr: 1_048_576,
  maxCqe: 4_194_304,
  maxQpWr: 32_768,
  maxSge: 32,
  maxInlineData: 512,
  maxQpRdAtom: 128,
};
