/**
 * Frames in words: one line in the manner of tcpdump, and all fields on several lines.
 *
 * Owns the wording. Never judges and never prints anything itself; any frame and any status will do. Cold path:
 * allocates freely.
 * Rules: ref:wire#5 (opcodes), ref:wire#7 (syndromes and RNR timers).
 */

import { formatMac, IpAddress } from './address.ts';
import {
  aethMsn,
  aethSyndrome,
  NAK_NAMES,
  SYNDROME_KIND_MASK,
  SYNDROME_VALUE_MASK,
  Syndrome,
  SyndromeKind,
} from './aeth.ts';
import { ArpOperation, readArp } from './arp.ts';
import { readAtomicAckEth } from './atomic-ack-eth.ts';
import { readAtomicEth } from './atomic-eth.ts';
import { describeCmMad } from './cm-fields.ts';
import { readDeth } from './deth.ts';
import { ETHERNET_BYTES, ETHERTYPE_ARP, ETHERTYPE_ROCE_V1 } from './ethernet.ts';
import { readFeth } from './feth.ts';
import { hexNumber } from './field-list.ts';
import { type Frame, FrameStatus, frameDestination, frameSource, frameStatusName, Medium } from './frame.ts';
import { isMad, listFrame } from './frame-fields.ts';
import { IcmpType, Icmpv6Type } from './icmp.ts';
import { NEIGHBOR_MESSAGE_BYTES } from './icmpv6-nd.ts';
import { iethRkey } from './ieth.ts';
import { immDt } from './imm-dt.ts';
import { IP_PROTOCOL_ICMP, IP_PROTOCOL_ICMPV6, IP_PROTOCOL_TCP, IP_PROTOCOL_UDP } from './ipv4.ts';
import {
  AETH_AT,
  ATOMIC_ACK_ETH_AT,
  ATOMIC_ETH_AT,
  DETH_AT,
  FETH_AT,
  IETH_AT,
  IMM_AT,
  Op,
  OpFlag,
  opcodeInfo,
  RETH_AT,
} from './opcode.ts';
import { ETHERTYPE_MAC_CONTROL, readPfc } from './pfc.ts';
import { readReth } from './reth.ts';
import { RNR_TIMER_NS } from './rnr-timer.ts';
import { isMarked } from './traffic-class.ts';

/**
 * One line, such as `10.77.0.2 > 10.77.0.1: RC SEND Only qpn 0x000012 psn 1234 ackreq len 64`.
 *
 * `status` is what `parseFrame` returned, `icrcOk` what `icrcMatches` said (it counts only when the status is Ok).
 */
export function formatFrame(frame: Frame, status: FrameStatus, icrcOk: boolean): string {
  if (frame.ipVersion === 0) return formatWithoutIp(frame, status);
  const ends = `${frameSource(frame)} > ${frameDestination(frame)}:`;
  if (frame.bthOffset >= 0) return `${ends} ${formatRoce(frame, status, icrcOk)}`;
  if (status === FrameStatus.NotUdp || status === FrameStatus.NotRoce) return formatOtherIp(frame, ends);
  return `${ends} malformed: ${frameStatusName(status)}`;
}

/** The line of `formatFrame` and below it, indented, every field by tshark's name (see `frameFields`). */
export function formatFrameDetails(frame: Frame, status: FrameStatus, icrcOk: boolean): string {
  const lines = listFrame(frame, status, icrcOk).toLines('    ', DETAILS_WIDTH);
  return [formatFrame(frame, status, icrcOk), ...lines].join('\n');
}

/** "ACK msn 3", "RNR NAK 0.64 ms msn 3", "NAK PSN sequence error msn 3". */
export function formatAeth(syndrome: number, msn: number): string {
  return `${formatSyndrome(syndrome)} msn ${msn}`;
}

function formatSyndrome(syndrome: number): string {
  const value = syndrome & SYNDROME_VALUE_MASK;
  switch (syndrome & SYNDROME_KIND_MASK) {
    case SyndromeKind.Ack:
      return syndrome === Syndrome.Ack ? 'ACK' : `ACK credits ${value}`;
    case SyndromeKind.RnrNak:
      return `RNR NAK ${(RNR_TIMER_NS[value] ?? 0) / 1e6} ms`;
    case SyndromeKind.Nak:
      return `NAK ${NAK_NAMES[value] ?? `code ${value}`}`;
    default:
      return `reserved syndrome ${hexNumber(syndrome, 2)}`;
  }
}

