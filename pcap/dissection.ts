/**
 * From a captured packet to a parsed frame: link layer, direction, missing bytes (snap length), ICRC.
 *
 * Owns the way from `CapturedPacket` to `Frame` for everything that reads captures. It never throws, whatever the
 * bytes, and allocates nothing per packet while packets share the memory that the reader was given.
 */
import { BTH_BYTES } from '../packets/bth.ts';
import { Frame, FrameStatus, parseFrame } from '../packets/frame.ts';
import { icrcMatches } from '../packets/icrc.ts';
import { IP_PROTOCOL_UDP, IPV4_BYTES, IPV4_DESTINATION_AT, IPV4_ID_AT, IPV4_SOURCE_AT } from '../packets/ipv4.ts';
import { IPV6_BYTES, IPV6_DESTINATION_AT, IPV6_SOURCE_AT } from '../packets/ipv6.ts';
import { isRxeFlush } from '../packets/rxe-flush-icrc.ts';
import { UDP_BYTES, UDP_CHECKSUM_AT, UDP_DEST_PORT_AT, UDP_SOURCE_PORT_AT } from '../packets/udp.ts';
import { cookedDirection, cookedInterface, isKnownLinkType, parseLink } from './link-header.ts';
import type { PlacedPacket } from './placed-packet.ts';
import { findInner, Tunnel, TunnelLayer } from './tunnels/index.ts';
import { type CapturedPacket, Direction, LinkType } from './types.ts';

/** What is known of the ICRC of a packet. */
export const IcrcState = {
  /** Not a whole RoCEv2 packet, or the capture cut it. */
  Unknown: 0,
  /** Right. */
  Good: 1,
  /** Wrong: a receiver drops the packet in silence. */
  Bad: 2,
  /**
   * A FLUSH with the wrong ICRC that rdma_rxe sends and requires (`packets/rxe-flush-icrc.ts`): its receiver may accept
   * it.
   */
  RxeFlush: 3,
} as const;
/** One of the states. */
export type IcrcState = (typeof IcrcState)[keyof typeof IcrcState];

/**
 * A dissected packet; made once and filled again by each `dissect`.
 *
 * @example
 * ```ts
 * import { FrameStatus } from 'rocev2/packets';
 * import { CaptureReader, Dissection, dissect, LinkType, PcapngWriter } from 'rocev2/pcap';
 *
 * const file = new PcapngWriter({ application: 'example' });
 * const wire = file.addInterface({ name: 'wire', linkType: LinkType.Ethernet });
 * file.packet(wire, Uint8Array.of(2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5), 0, 14, 1, 500);
 * const reader = new CaptureReader();
 * reader.push(file.take());
 * // One object for all packets.
 * const dissection = new Dissection();
 * for (let packet = reader.next(); packet !== undefined; packet = reader.next()) {
 *   const status = dissect(packet, dissection);
 *   console.log(status === FrameStatus.NotIp, dissection.frame.etherType.toString(16)); // true 88b5
 * }
 * ```
 */
export class Dissection {
  /**
   * The parsed frame, as offsets into `frame.bytes`. That memory holds other packets too, or is scratch memory when the
   * capture cut the packet. Read it before the next `dissect`, and never at an index of `CapturedPacket.bytes`
   * (`packetOffset` is the difference).
   */
  readonly frame: Frame = new Frame();
  /** The result of `parseFrame`. Of a cut packet it covers what was captured. NotIp where the link type is unknown. */
  status: FrameStatus = FrameStatus.NotIp;
  /** Whether the link type is one this project reads. */
  linkKnown = false;
  /**
   * The capture lacks bytes of the IP packet. With status Ok all headers are there and all lengths are known, but
   * payload, pad and ICRC are not complete. A missing trailer after the packet does not count.
   */
  cut = false;
  /**
   * Index of the first captured byte in `frame.bytes`: at or before `frame.start`, since a cooked header is no part of
   * the frame.
   */
  packetOffset = 0;
  /** Where the captured bytes end in `frame.bytes`; what lies beyond in a cut packet is zero. */
  capturedEnd = 0;
  /**
   * The tunnels around the packet, outermost first: the first `depth` of them. `frame` is of the innermost packet, and
   * its status too.
   */
  readonly tunnels: readonly TunnelLayer[] = Array.from({ length: MOST_TUNNELS }, () => new TunnelLayer());
  /** Tunnels around the packet, 0 to 4. */
  depth = 0;
  /** What keeps the packet from being read: encryption; `None` where nothing does. */
  unreadable: Tunnel = Tunnel.None;
  /** Which way it went, by the file or by its cooked header. */
  direction: Direction = Direction.Unknown;
  /** Index of the interface of the capturing host in a Linux cooked v2 header; 0 elsewhere. */
  cookedInterface = 0;
  /**
   * @internal The rest of what an analysis needs of each packet, of one with status Ok: so that it does not have to
   * wait for the memory of the packet. The IPv4 identification, -1 over IPv6.
   */
  ipId = -1;
  /** @internal The ICRC in it, as a number for comparison only; 0 where the capture has cut it off. */
  icrcValue = 0;
  /** @internal The UDP checksum in it. */
  udpChecksum = 0;
  /** @internal The addresses, as 32-bit numbers: themselves over IPv4, hashes over IPv6. */
  source = 0;
  /** @internal */
  destination = 0;
  /** @internal Memory that the packets of the reader share, and a view of it. */
  memory: Uint8Array = NO_BYTES;
  /** @internal */
  memoryView: DataView = NO_VIEW;
  /** @internal The part of `memory` that the last packet of `dissectPlaced` was in, and where that begins. */
  chunk: Uint8Array = NO_BYTES;
  /** @internal */
  chunkAt = 0;
  /** @internal Where packets lie that the capture cut; made for the first one. */
  scratch: Uint8Array = NO_BYTES;
  /** @internal */
  scratchView: DataView = NO_VIEW;
  /** @internal Bytes of `scratch` that may differ from zero. */
  scratchUsed = 0;
}

