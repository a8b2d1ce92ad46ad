/**
 * Options of a switched network, as plain data, and the defaults and limits of every number in it.
 * Owns their check only. Sources of defaults: ref:dcqcn#4, ref:dcqcn#5.6.
 */
import { RoceError } from '../../../packets/errors.ts';
import { MAX_ETHERNET_BYTES } from '../../../packets/ethernet.ts';
import type { EcnProfile } from '../../faults/fault-spec.ts';
import { defaultPfcShift, losslessHeadroomBytes, modelHeadroomBytes } from '../buffer/index.ts';
import { checkTopology, type Routes, type Topology, type TopologyEdge } from '../topology/index.ts';

/** How every switch of a network works. */
export interface SwitchOptions {
  /**
   * When a frame may leave: 'store-and-forward' (default), when all of it has come in; 'cut-through', when its first 64
   * bytes have, if the egress port is idle and not faster than the ingress port, and stored otherwise.
   */
  readonly forwarding?: 'store-and-forward' | 'cut-through';
  /**
   * Packet memory of a switch. Default: 32 MB for ports of 100 Gb/s and in proportion, and no less than twice what
   * headroom takes.
   */
  readonly bufferBytes?: number;
  /**
   * What keeps a sender from overrunning the next buffer. 'none' (default): nothing, every priority is dropped at the
   * tail. 'pfc': pauses per priority (IEEE 802.1Qbb). 'credits': as InfiniBand's, per link and priority; nothing is
   * ever dropped.
   */
  readonly flowControl?: 'none' | 'pfc' | 'credits';
  /** With 'pfc': bit n says that priority n is paused and not dropped; 8 bits. Default bit 3. */
  readonly losslessPriorities?: number;
  /** Marks packets as they leave a queue, by the bytes that stay behind in it. Absent: marks none. */
  readonly ecn?: EcnProfile | undefined;
  /** Bit n: packets of priority n may be marked; 8 bits. Default all. */
  readonly ecnPriorities?: number;
  /**
   * With 'pfc': what each port and lossless priority has for frames under way when it asks for a pause. Default: enough
   * for its link.
   */
  readonly headroomBytes?: number;
  /**
   * With 'pfc': a pause is asked for at what is free of the shared memory, shifted right by this. Default 3 at the
   * hosts' rate, one less per doubling.
   */
  readonly pfcShift?: number;
  /** With 'pfc': a threshold that does not move, in bytes, instead of the shift. */
  readonly staticXoffBytes?: number;
  /** A lossy queue may hold this times what is free of the shared memory. Default 1. */
  readonly lossyAlpha?: number;
  /** With 'credits': buffer of each link and priority at its receiver. Default: enough to keep the link busy. */
  readonly creditBytes?: number;
  /** Between the arrival of a frame and its being queued, pauses included; nanoseconds. Default 0. */
  readonly processingNs?: number;
  /**
   * A queue that was paused for so long without a break is looked at for a deadlock; nanoseconds. Default 10 ms. No
   * less than a frame takes over a link, or a temporary cycle may be reported as a deadlock.
   */
  readonly deadlockAfterNs?: number;
}

/** A network of switches. */
export interface SwitchedNetworkOptions {
  /** Hosts, switches, links. */
  readonly topology: Topology;
  /** Default `shortestPaths`. */
  readonly routes?: Routes;
  /** Of every choice by chance and of the hashes that choose between ways: a safe integer. */
  readonly seed: number;
  /** Of all switches alike. */
  readonly switches?: SwitchOptions;
  /** Largest IP packet of every link, in bytes; default 1,500. */
  readonly mtu?: number;
  /**
   * What a frame takes of a link beyond its bytes from link header to ICRC: check sequence, preamble, gap make 24.
   * Default 0.
   */
  readonly frameOverheadBytes?: number;
  /**
   * Frames that wait in a NIC for the wire before it takes no more; default 1. What waits there cannot be slowed down
   * any more.
   */
  readonly nicQueueFrames?: number;
  /**
   * NICs make and verify ICRCs, which on links that damage nothing is a matter of form: frames have it where a tap sees
   * them, and are trusted where they come in. Default true; false: the devices do, as on a real wire.
   */
  readonly icrcOffload?: boolean;
  /**
   * 'blank': payloads are zeros, and frames are carried without them; whoever looks at a frame sees it whole. For
   * machines that do not care what arrives, with memory that is `BlankMemory`, and with `icrcOffload`. Longer frames
   * than 128 bytes that are not of a reliable connection make `send` throw ERR_ROCE_UNSUPPORTED. Default 'carried'.
   */
  readonly payload?: 'carried' | 'blank';
  /** How likely a link loses a frame, 0..1; pauses are never lost. Default 0. */
  readonly loss?: number;
}