function formatRoce(frame: Frame, status: FrameStatus, icrcOk: boolean): string {
  const words = [opcodeInfo(frame.opcode).name, `qpn ${hexNumber(frame.destQpn, 6)}`];
  if (frame.opcode !== Op.Cnp) words.push(`psn ${frame.psn}`);
  if (frame.ackReq) words.push('ackreq');
  if (frame.solicited) words.push('solicited');
  if (frame.fecn) words.push('fecn');
  if (frame.becn) words.push('becn');
  if (isMarked(frame.trafficClass)) words.push('CE');
  if (frame.pkey !== DEFAULT_PKEY) words.push(`pkey ${hexNumber(frame.pkey, 4)}`);
  if (status === FrameStatus.Ok) {
    words.push(...formatHeaders(frame));
    if ((frame.flags & OpFlag.Payload) !== 0 || frame.payloadLength > 0) words.push(`len ${frame.payloadLength}`);
    if (!icrcOk) words.push('BAD ICRC');
  } else {
    words.push(`malformed: ${frameStatusName(status)}`);
  }
  return words.join(' ');
}

function formatHeaders(frame: Frame): string[] {
  const { view } = frame;
  const words: string[] = [];
  const add = (table: Int8Array, text: (at: number) => string): void => {
    const at = table[frame.opcode] ?? -1;
    if (at >= 0) words.push(text(frame.bthOffset + at));
  };
  add(DETH_AT, (at) => {
    const { qkey, sourceQpn } = readDeth(view, at);
    return `from qpn ${hexNumber(sourceQpn, 6)} qkey ${hexNumber(qkey, 8)}`;
  });
  add(FETH_AT, (at) => {
    const { placement, selectivity } = readFeth(view, at);
    return `placement ${hexNumber(placement, 1)} selectivity ${selectivity}`;
  });
  add(RETH_AT, (at) => {
    const { va, rkey, dmaLength } = readReth(view, at);
    return `va ${hexNumber(va, 16)} rkey ${hexNumber(rkey, 8)} dmalen ${dmaLength}`;
  });
  add(ATOMIC_ETH_AT, (at) => {
    const { va, rkey, swapAdd, compare } = readAtomicEth(view, at);
    const operands = (frame.opcode & 0x1f) === Op.FetchAdd ? `add ${swapAdd}` : `compare ${compare} swap ${swapAdd}`;
    return `va ${hexNumber(va, 16)} rkey ${hexNumber(rkey, 8)} ${operands}`;
  });
  add(AETH_AT, (at) => formatAeth(aethSyndrome(view, at), aethMsn(view, at)));
  add(ATOMIC_ACK_ETH_AT, (at) => `original ${readAtomicAckEth(view, at).original}`);
  add(IMM_AT, (at) => `imm ${hexNumber(immDt(view, at), 8)}`);
  add(IETH_AT, (at) => `invalidate rkey ${hexNumber(iethRkey(view, at), 8)}`);
  if (isMad(frame)) words.push(describeCmMad(view, frame.payloadOffset, frame.payloadLength) ?? 'MAD');
  return words;
}

function formatWithoutIp(frame: Frame, status: FrameStatus): string {
  const length = frame.end - frame.start;
  if (frame.medium === Medium.Ip || length < ETHERNET_BYTES)
    return `malformed: ${frameStatusName(status)} len ${length}`;
  const ends = `${formatMac(frame.bytes, frame.start + 6)} > ${formatMac(frame.bytes, frame.start)}:`;
  // An ARP message is looked for where it stands without a VLAN tag; with one, the EtherType says enough.
  const arp = frame.etherType === ETHERTYPE_ARP && frame.vlanTci < 0 ? readArpOf(frame) : undefined;
  if (arp?.operation === ArpOperation.Request) return `${ends} ARP who has ${arp.targetIp} tell ${arp.senderIp}`;
  if (arp?.operation === ArpOperation.Reply) return `${ends} ARP ${arp.senderIp} is at ${formatMac(arp.senderMac)}`;
  if (frame.etherType === ETHERTYPE_MAC_CONTROL) {
    const pause = formatPause(frame);
    if (pause !== undefined) return `${ends} ${pause}`;
  }
  if (frame.etherType === ETHERTYPE_ROCE_V1) return `${ends} RoCE version 1 len ${length}`;
  const fault = status === FrameStatus.NotIp ? '' : `malformed: ${frameStatusName(status)} `;
  return `${ends} ${fault}ethertype ${hexNumber(frame.etherType, 4)} len ${length}`;
}

