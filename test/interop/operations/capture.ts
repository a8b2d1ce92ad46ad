/**
 * All operations, one after the other in a world of their own each, as one capture file; and our own words for a frame.
 */

import { aethSyndrome } from '../../../packets/aeth.ts';
import { parseCmMad } from '../../../packets/cm/index.ts';
import { ETHERNET_BYTES, ETHERTYPE_ARP, ETHERTYPE_IPV4, ETHERTYPE_IPV6 } from '../../../packets/ethernet.ts';
import { FrameStatus, frameStatusName } from '../../../packets/frame.ts';
import { isMad } from '../../../packets/frame-fields.ts';
import { GroupRecordType } from '../../../packets/group-record.ts';
import { IgmpType, IP_PROTOCOL_IGMP, readIgmp } from '../../../packets/igmp.ts';
import { readImmDt } from '../../../packets/imm-dt.ts';
import { IP_PROTOCOL_ICMPV6, IPV4_PROTOCOL_AT } from '../../../packets/ipv4.ts';
import { IPV6_BYTES, IPV6_NEXT_HEADER_AT } from '../../../packets/ipv6.ts';
import { afterHopByHop, IP_PROTOCOL_HOP_BY_HOP, MldType, readMld } from '../../../packets/mld.ts';
import { AETH_AT, IMM_AT, opcodeInfo } from '../../../packets/opcode.ts';
import { Direction, LinkType, PcapngWriter } from '../../../pcap/index.ts';
import { type DecodedFrame, decodeFrame } from '../frame-decoder.ts';
import { type Golden, type Operation, word } from './operation.ts';
import { SECOND_PORT, type SentFrame, Stage } from './stage.ts';

/** A frame of the capture. */
export interface CapturedFrame extends SentFrame, DecodedFrame {
  /** In the file, from 1. */
  readonly number: number;
}

/** An operation that was done. */
export interface Scene {
  readonly operation: Operation;
  readonly golden: Golden | undefined;
  /** Its packets, without those that look for neighbours. */
  readonly frames: readonly CapturedFrame[];
}

export interface OperationsCapture {
  readonly scenes: readonly Scene[];
  /** Everything in the file, in order. */
  readonly frames: readonly CapturedFrame[];
  readonly pcapng: Uint8Array;
}

/** Does every operation over IPv4 or IPv6. */
export async function captureAll(version: 4 | 6, operations: readonly Operation[]): Promise<OperationsCapture> {
  const writer = new PcapngWriter({ application: 'rocev2, each operation once' });
  const frames: CapturedFrame[] = [];
  const scenes: Scene[] = [];
  let beginNs = 0;
  for (const operation of operations) {
    // The same addresses and queue pairs each time, and nothing to do with each other: each has a wire of its own.
    const wire = writer.addInterface({ name: operation.name, linkType: LinkType.Ethernet });
    const stage = new Stage(version);
    const golden = await operation.perform(stage).catch((cause: unknown) => {
      throw new Error(`${operation.name} over IPv${version} fails: ${cause}`, { cause });
    });
    const own = stage.frames.map((sent, i) => ({ ...sent, ...decodeFrame(sent.bytes), number: frames.length + i + 1 }));
    for (const [i, { bytes, timeNs, fromA }] of own.entries()) {
      const at = beginNs + timeNs;
      const direction = fromA ? Direction.Outbound : Direction.Inbound;
      const comments = i === 0 ? [operation.name] : [];
      writer.packet(wire, bytes, 0, bytes.length, Math.floor(at / 1e9), at % 1e9, { direction, comments });
    }
    frames.push(...own);
    scenes.push({ operation, golden, frames: own.filter((frame) => describePacket(frame) !== undefined) });
    beginNs += stage.world.now + 1e9;
  }
  return { scenes, frames, pcapng: writer.take() };
}

/**
 * "> RC SEND Only, pad 3", "< joins" for a report of a group; undefined for a frame that looks for a neighbour, and for
 * no other.
 */
export function describePacket({ fromA, frame, status }: CapturedFrame): string | undefined {
  const way = fromA ? '>' : '<';
  if (status === FrameStatus.Ok) return `${way} ${describeRoce({ frame, status })}`;
  const { etherType, protocol } = frame;
  if (etherType === ETHERTYPE_ARP || (etherType === ETHERTYPE_IPV6 && protocol === IP_PROTOCOL_ICMPV6))
    return undefined;
  return `${way} ${describeMembership(frame) ?? frameStatusName(status)}`;
}

function describeRoce({ frame }: DecodedFrame): string {
  const { view, opcode, bthOffset } = frame;
  const words = [opcodeInfo(opcode).name];
  if (frame.migReq === 0) words.push('armed');
  if (frame.sourcePort === SECOND_PORT) words.push('second path');
  if (frame.solicited === 1) words.push('solicited');
  if (frame.padCount > 0) words.push(`pad ${frame.padCount}`);
  const immAt = IMM_AT[opcode] ?? -1;
  if (immAt >= 0) words.push(`immediate 0x${word(readImmDt(view, bthOffset + immAt).immDt, 4)}`);
  const aethAt = AETH_AT[opcode] ?? -1;
  const syndrome = aethAt < 0 ? PLAIN_ACK : aethSyndrome(view, bthOffset + aethAt);
  if (syndrome !== PLAIN_ACK) words.push(`syndrome 0x${word(syndrome, 1)}`);
  const mad = isMad(frame) ? parseCmMad(view, frame.payloadOffset, frame.payloadLength) : undefined;
  if (typeof mad === 'object') words.push(`CM ${mad.message.kind}`);
  return words.join(', ');
}

/** An IGMP or MLD report as a host sends it: behind a router alert, which `parseFrame` does not look behind. */
function describeMembership({ view, etherType, end }: DecodedFrame['frame']): string | undefined {
  const at = ETHERNET_BYTES;
  if (etherType === ETHERTYPE_IPV4 && view.getUint8(at + IPV4_PROTOCOL_AT) === IP_PROTOCOL_IGMP) {
    const message = readIgmp(view, at + (view.getUint8(at) & 0x0f) * 4, end);
    return message?.type === IgmpType.V3Report ? changeOf(message.records[0]?.type) : undefined;
  }
  if (etherType === ETHERTYPE_IPV6 && view.getUint8(at + IPV6_NEXT_HEADER_AT) === IP_PROTOCOL_HOP_BY_HOP) {
    const message = readMld(view, at, afterHopByHop(view, at + IPV6_BYTES, end), end);
    return message?.type === MldType.V2Report ? changeOf(message.records[0]?.type) : undefined;
  }
  return undefined;
}

function changeOf(type: number | undefined): string | undefined {
  if (type === GroupRecordType.ChangeToExclude) return 'joins';
  return type === GroupRecordType.ChangeToInclude ? 'leaves' : undefined;
}

const PLAIN_ACK = 0x1f;