/** A packet within a packet within a packet is as deep as networks are known to go; one more is read. */
const MOST_TUNNELS = 4;
/** What a packet that carries another one looks like to a parser of RoCEv2, one bit for each status. */
const CARRIERS =
  (1 << FrameStatus.NotIp) |
  (1 << FrameStatus.NotUdp) |
  (1 << FrameStatus.NotRoce) |
  (1 << FrameStatus.Truncated) |
  (1 << FrameStatus.BadIpHeader) |
  (1 << FrameStatus.BadIpChecksum);

const IPV6_ADDRESS_BYTES = 16;
const NO_BYTES = new Uint8Array(0);
const NO_VIEW = new DataView(NO_BYTES.buffer);

/** Dissects `packet`; returns `into.status`. The ICRC is a question of its own: `icrcState`. */
export function dissect(packet: CapturedPacket, into: Dissection): FrameStatus {
  const { bytes } = packet;
  useMemory(bytes.buffer, into);
  return dissectAt(packet, bytes.byteOffset, bytes.length, into);
}

/**
 * As `dissect`, of the packet at hand of a reader.
 *
 * @internal
 */
export function dissectPlaced(packet: PlacedPacket, into: Dissection): FrameStatus {
  const { memory } = packet;
  // What memory an array lies in is a question to the engine: asked once a chunk.
  if (into.chunk !== memory) {
    useMemory(memory.buffer, into);
    into.chunk = memory;
    into.chunkAt = memory.byteOffset;
  }
  return dissectAt(packet, into.chunkAt + packet.at, packet.captured, into);
}

function useMemory(buffer: ArrayBufferLike, into: Dissection): void {
  into.chunk = NO_BYTES;
  if (into.memory.buffer === buffer) return;
  into.memory = new Uint8Array(buffer);
  into.memoryView = new DataView(buffer);
}

function dissectAt(packet: CapturedPacket, start: number, captured: number, into: Dissection): FrameStatus {
  const { linkType, originalLength } = packet;
  const end = start + captured;
  const view = into.memoryView;
  into.packetOffset = start;
  into.capturedEnd = end;
  into.linkKnown = linkType === LinkType.Ethernet || isKnownLinkType(linkType);
  into.direction = packet.direction;
  into.cookedInterface = 0;
  if (linkType === LinkType.LinuxCooked || linkType === LinkType.LinuxCooked2) {
    if (packet.direction === Direction.Unknown) into.direction = cookedDirection(linkType, view, start, end);
    into.cookedInterface = cookedInterface(linkType, view, start, end);
  }
  into.status = parsePackets(linkType, into.memory, view, start, end, into);
  into.cut = captured < originalLength || isCutByMirror(into);
  if (into.cut) dissectCut(packet, into);
  if (into.status === FrameStatus.Ok) readRest(into);
  return into.status;
}

function readRest(into: Dissection): void {
  const { view, ipVersion, ipOffset, l4Offset, icrcOffset } = into.frame;
  into.icrcValue = into.cut ? 0 : view.getInt32(icrcOffset);
  into.udpChecksum = view.getUint16(l4Offset + UDP_CHECKSUM_AT);
  if (ipVersion === 4) {
    into.ipId = view.getUint16(ipOffset + IPV4_ID_AT);
    into.source = view.getInt32(ipOffset + IPV4_SOURCE_AT);
    into.destination = view.getInt32(ipOffset + IPV4_DESTINATION_AT);
  } else {
    into.ipId = -1;
    into.source = hashOfIpv6(view, ipOffset + IPV6_SOURCE_AT);
    into.destination = hashOfIpv6(view, ipOffset + IPV6_DESTINATION_AT);
  }
}

