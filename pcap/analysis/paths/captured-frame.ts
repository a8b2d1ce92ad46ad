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

/** A record that can be written. */
export type FrameRecord = { -readonly [Name in keyof CapturedFrame]: CapturedFrame[Name] };

/** A record of no packet. */
export function blankFrame(): FrameRecord {
  return {
    number: 0,
    timeNs: 0,
    offsetNs: 0,
    interfaceIndex: 0,
    direction: 0,
    key: 0,
    length: 0,
    bytes: NO_BYTES,
    bodyHash: 0,
    ipOffset: -1,
    ipVersion: 0,
    ecn: -1,
    icrc: IcrcState.Unknown,
    hopLimit: 0,
    source: 0,
    destination: 0,
    stations: 0,
    damaged: false,
  };
}

/** The record of a packet. The reader may use its memory again. */
export function capturedFrame(facts: PathFacts): CapturedFrame {
  const record = blankFrame();
  const whole = readFrame(facts, record);
  const bytes = new Uint8Array(Math.min(whole.length, MOST_KEPT_BYTES));
  copyEnds(whole, bytes, 0);
  record.bytes = bytes;
  return record;
}

/** Fills `into` with all but its bytes; the result is the whole frame, in the memory of the reader. */
export function readFrame({ packet, timeNs, dissection, icrc }: PathFacts, into: FrameRecord): Uint8Array {
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
  into.number = packet.number;
  into.timeNs = timeNs;
  into.offsetNs = 0;
  into.interfaceIndex = packet.interfaceIndex;
  into.direction = dissection.direction;
  into.key = frameKey(whole, ipOffset, ipVersion);
  into.length = length;
  into.bodyHash = length <= MOST_KEPT_BYTES ? 0 : bulkHashOf(whole, HEAD_BYTES, length - TAIL_BYTES);
  into.ipOffset = ipOffset;
  into.ipVersion = ipVersion;
  into.ecn = ipVersion === 0 ? -1 : frame.trafficClass & ECN_MASK;
  into.icrc = icrc;
  into.hopLimit = ipVersion === 0 ? 0 : frame.hopLimit;
  into.source = ipVersion === 0 ? second : first;
  into.destination = ipVersion === 0 ? first : second;
  into.stations = hashOf(whole, 0, Math.min(12, length));
  into.damaged = dissection.status === FrameStatus.BadIpChecksum || icrc === IcrcState.Bad;
  return whole;
}

/** Copies the first and the last bytes of a frame, or all of a short one, to `into` at `at`. */
export function copyEnds(whole: Uint8Array, into: Uint8Array, at: number): void {
  if (whole.length <= MOST_KEPT_BYTES) {
    into.set(whole, at);
    return;
  }
  into.set(whole.subarray(0, HEAD_BYTES), at);
  into.set(whole.subarray(whole.length - TAIL_BYTES), at + HEAD_BYTES);
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

/** All headers up to the RETH, with IPv6 and two VLAN tags. */
const HEAD_BYTES = 124;
/** The ICRC. */
const TAIL_BYTES = 4;
/** Bytes of a record. */
export const MOST_KEPT_BYTES = HEAD_BYTES + TAIL_BYTES;
const NO_BYTES = new Uint8Array(0);
/** Less than a PSN and an ICRC: a frame with a damaged payload is more like itself than like the one after it. */
const DIFFERENT_BODY = 3;
/** Without its FCS. */
const SHORTEST_ETHERNET = 60;