/** Bytes of a frame after which a cut-through switch knows its egress port. */
export const CUT_THROUGH_BYTES = 64;
/** Priorities of data, 0..7. */
export const PRIORITIES = 8;
/** The queue of MAC control frames: above all, and never paused. */
export const CONTROL = 8;

/** Options of a network with every default filled in. */
export interface NetworkSettings {
  readonly topology: Topology;
  readonly seed: number;
  readonly mtu: number;
  readonly maxFrameBytes: number;
  readonly overheadBytes: number;
  readonly nicQueueFrames: number;
  readonly loss: number;
  readonly icrcOffload: boolean;
  readonly blankPayload: boolean;
  readonly nicRateBps: number;
  readonly cutThrough: boolean;
  readonly flowControl: 'none' | 'pfc' | 'credits';
  /** 0 without 'pfc'. */
  readonly losslessPriorities: number;
  readonly ecn: EcnProfile | undefined;
  readonly ecnPriorities: number;
  readonly processingNs: number;
  readonly deadlockAfterNs: number;
  readonly switches: SwitchOptions;
}

/** @throws RoceError ERR_ROCE_ARGUMENT naming the invalid option */
export function settingsOf(options: SwitchedNetworkOptions): NetworkSettings {
  const { seed, switches = {}, mtu = DEFAULT_MTU } = options;
  const topology = checkTopology(options.topology);
  const flowControl = switches.flowControl ?? 'none';
  const settings: NetworkSettings = {
    topology,
    seed,
    mtu: whole('mtu', mtu, 68, 65_535),
    maxFrameBytes: mtu + MAX_ETHERNET_BYTES,
    overheadBytes: whole('frameOverheadBytes', options.frameOverheadBytes ?? 0, 0, MAX_OVERHEAD_BYTES),
    nicQueueFrames: whole('nicQueueFrames', options.nicQueueFrames ?? 1, 1, MAX_NIC_FRAMES),
    loss: within('loss', options.loss ?? 0, 0, 1),
    icrcOffload: options.icrcOffload ?? true,
    blankPayload: oneOf('payload', options.payload ?? 'carried', PAYLOADS) === 'blank',
    nicRateBps: Math.max(...topology.edges.filter(({ a, b }) => Math.min(a, b) < topology.hostCount).map(rateOf)),
    cutThrough: oneOf('forwarding', switches.forwarding ?? 'store-and-forward', FORWARDING) === 'cut-through',
    flowControl: oneOf('flowControl', flowControl, FLOW_CONTROLS),
    losslessPriorities:
      whole('losslessPriorities', switches.losslessPriorities ?? DEFAULT_LOSSLESS, 0, 0xff) *
      (flowControl === 'pfc' ? 1 : 0),
    ecn: switches.ecn === undefined ? undefined : checkedEcn(switches.ecn),
    ecnPriorities: whole('ecnPriorities', switches.ecnPriorities ?? 0xff, 0, 0xff),
    processingNs: within('processingNs', switches.processingNs ?? 0, 0, MAX_NS),
    deadlockAfterNs: within('deadlockAfterNs', switches.deadlockAfterNs ?? DEFAULT_DEADLOCK_NS, 1, MAX_NS),
    switches,
  };
  if (!Number.isSafeInteger(seed)) refuse(`seed is ${seed}: it is a safe integer`);
  if (settings.blankPayload && !settings.icrcOffload) refuse("payload is 'blank': it is without icrcOffload");
  checkMemory(switches, settings.maxFrameBytes);
  return settings;
}

/** Headroom of the port at one end of a link: what the model gives it, and no less than what loses nothing. */
export function headroomOf({ rateBps, delayNs }: TopologyEdge, settings: NetworkSettings): number {
  const { maxFrameBytes, overheadBytes, processingNs, switches } = settings;
  if (switches.headroomBytes !== undefined) return switches.headroomBytes;
  const longest = maxFrameBytes + overheadBytes;
  const needed = losslessHeadroomBytes({ rateBps, delayNs, maxFrameBytes: longest, reactionNs: 2 * processingNs });
  return Math.max(modelHeadroomBytes(rateBps, delayNs), needed);
}

