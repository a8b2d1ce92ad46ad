/**
 * What a capture is made of, counted packet by packet without a string: `CaptureReport` is made at the end.
 *
 * Owns the counts and the names of what is not RoCEv2. Judges nothing.
 */
import { ETHERTYPE_ARP, ETHERTYPE_ROCE_V1 } from '../../packets/ethernet.ts';
import { IP_PROTOCOL_NAMES, ipProtocolName } from '../../packets/format.ts';
import { type Frame, FrameStatus, frameStatusName } from '../../packets/frame.ts';
import { opcodeInfo } from '../../packets/opcode.ts';
import { ETHERTYPE_MAC_CONTROL, isPfc } from '../../packets/pfc.ts';
import { dscpOf } from '../../packets/traffic-class.ts';
import { type Dissection, IcrcState } from '../dissection.ts';
import { concealsRoce, Tunnel, type TunnelLayer, tunnelName } from '../tunnels/index.ts';
import type { CapturedPacket, CaptureTime } from '../types.ts';
import type { CaptureReport } from './types.ts';

export class CaptureTotals {
  packets = 0;
  bytes = 0;
  rocePackets = 0;
  goodIcrc = 0;
  badIcrc = 0;
  cutPackets = 0;
  captureDrops = 0;
  /** The largest time so far; packets of several interfaces need not be in order. */
  durationNs = 0;
  #start: CaptureTime | undefined;
  readonly #opcodes = new Float64Array(256);
  /** RoCEv2 packets by priority. */
  readonly byPriority = new Array<number>(PRIORITIES).fill(0);
  /** By status and what it was instead. */
  readonly #others = new Map<number, number>();
  readonly #tunnels = new Map<number, number>();
  readonly #unread = new Map<string, number>();

  /** Time of the first packet. */
  start(packet: CapturedPacket): CaptureTime {
    this.#start ??= { seconds: packet.seconds, nanoseconds: packet.nanoseconds };
    return this.#start;
  }

  count(packet: CapturedPacket, dissection: Dissection, icrc: IcrcState, timeNs: number): void {
    const { status, cut, frame } = dissection;
    this.packets++;
    this.bytes += packet.originalLength;
    if (timeNs > this.durationNs) this.durationNs = timeNs;
    if (packet.dropCount !== undefined) this.captureDrops += packet.dropCount;
    if (status === FrameStatus.Ok || (cut && frame.bthOffset >= 0)) {
      this.rocePackets++;
      this.#opcodes[frame.opcode] = (this.#opcodes[frame.opcode] as number) + 1;
      if (cut) this.cutPackets++;
    }
    if (icrc === IcrcState.Bad) this.badIcrc++;
    else if (icrc !== IcrcState.Unknown) this.goodIcrc++;
    if (dissection.depth > 0) this.#countTunnel(dissection);
    if (status !== FrameStatus.Ok) this.#countOther(dissection);
    else this.byPriority[priorityOf(frame)] = (this.byPriority[priorityOf(frame)] as number) + 1;
  }

