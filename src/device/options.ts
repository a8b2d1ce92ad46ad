/** Options of a device: what its link and its host provide, and its limits. */
import type { IpAddress, IpPrefix, MacAddress } from '../../packets/address.ts';
import { RoceError } from '../../packets/errors.ts';
import { MAX_FLOW_LABEL } from '../../packets/flow-label.ts';
import { Medium } from '../../packets/frame.ts';
import { CONGESTION_TRAFFIC_CLASS } from '../../transport/congestion/congestion.ts';
import type { CongestionOptions } from '../../transport/congestion/congestion-options.ts';
import type { Defences } from '../../transport/defences.ts';
import type { QpCapabilities } from '../../transport/qp-capabilities.ts';
import type { Random } from '../../transport/random.ts';
import type { QpTrace } from '../../transport/trace.ts';
import type { Host } from '../ground/machine.ts';

/** Options of a device. `openDevice` and `attachDevice` set most of them. */
export interface DeviceOptions {
  /** Gives it the time; the device calls it when it has packets to send. */
  readonly host: Host;
  /** Where keys, queue pair numbers and PSNs come from: unpredictable on a real wire (ref:hostile#3). */
  readonly random: Random;
  /** What frames of the link begin with. */
  readonly medium: Medium;
  /** MAC address, unicast. */
  readonly mac: MacAddress;
  /** The addresses the device answers to and speaks from, with their on-link prefixes. At least one. */
  readonly addresses: readonly IpPrefix[];
  /** Largest IP packet of the link, in bytes; the active path MTU follows from it. */
  readonly mtu: number;
  /** Router for destinations that are on none of our subnets. */
  readonly gateway?: IpAddress;
  /** Neighbours on the link whose MAC address is given rather than asked for. Ethernet only. */
  readonly neighbours?: readonly StaticNeighbour[];
  /**
   * The VLAN the device is on: the tag of all frames it sends, and the only frames it receives. Ethernet only; absent:
   * untagged.
   */
  readonly vlan?: VlanOptions;
  /** The link makes and verifies ICRCs (`Link.icrcOffload`). Default: the device does. */
  readonly icrcOffload?: boolean | undefined;
  /** Default 'rocev2_0'. */
  readonly name?: string;
  /** UDP source port of every packet, where the wire allows only one: no queue pair has another. */
  readonly sourcePort?: number;
  /** What the packets of a queue pair carry unless its address vector or its connection says otherwise. */
  readonly path?: PathTraits;
  /** Packets a queue pair may have sent and not seen acknowledged, 1 or more; default 128. */
  readonly maxUnacked?: number;
  /**
   * The peer's implementation, for queue pairs made without `peer`: the name of one of `PEER_PROFILES`. Default
   * 'default'.
   */
  readonly peer?: string;
  /**
   * Congestion control. With it, packets that choose no traffic class say that they are ECN-capable: DSCP 26, ECT(0).
   * Default: none; received notifications are counted and ignored.
   */
  readonly congestion?: CongestionOptions;
  /** What queue pairs do about packets that no honest peer sends; default `DEFAULT_DEFENCES` (ref:hostile#3). */
  readonly defences?: Partial<Defences>;
  /** Receives the decisions of queue pairs, for example a `TraceRecorder`. Default: none. */
  readonly trace?: QpTrace | undefined;
  /** Default `DEFAULT_LIMITS`. */
  readonly limits?: Partial<DeviceLimits>;
  /** What senders may cost that have proved nothing. Default `DEFAULT_STRANGER_LIMITS`. */
  readonly strangers?: Partial<StrangerLimits>;
}

/**
 * A neighbour whose MAC address is known beforehand: never resolved, never overwritten by received packets, never
 * dropped.
 */
export interface StaticNeighbour {
  /** A router's too. */
  readonly address: IpAddress;
  /** Unicast. */
  readonly mac: MacAddress;
}

/** A VLAN to be on. */
export interface VlanOptions {
  /** 1..4094. */
  readonly id: number;
  /** Priority code point, 0..7; default 0. Frames of any priority are received. */
  readonly priority?: number;
}

/**
 * Optional fields of the IP and UDP headers of a path; the global route header of an address vector (ibv_global_route).
 */
