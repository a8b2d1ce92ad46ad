/** Captures of a run between guests: of either side, and of both with an interface each. Owns the numbers of frames. */
import { type CapturedPacket, Direction, LinkType } from 'rocev2/pcap';
import type { WireFrame } from './pair.ts';

/** A capture, and which frame each of its packets is. */
export interface GuestCapture {
  readonly packets: readonly CapturedPacket[];
  readonly frames: readonly WireFrame[];
}

/** What one host sent and received. */
export function captureOf(frames: readonly WireFrame[], side: 0 | 1): GuestCapture {
  const own = frames.filter((frame) => frame.side === side);
  return { frames: own, packets: own.map((frame, i) => packetOf(frame, i + 1, 0)) };
}

/** What the bump captures: both sides by one clock. */
export function captureOfBoth(frames: readonly WireFrame[]): GuestCapture {
  return { frames, packets: frames.map((frame, i) => packetOf(frame, i + 1, frame.side)) };
}

function packetOf({ timeNs, bytes, direction }: WireFrame, number: number, interfaceIndex: number): CapturedPacket {
  return {
    number,
    seconds: Math.floor(timeNs / 1e9),
    nanoseconds: Math.floor(timeNs % 1e9),
    bytes,
    originalLength: bytes.length,
    linkType: LinkType.Ethernet,
    interfaceIndex,
    direction: direction === 'out' ? Direction.Outbound : Direction.Inbound,
    comments: [],
  };
}
