/** Captures of a run between guests: of either side, and of both with an interface each. Owns the numbers of frames. */
import { type CapturedPacket, Direction, LinkType } from 'rocev2/pcap';
import type { WireFrame } from './pair.ts';

/** Where one was taken, by the requests that it is judged by. */
export const GUEST_VANTAGES = ['requester', 'responder'] as const;
export type GuestVantage = (typeof GUEST_VANTAGES)[number];

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

/**
 * The same frames, each arrival as soon as it can be behind its sending: what comes in at a time leaves when all of it
 * has come in, but the first of it is there before the last is sent.
 */
export function interleaved(frames: readonly WireFrame[]): WireFrame[] {
  const order: WireFrame[] = [];
  for (let at = 0; at < frames.length; ) {
    let end = at;
    while (frames[end]?.timeNs === frames[at]?.timeNs && end < frames.length) end++;
    const together = frames.slice(at, end);
    const sent = together.filter(({ direction }) => direction === 'out');
    for (const arrival of together) {
      if (arrival.direction === 'out') continue;
      const own = sent.findIndex(({ serial }) => serial === arrival.serial);
      order.push(...sent.splice(0, own + 1), arrival);
    }
    order.push(...sent);
    at = end;
  }
  return order;
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