export interface PathTraits {
  /** IPv4 TOS or IPv6 traffic class, 0..255: DSCP << 2 | ECN. ECN 1 or 2 says that the network may mark. Default 0. */
  readonly trafficClass?: number;
  /** IPv4 TTL or IPv6 hop limit, 1..255. Default 64. */
  readonly hopLimit?: number;
  /**
   * 20 bits. IPv6 headers carry it; with either IP version it also gives the source port where none is named
   * (flow-label.ts). Default 0 in headers, as rdma_rxe sends (ref:rxe#5).
   */
  readonly flowLabel?: number;
  /**
   * UDP source port, 1..65535; default one that stays with the queue pair and spreads over queue pairs, 0xc000..0xffff.
   */
  readonly sourcePort?: number;
}

/** @throws RoceError ERR_ROCE_ARGUMENT for what does not fit together or is out of range */
export function checkLinkOptions({ addresses, medium, neighbours = [], vlan, path = {} }: DeviceOptions): void {
  if (addresses.length === 0) throw new RoceError('ERR_ROCE_ARGUMENT', 'a device needs at least one address');
  if (medium === Medium.Ip && vlan !== undefined)
    throw new RoceError(
      'ERR_ROCE_ARGUMENT',
      'this link carries IP packets without Ethernet: there is no VLAN tag on it',
    );
  if (medium === Medium.Ip && neighbours.length > 0)
    throw new RoceError(
      'ERR_ROCE_ARGUMENT',
      'this link leaves neighbours to the kernel: static ones belong into its table',
    );
  if (vlan !== undefined) {
    checkRange('VLAN id', vlan.id, 1, 4094);
    checkRange('VLAN priority', vlan.priority ?? 0, 0, 7);
  }
  checkTraits(path);
}

/** Default header fields: with congestion control, packets are ECN-capable. */
export function pathDefaults({ congestion, path }: DeviceOptions): Pick<DeviceOptions, 'path'> {
  if (congestion === undefined) return {};
  return { path: { trafficClass: CONGESTION_TRAFFIC_CLASS, ...path } };
}

/**
 * The largest path MTU that a link of `linkMtu` bytes carries. @throws RoceError ERR_ROCE_ARGUMENT when it carries none
 */
export function pathMtuOf(linkMtu: number): number {
  const pathMtu = PATH_MTUS.find((size) => size + MAX_HEADER_BYTES <= linkMtu);
  if (pathMtu !== undefined) return pathMtu;
  throw new RoceError('ERR_ROCE_ARGUMENT', `a link MTU of ${linkMtu} bytes carries no RoCE packet`);
}

/** IP, UDP, BTH, the longest extended headers and ICRC, as rdma_rxe budgets them (ref:wire#1). */
const MAX_HEADER_BYTES = 80;
const PATH_MTUS = [4096, 2048, 1024, 512, 256] as const;

/** @throws RoceError ERR_ROCE_ARGUMENT for a number out of range */
export function checkTraits({ trafficClass, hopLimit, flowLabel, sourcePort }: PathTraits): void {
  checkRange('trafficClass', trafficClass ?? 0, 0, 0xff);
  checkRange('hopLimit', hopLimit ?? 1, 1, 0xff);
  checkRange('flowLabel', flowLabel ?? 0, 0, MAX_FLOW_LABEL);
  checkRange('sourcePort', sourcePort ?? 1, 1, 0xff_ff);
}

function checkRange(name: string, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max)
    throw new RoceError('ERR_ROCE_ARGUMENT', `${name} is a whole number from ${min} to ${max}, not ${value}`);
}

/**
 * What a queue pair holds: what its maker asked for within the device's limits, defaults for the rest. @throws
 * RoceError ERR_ROCE_ARGUMENT
 */
export function qpCapabilities(asked: Partial<QpCapabilities>, limits: DeviceLimits): QpCapabilities {
  return {
    maxSendWr: checkedCapability('maxSendWr', asked.maxSendWr ?? 128, limits.maxQpWr),
    maxRecvWr: checkedCapability('maxRecvWr', asked.maxRecvWr ?? 128, limits.maxQpWr),
    maxSge: checkedCapability('maxSge', asked.maxSge ?? 4, limits.maxSge),
    maxInlineData: checkedCapability('maxInlineData', asked.maxInlineData ?? 64, limits.maxInlineData),
  };
}