function readArpOf(frame: Frame) {
  return readArp(frame.view, frame.start + ETHERNET_BYTES, frame.end);
}

/** "PFC pause 3: 65535 quanta", "PFC resume 3" for a pause of no time. */
function formatPause({ view, start, end }: Frame): string | undefined {
  const pfc = readPfc(view, start, end);
  if (pfc === undefined) return undefined;
  const classes = pfc.quanta.flatMap((quanta, priority) => {
    if ((pfc.enableVector & (1 << priority)) === 0) return [];
    return quanta === 0 ? `resume ${priority}` : `pause ${priority}: ${quanta} quanta`;
  });
  return `PFC ${classes.join(', ') || 'for no priority'}`;
}

function formatOtherIp(frame: Frame, ends: string): string {
  const { view, l4Offset, protocol } = frame;
  const length = frame.ipEnd - l4Offset;
  if ((protocol === IP_PROTOCOL_TCP || protocol === IP_PROTOCOL_UDP) && length >= 4) {
    const ports = `${view.getUint16(l4Offset)} > ${view.getUint16(l4Offset + 2)}`;
    return `${ends} ${protocol === IP_PROTOCOL_TCP ? 'TCP' : 'UDP'} ${ports} len ${length}`;
  }
  if (protocol === IP_PROTOCOL_ICMP && frame.ipVersion === 4 && length >= 8) {
    return `${ends} ICMP ${formatIcmp(frame, IcmpType.EchoRequest, IcmpType.EchoReply)}`;
  }
  if (protocol === IP_PROTOCOL_ICMPV6 && frame.ipVersion === 6 && length >= 8) {
    return `${ends} ICMPv6 ${formatNeighbor(frame, length) ?? formatIcmp(frame, Icmpv6Type.EchoRequest, Icmpv6Type.EchoReply)}`;
  }
  return `${ends} ${ipProtocolName(protocol)} len ${length}`;
}

function formatIcmp({ view, l4Offset }: Frame, request: number, reply: number): string {
  const type = view.getUint8(l4Offset);
  if (type !== request && type !== reply) return `type ${type} code ${view.getUint8(l4Offset + 1)}`;
  const what = type === request ? 'echo request' : 'echo reply';
  return `${what} id ${view.getUint16(l4Offset + 4)} seq ${view.getUint16(l4Offset + 6)}`;
}

function formatNeighbor({ view, l4Offset }: Frame, length: number): string | undefined {
  if (length < NEIGHBOR_MESSAGE_BYTES) return undefined;
  const target = IpAddress.read(view, l4Offset + 8, 6);
  const type = view.getUint8(l4Offset);
  if (type === Icmpv6Type.NeighborSolicitation) return `neighbor solicitation who has ${target}`;
  return type === Icmpv6Type.NeighborAdvertisement ? `neighbor advertisement target ${target}` : undefined;
}

/** "IGMP", "IPv6 hop-by-hop", "IP protocol 89". @internal */
export function ipProtocolName(protocol: number): string {
  return IP_PROTOCOL_NAMES.get(protocol) ?? `IP protocol ${protocol}`;
}

const DETAILS_WIDTH = 120;
const DEFAULT_PKEY = 0xff_ff;
/** Names of protocols behind IP, those of RoCE aside. @internal */
export const IP_PROTOCOL_NAMES: ReadonlyMap<number, string> = new Map([
  [0, 'IPv6 hop-by-hop'],
  [IP_PROTOCOL_ICMP, 'ICMP'],
  [2, 'IGMP'],
  [IP_PROTOCOL_TCP, 'TCP'],
  [IP_PROTOCOL_ICMPV6, 'ICMPv6'],
]);