  report(): CaptureReport {
    const { packets, bytes, durationNs, rocePackets, goodIcrc, badIcrc, cutPackets, captureDrops } = this;
    const opcodes: Record<string, number> = {};
    this.#opcodes.forEach((count, opcode) => {
      if (count > 0) opcodes[opcodeInfo(opcode).name] = count;
    });
    return {
      packets,
      bytes,
      startTime: timeText(this.#start),
      durationNs,
      rocePackets,
      goodIcrc,
      badIcrc,
      cutPackets,
      captureDrops,
      tunnels: this.#tunnelsByName(),
      unread: Object.fromEntries(this.#unread),
      others: this.#othersByName(),
      opcodes,
    };
  }

  #countOther(dissection: Dissection): void {
    this.#countUnread(dissection);
    const key = dissection.status * KINDS + kindOf(dissection);
    const known = this.#others.get(key);
    if (known === undefined && this.#others.size >= MOST_OTHERS) return;
    this.#others.set(key, (known ?? 0) + 1);
  }

  /** The tunnels around a packet as digits of a number, so that counting makes no string. */
  #countTunnel({ tunnels, depth }: Dissection): void {
    let key = 0;
    for (let i = 0; i < depth; i++) key = key * TUNNELS + (tunnels[i] as TunnelLayer).tunnel;
    this.#tunnels.set(key, (this.#tunnels.get(key) ?? 0) + 1);
  }

  #tunnelsByName(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const [key, count] of this.#tunnels) counts[tunnelPath(key)] = count;
    return counts;
  }

  #countUnread({ status, unreadable, frame, depth }: Dissection): void {
    const name = unreadable !== Tunnel.None ? tunnelName(unreadable) : UNKNOWN_TUNNEL;
    if (unreadable === Tunnel.None && (depth > 0 || !mayConceal(status, frame))) return;
    this.#unread.set(name, (this.#unread.get(name) ?? 0) + 1);
  }

  #othersByName(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const [key, count] of this.#others) {
      const name = nameOf(Math.floor(key / KINDS) as FrameStatus, key % KINDS);
      counts[name] = (counts[name] ?? 0) + count;
    }
    return counts;
  }
}

function priorityOf({ vlanTci, trafficClass }: Frame): number {
  return vlanTci >= 0 ? vlanTci >> 13 : dscpOf(trafficClass) >> 3;
}

/** What distinguishes packets of one status: an EtherType, or an IP protocol. */
function kindOf({ status, linkKnown, frame }: Dissection): number {
  if (status === FrameStatus.NotUdp) return frame.protocol;
  if (status !== FrameStatus.NotIp) return 0;
  if (!linkKnown) return UNKNOWN_LINK;
  return isPauseFrame(frame) ? PFC : frame.etherType;
}

/** Whether a packet has RoCEv2 in it where nobody looks: not in TCP, and not what an ICMP error quotes. */
function mayConceal(status: FrameStatus, { view, start, end, protocol }: Frame): boolean {
  if (status !== FrameStatus.NotIp && status !== FrameStatus.NotUdp && status !== FrameStatus.NotRoce) return false;
  if (status === FrameStatus.NotUdp && IP_PROTOCOL_NAMES.has(protocol)) return false;
  return concealsRoce(view, start, end);
}

function tunnelPath(key: number): string {
  const outer = key < TUNNELS ? '' : `${tunnelPath(Math.floor(key / TUNNELS))} > `;
  return `${outer}${tunnelName((key % TUNNELS) as Tunnel)}`;
}

function isPauseFrame({ view, start, end, etherType }: Frame): boolean {
  return etherType === ETHERTYPE_MAC_CONTROL && isPfc(view, start, end);
}

function nameOf(status: FrameStatus, kind: number): string {
  if (status === FrameStatus.NotRoce) return 'UDP';
  if (status === FrameStatus.NotUdp) return ipProtocolName(kind);
  if (status !== FrameStatus.NotIp) return frameStatusName(status);
  return ETHER_TYPES.get(kind) ?? `EtherType 0x${kind.toString(16).padStart(4, '0')}`;
}

function timeText(time: CaptureTime | undefined): string {
  if (time === undefined) return '0.000000000';
  return `${time.seconds}.${time.nanoseconds.toString().padStart(9, '0')}`;
}

const PRIORITIES = 8;
const KINDS = 0x2_00_00;
const UNKNOWN_LINK = 0x1_00_00;
const PFC = 0x1_00_01;
const MOST_OTHERS = 4096;
/** More than there are kinds of tunnels. */
const TUNNELS = 32;
const UNKNOWN_TUNNEL = 'an unknown tunnel with RoCEv2 in it';
const ETHER_TYPES: ReadonlyMap<number, string> = new Map([
  [UNKNOWN_LINK, 'Unknown link type'],
  [PFC, 'PFC'],
  [ETHERTYPE_MAC_CONTROL, 'MAC control'],
  [ETHERTYPE_ARP, 'ARP'],
  [ETHERTYPE_ROCE_V1, 'RoCEv1'],
  [0x88_cc, 'LLDP'],
  [0x00_00, 'No EtherType'],
]);