/** The same for a shared receive queue. @throws RoceError ERR_ROCE_ARGUMENT */
export function srqCapabilities(
  asked: { readonly maxWr: number; readonly maxSge?: number; readonly limit?: number },
  limits: DeviceLimits,
): { maxWr: number; maxSge: number; limit: number } {
  const { maxWr, maxSge = Math.min(4, limits.maxSge), limit = 0 } = asked;
  checkRange('maxWr', maxWr, 1, limits.maxSrqWr);
  checkRange('maxSge', maxSge, 0, limits.maxSge);
  checkRange('limit', limit, 0, maxWr);
  return { maxWr, maxSge, limit };
}

function checkedCapability(name: string, value: number, max: number): number {
  if (!Number.isInteger(value) || value < 0 || value > max) {
    throw new RoceError('ERR_ROCE_ARGUMENT', `${name} is a whole number from 0 to ${max}`);
  }
  return value;
}

/** How much a device may hold (ibv_device_attr). */
export interface DeviceLimits {
  /** Queue pairs. */
  readonly maxQp: number;
  /** Memory regions. */
  readonly maxMr: number;
  /** Completions that a completion queue has room for. */
  readonly maxCqe: number;
  /** Work requests of either kind that a queue pair has room for. */
  readonly maxQpWr: number;
  /** Pieces of memory of one work request. */
  readonly maxSge: number;
  /** Bytes of `SendWr.inline`. */
  readonly maxInlineData: number;
  /** READs and atomics of a queue pair, either way. */
  readonly maxQpRdAtom: number;
  /** Multicast groups the device may be in. */
  readonly maxMcastGrp: number;
  /** Queue pairs that may be attached to one group. */
  readonly maxMcastQpAttach: number;
  /** Shared receive queues. */
  readonly maxSrq: number;
  /** Receives of one shared receive queue. */
  readonly maxSrqWr: number;
}

/** What a device may hold by default. */
export const DEFAULT_LIMITS: DeviceLimits = {
  maxQp: 65_536,
  maxMr: 1_048_576,
  maxCqe: 4_194_304,
  maxQpWr: 32_768,
  maxSge: 32,
  maxInlineData: 512,
  maxQpRdAtom: 128,
  maxMcastGrp: 8192,
  maxMcastQpAttach: 56,
  maxSrq: 65_536,
  maxSrqWr: 1_048_576,
};

/** Bounds for frames of strangers, beside RoCE traffic of connected queue pairs. `DeviceOptions.strangers`. */
export interface StrangerLimits {
  /** Neighbours known or being resolved for this host, static ones aside. Ethernet only. */
  readonly maxNeighbours: number;
  /**
   * Next hops being resolved only to answer strangers: what comes beyond them stays without an answer, and counts as
   * `strangersDropped`. Each costs three solicitations in three seconds.
   */
  readonly maxUnresolved: number;
  /**
   * Whether a frame that names another MAC address for a known neighbour begins a probe of the known one, and counts
   * only if that stays silent. Off: it counts at once, as RFC 4861 section 7.2.5 and ARP have it.
   */
  readonly confirmMoves: boolean;
  /**
   * TCP handshakes of callers that are kept, over all listeners; about 1 kB each. With `synCookies` a SYN beyond them
   * is answered without keeping anything, else it is dropped.
   */
  readonly maxHalfOpen: number;
  /**
   * Whether SYNs beyond `maxHalfOpen` are answered with SYN cookies. Such a connection has its segment size rounded
   * down, and is lost to a server that speaks first when the last ACK of the handshake is lost.
   */
  readonly synCookies: boolean;
  /** Repetitions of a SYN-ACK without a sign of its receiver, after 1, 2, 4, ... seconds. */
  readonly maxSynAckRetries: number;
  /**
   * Connection requests that no application has taken yet, over all listeners, and as many lookups of datagram
   * services; some 2 kB each. When they are that many, or a listener's backlog is full, the source with most of them
   * loses its oldest one, of the listener with most of them; the peer repeats it.
   */
  readonly maxRequests: number;
  /** Of them at one listener from one source address. More are dropped. */
  readonly maxRequestsPerSource: number;
  /**
   * Repetitions of a REP by its timer while its receiver has shown no sign of life; each repeated REQ allows one more.
   */
  readonly maxUnprovenReps: number;
}

/** The settings of a device that names none. */
export const DEFAULT_STRANGER_LIMITS: StrangerLimits = {
  maxNeighbours: 1024,
  maxUnresolved: 64,
  confirmMoves: true,
  maxHalfOpen: 64,
  synCookies: true,
  maxSynAckRetries: 3,
  maxRequests: 1024,
  maxRequestsPerSource: 512,
  maxUnprovenReps: 7,
};