/** The shift of a port's PFC threshold. */
export function pfcShiftOf({ rateBps }: TopologyEdge, { nicRateBps, switches }: NetworkSettings): number {
  return switches.pfcShift ?? defaultPfcShift(rateBps, nicRateBps);
}

/** Packet memory of a switch with these links, of which `reserved` bytes are reserved. */
export function bufferBytesOf(links: readonly TopologyEdge[], reserved: number, { switches }: NetworkSettings): number {
  if (switches.bufferBytes !== undefined) return switches.bufferBytes;
  const fastest = Math.max(...links.map(rateOf));
  return Math.min(MAX_BUFFER_BYTES, Math.max(Math.round(fastest * BUFFER_SECONDS), 2 * reserved));
}

/** Credits of one link and priority, in bytes: one round trip and the frames at both ends of it. */
export function creditBytesOf({ rateBps, delayNs }: TopologyEdge, settings: NetworkSettings): number {
  const { maxFrameBytes, overheadBytes, processingNs, switches } = settings;
  if (switches.creditBytes !== undefined) return switches.creditBytes;
  return Math.ceil((rateBps * (2 * delayNs + processingNs)) / 8e9) + 4 * (maxFrameBytes + overheadBytes);
}

/** Checked whether they are used or not: an invalid option is an error. */
function checkMemory(switches: SwitchOptions, maxFrameBytes: number): void {
  const { bufferBytes, headroomBytes, pfcShift, staticXoffBytes, lossyAlpha = 1, creditBytes } = switches;
  whole('bufferBytes', bufferBytes ?? 1, 1, MAX_BUFFER_BYTES);
  whole('headroomBytes', headroomBytes ?? 0, 0, MAX_BUFFER_BYTES);
  whole('pfcShift', pfcShift ?? 0, 0, MAX_PFC_SHIFT);
  whole('staticXoffBytes', staticXoffBytes ?? 0, 0, MAX_BUFFER_BYTES);
  // A frame that is longer than all credits would wait infinitely.
  whole('creditBytes', creditBytes ?? maxFrameBytes, maxFrameBytes, MAX_BUFFER_BYTES);
  if (!(lossyAlpha > 0)) refuse(`lossyAlpha is ${lossyAlpha}: it is over 0`);
}

function checkedEcn(ecn: EcnProfile): EcnProfile {
  const { kminBytes, kmaxBytes, pmax } = ecn;
  within('ecn.kminBytes', kminBytes, 0, MAX_BUFFER_BYTES);
  within('ecn.kmaxBytes', kmaxBytes, kminBytes, MAX_BUFFER_BYTES);
  within('ecn.pmax', pmax, 0, 1);
  return ecn;
}

function rateOf({ rateBps }: TopologyEdge): number {
  return rateBps;
}

function oneOf<T extends string>(name: string, value: T, values: readonly T[]): T {
  return values.includes(value) ? value : refuse(`${name} is '${value}': it is one of ${values.join(', ')}`);
}

function whole(name: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  return refuse(`${name} is ${value}: it is a whole number from ${min} to ${max}`);
}

function within(name: string, value: number, min: number, max: number): number {
  return value >= min && value <= max ? value : refuse(`${name} is ${value}: it is from ${min} to ${max}`);
}

function refuse(reason: string): never {
  throw new RoceError('ERR_ROCE_ARGUMENT', `switched network: ${reason}`);
}

const FORWARDING = ['store-and-forward', 'cut-through'] as const;
const PAYLOADS = ['carried', 'blank'] as const;
const FLOW_CONTROLS = ['none', 'pfc', 'credits'] as const;
const DEFAULT_MTU = 1_500;
const DEFAULT_LOSSLESS = 1 << 3;
const DEFAULT_DEADLOCK_NS = 10e6;
/** 16 MB per 50 Gb/s (ref:dcqcn#4). */
const BUFFER_SECONDS = 16e6 / 50e9;
const MAX_BUFFER_BYTES = 2 ** 31 - 1;
const MAX_PFC_SHIFT = 30;
const MAX_OVERHEAD_BYTES = 1_000;
const MAX_NIC_FRAMES = 1_000;
const MAX_NS = 1e15;