function hashOfIpv6(view: DataView, at: number): number {
  let hash = 0;
  for (let word = at; word < at + IPV6_ADDRESS_BYTES; word += 4) {
    hash = Math.imul(hash ^ view.getInt32(word), 0x9e37_79b1);
    hash ^= hash >>> 15;
  }
  return hash;
}

/** Computes and compares the ICRC of a dissected packet: the costly part. */
export function icrcState({ status, cut, frame }: Dissection): IcrcState {
  if (status !== FrameStatus.Ok || cut) return IcrcState.Unknown;
  if (icrcMatches(frame)) return IcrcState.Good;
  return isRxeFlush(frame) ? IcrcState.RxeFlush : IcrcState.Bad;
}

/**
 * Parses the packet in [start, end) and what it carries, down to the innermost one. `whole`: packets within it may go
 * on to `end`, whatever the outer one says.
 */
function parsePackets(
  linkType: number,
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
  into: Dissection,
  whole = false,
): FrameStatus {
  const { frame } = into;
  let status = parseLink(linkType, bytes, view, start, end, frame);
  into.depth = 0;
  into.unreadable = Tunnel.None;
  while ((CARRIERS & (1 << status)) !== 0 && into.depth < MOST_TUNNELS) {
    const layer = into.tunnels[into.depth] as TunnelLayer;
    if (!findInner(frame, layer)) {
      into.unreadable = layer.tunnel;
      break;
    }
    into.depth += 1;
    if (whole) layer.end = end;
    status = parseFrame(bytes, view, layer.start, layer.end, layer.medium, frame);
  }
  return status;
}

/** A mirror has sent on the beginning of a packet: it is longer, by its own length, than the packet that carries it. */
function isCutByMirror({ depth, status, frame }: Dissection): boolean {
  return depth > 0 && status === FrameStatus.Truncated && frame.ipVersion !== 0 && frame.ipEnd < 0;
}

/**
 * Parses a cut packet again in a copy of its original length, so that lengths are checked as they were on the wire.
 * Values that the parser read from missing bytes are reset.
 */
function dissectCut(packet: CapturedPacket, into: Dissection): void {
  const { frame } = into;
  if (into.status !== FrameStatus.Truncated) {
    into.cut = frame.ipEnd < 0;
    return;
  }
  // Without a whole IP header there is no length to go by, and without a UDP header nothing to be found by it.
  if (frame.ipVersion === 0 || (frame.protocol === IP_PROTOCOL_UDP && into.capturedEnd < udpEnd(frame))) return;
  copyToScratch(packet, into);
  const { scratch, scratchView } = into;
  const wireLength = Math.min(packet.originalLength, SCRATCH_BYTES);
  into.status = parsePackets(packet.linkType, scratch, scratchView, 0, wireLength, into);
  if (isCutByMirror(into)) {
    into.capturedEnd = Math.min(into.capturedEnd, frame.end);
    into.status = parsePackets(packet.linkType, scratch, scratchView, 0, SCRATCH_BYTES, into, true);
  }
  if (frame.bthOffset < 0) return;
  if (frame.bthOffset + BTH_BYTES > into.capturedEnd) forgetBth(packet.linkType, into);
  else if (into.status === FrameStatus.Ok && frame.payloadOffset > into.capturedEnd) {
    into.status = FrameStatus.Truncated;
    frame.payloadOffset = -1;
    frame.payloadLength = 0;
  }
}

/** Where the UDP header ends, when there is one. */
function udpEnd({ ipOffset, ipVersion }: Frame): number {
  return ipOffset + (ipVersion === 4 ? IPV4_BYTES : IPV6_BYTES) + UDP_BYTES;
}

function copyToScratch({ bytes }: CapturedPacket, into: Dissection): void {
  if (into.scratch.length === 0) {
    into.scratch = new Uint8Array(SCRATCH_BYTES);
    into.scratchView = new DataView(into.scratch.buffer);
  }
  const length = Math.min(bytes.length, SCRATCH_BYTES);
  into.scratch.set(length < bytes.length ? bytes.subarray(0, length) : bytes);
  into.scratch.fill(0, length, Math.max(length, into.scratchUsed));
  into.scratchUsed = length;
  into.packetOffset = 0;
  into.capturedEnd = length;
}

/** The ports were captured, the BTH was not. */
function forgetBth(linkType: number, into: Dissection): void {
  const { frame, scratch, scratchView, capturedEnd } = into;
  const { l4Offset } = frame;
  into.status = parsePackets(linkType, scratch, scratchView, 0, capturedEnd, into);
  frame.sourcePort = scratchView.getUint16(l4Offset + UDP_SOURCE_PORT_AT);
  frame.destPort = scratchView.getUint16(l4Offset + UDP_DEST_PORT_AT);
}

/**
 * A cooked header, two VLAN tags and the largest IPv6 packet fit. Anything larger holds its IP packet completely; what
 * that carries may be cut by a mirror, and is in the part that fits.
 */
const SCRATCH_BYTES = 0x1_0080;
