/**
 * A frame as one interface saw it, cut down to what is needed to find it again at another: keys, headers, ICRC.
 *
 * Owns that record, of a fixed size whatever the length of the frame, so that many frames can be waited for.
 */
import { FrameStatus } from '../../../packets/frame.ts';
import { ECN_MASK } from '../../../packets/traffic-class.ts';
import { IcrcState } from '../../dissection.ts';
import type { Direction } from '../../types.ts';
import type { PacketFacts } from '../facts.ts';
import { bulkHashOf, differingBytes, frameKey, hashOf } from './frame-key.ts';

/** A frame as it was seen at one interface. */
export interface CapturedFrame {
  readonly number: number;
  /** Since the first packet, by the clock of the interface; corrected where frames of two interfaces are compared. */
  timeNs: number;
  /** What was taken from the time by that correction. */
  offsetNs: number;
  readonly interfaceIndex: number;
  readonly direction: Direction;
  readonly key: number;
  /** Length in bytes. */
  readonly length: number;
  /** Its first bytes, and its last ones, where the ICRC is. */
  readonly bytes: Uint8Array;
  /** Of the bytes between. */
  readonly bodyHash: number;
  /** Within `bytes`; -1: none. */
  readonly ipOffset: number;
  readonly ipVersion: 0 | 4 | 6;
  /** -1 without an IP header. */
  readonly ecn: number;
  readonly icrc: IcrcState;
  /** TTL or hop limit; 0 without an IP header. */
  readonly hopLimit: number;
  /** Hashes of where it comes from and where it goes: IP addresses, or MAC addresses without them. */
  readonly source: number;
  readonly destination: number;
  /** Hash of both MAC addresses. */
  readonly stations: number;
  /** A checksum says that addresses or something else in it are wrong. */
  readonly damaged: boolean;
}

/** What it needs to know of a packet. */
export type PathFacts = Pick<PacketFacts, 'packet' | 'timeNs' | 'dissection' | 'icrc'>;

/** The record of a packet. The reader may use its memory again. */
export function capturedFrame({ packet, timeNs, dissection, icrc }: PathFacts): CapturedFrame {
  const { frame, capturedEnd } = dissection;
  const { ipVersion } = frame;
  const whole = filledUp(frame.bytes, frame.start, Math.min(frame.end, capturedEnd));
  const length = whole.length;
  const ipOffset = ipVersion === 0 ? -1 : frame.ipOffset - frame.start;
  const addresses = ipVersion === 4 ? ipOffset + 12 : ipVersion === 6 ? ipOffset + 8 : 0;
  const addressBytes = ipVersion === 4 ? 4 : ipVersion === 6 ? 16 : 6;
  const between = Math.min(addresses + addressBytes, length);
  // The source comes first in an IP header, and second in an Ethernet header.
  const first = hashOf(whole, Math.min(addresses, length), between);
  const second = hashOf(whole, between, Math.min(between + addressBytes, length));
  return {
    number: packet.number,
    timeNs,
    offsetNs: 0,
    interfaceIndex: packet.interfaceIndex,
    direction: dissection.direction,
    key: frameKey(whole, ipOffset, ipVersion),
    length,
    bytes: endsOf(whole),
    bodyHash: bulkHashOf(whole, Math.min(HEAD_BYTES, length), Math.max(HEAD_BYTES, length - TAIL_BYTES)),
    ipOffset,
    ipVersion,
    ecn: ipVersion === 0 ? -1 : frame.trafficClass & ECN_MASK,
    icrc,
    hopLimit: ipVersion === 0 ? 0 : frame.hopLimit,
    source: ipVersion === 0 ? second : first,
    destination: ipVersion === 0 ? first : second,
    stations: hashOf(whole, 0, Math.min(12, length)),
    damaged: dissection.status === FrameStatus.BadIpChecksum || icrc === IcrcState.Bad,
  };
}

/** The same frame, as far as two interfaces can know. */
export function isSameFrame(one: CapturedFrame, other: CapturedFrame): boolean {
  return one.key === other.key && one.source === other.source && one.destination === other.destination;
}

/**
 * How much two frames differ: their differing bytes, the whole middle part counting as a few; at most `limit`. Frames
 * of different lengths differ in `limit`.
 */
export function difference(one: CapturedFrame, other: CapturedFrame, limit: number): number {
  if (one.length !== other.length) return limit;
  const body = one.bodyHash === other.bodyHash ? 0 : DIFFERENT_BODY;
  return Math.min(limit, body + differingBytes(one.bytes, other.bytes, limit - body));
}

/** A short frame gets its trailer of zeros on the way: who sends it has not captured that. */
function filledUp(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const captured = bytes.subarray(start, Math.max(start, end));
  if (captured.length >= SHORTEST_ETHERNET) return captured;
  const filled = new Uint8Array(SHORTEST_ETHERNET);
  filled.set(captured);
  return filled;
}

/** A copy of its first and last bytes. */
function endsOf(whole: Uint8Array): Uint8Array {
  if (whole.length <= HEAD_BYTES + TAIL_BYTES) return whole.slice();
  const ends = new Uint8Array(HEAD_BYTES + TAIL_BYTES);
  ends.set(whole.subarray(0, HEAD_BYTES));
  ends.set(whole.subarray(whole.length - TAIL_BYTES), HEAD_BYTES);
  return ends;
}

/** All headers up to the RETH, with IPv6 and two VLAN tags. */
const HEAD_BYTES = 124;
/** The ICRC. */
const TAIL_BYTES = 4;
/** Less than a PSN and an ICRC: a frame with a damaged payload is more like itself than like the one after it. */
const DIFFERENT_BODY = 3;
/** Without its FCS. */
const SHORTEST_ETHERNET = 60;
