/**
 * A dissection as a row of numbers, in memory that threads share: one of them dissects, and another goes on.
 *
 * Owns the layout of a row and which packets have one: whole RoCEv2 packets on Ethernet without a tunnel, as nearly all
 * are. All others are dissected again. Allocates nothing.
 */
import { FrameStatus, Medium } from '../packets/frame.ts';
import { IP_PROTOCOL_UDP, IPV4_BYTES } from '../packets/ipv4.ts';
import { IPV6_BYTES } from '../packets/ipv6.ts';
import { OPCODE_FLAGS } from '../packets/opcode.ts';
import { UDP_BYTES } from '../packets/udp.ts';
import type { Dissection } from './dissection.ts';
import { Tunnel } from './tunnels/index.ts';
import { type Direction, LinkType } from './types.ts';

/** Numbers in a row. */
export const DISSECTION_ROW = 16;

/**
 * Writes the dissection of a packet of this link type and captured length to `rows` from `at` on; false, and nothing of
 * use there, if it has no row.
 *
 * @param rows 32-bit numbers
 */
export function packDissection(
  linkType: number,
  captured: number,
  dissection: Dissection,
  rows: Int32Array,
  at: number,
): boolean {
  const { frame, status, cut, depth, unreadable } = dissection;
  if (status !== FrameStatus.Ok || cut || depth > 0 || unreadable !== Tunnel.None) return false;
  if (linkType !== LinkType.Ethernet || captured > LONGEST) return false;
  const { start } = frame;
  rows[at] = frame.vlanTci;
  rows[at + 1] = (frame.etherType << 16) | frame.sourcePort;
  rows[at + 2] = (frame.ipVersion << 16) | (frame.hopLimit << 8) | frame.trafficClass;
  rows[at + 3] = ((frame.ipOffset - start) << 16) | (frame.payloadOffset - start);
  rows[at + 4] = frame.ipEnd - start;
  rows[at + 5] = frame.icrcOffset - start;
  rows[at + 6] = frame.payloadLength;
  rows[at + 7] =
    frame.opcode |
    (frame.solicited << 8) |
    (frame.migReq << 9) |
    (frame.fecn << 10) |
    (frame.becn << 11) |
    (frame.ackReq << 12) |
    (frame.padCount << 13);
  rows[at + 8] = frame.pkey;
  rows[at + 9] = frame.destQpn;
  rows[at + 10] = frame.psn;
  rows[at + 11] = (dissection.udpChecksum << 16) | frame.destPort;
  rows[at + 12] = dissection.ipId;
  rows[at + 13] = dissection.icrcValue;
  rows[at + 14] = dissection.source;
  rows[at + 15] = dissection.destination;
  return true;
}

/** Where a packet lies that has a row. */
export interface PackedPlace {
  /** The whole memory. */
  readonly memory: Uint8Array;
  /** The same memory. */
  readonly view: DataView;
  /** First of the captured bytes. */
  readonly start: number;
  /** How many there are. */
  readonly length: number;
  /** What the file says. */
  readonly direction: Direction;
}

/** Fills `into` as `dissect` would from the same bytes. */
export function unpackDissection(rows: Int32Array, at: number, place: PackedPlace, into: Dissection): void {
  const { memory, view, start, length, direction } = place;
  const { frame } = into;
  // References are written when they change only: the garbage collector is told of each.
  if (into.chunk !== memory || frame.bytes !== memory) {
    into.memory = memory;
    into.memoryView = view;
    into.chunk = memory;
    into.chunkAt = 0;
    frame.bytes = memory;
    frame.view = view;
  }
  into.status = FrameStatus.Ok;
  into.linkKnown = true;
  into.cut = false;
  into.packetOffset = start;
  into.capturedEnd = start + length;
  into.depth = 0;
  into.unreadable = Tunnel.None;
  into.direction = direction;
  into.cookedInterface = 0;
  into.ipId = rows[at + 12] as number;
  into.icrcValue = rows[at + 13] as number;
  into.source = rows[at + 14] as number;
  into.destination = rows[at + 15] as number;
  frame.start = start;
  frame.end = start + length;
  frame.medium = Medium.Ethernet;
  const ports = rows[at + 1] as number;
  const network = rows[at + 2] as number;
  const offsets = rows[at + 3] as number;
  const transport = rows[at + 7] as number;
  const opcode = transport & 0xff;
  const isIpv4 = network >>> 16 === 4;
  frame.vlanTci = rows[at] as number;
  frame.etherType = ports >>> 16;
  frame.ipVersion = isIpv4 ? 4 : 6;
  frame.ipOffset = start + (offsets >>> 16);
  frame.ipEnd = start + (rows[at + 4] as number);
  frame.protocol = IP_PROTOCOL_UDP;
  frame.l4Offset = frame.ipOffset + (isIpv4 ? IPV4_BYTES : IPV6_BYTES);
  frame.trafficClass = network & 0xff;
  frame.hopLimit = (network >>> 8) & 0xff;
  frame.sourcePort = ports & 0xff_ff;
  const destination = rows[at + 11] as number;
  frame.destPort = destination & 0xff_ff;
  into.udpChecksum = destination >>> 16;
  frame.bthOffset = frame.l4Offset + UDP_BYTES;
  frame.opcode = opcode;
  frame.solicited = bit(transport, 8);
  frame.migReq = bit(transport, 9);
  frame.padCount = (transport >>> 13) & 3;
  frame.transportVersion = 0;
  frame.pkey = rows[at + 8] as number;
  frame.fecn = bit(transport, 10);
  frame.becn = bit(transport, 11);
  frame.destQpn = rows[at + 9] as number;
  frame.ackReq = bit(transport, 12);
  frame.psn = rows[at + 10] as number;
  frame.flags = OPCODE_FLAGS[opcode] as number;
  frame.payloadOffset = start + (offsets & 0xff_ff);
  frame.payloadLength = rows[at + 6] as number;
  frame.icrcOffset = start + (rows[at + 5] as number);
}

function bit(value: number, place: number): 0 | 1 {
  return ((value >>> place) & 1) as 0 | 1;
}

/** Offsets of headers fit into 16 bits. */
const LONGEST = 0xff_ff;
