/**
 * A frame as one interface saw it, cut down to what is needed to find it again at another: keys, headers, ICRC.
 *
 * Owns that record, of a fixed size whatever the length of the frame, so that many frames can be waited for. The
 * trailer of a short Ethernet frame is no part of it: who sends the frame does not capture it.
 */
import { FrameStatus } from '../../../packets/frame.ts';
import { ECN_MASK } from '../../../packets/traffic-class.ts';
import { IcrcState } from '../../dissection.ts';
import type { Direction } from '../../types.ts';
import type { PacketFacts } from '../facts.ts';
import { differingBytes, frameKey, hashOf } from './frame-key.ts';

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
  const { bytes, start, ipOffset, ipVersion } = frame;
  const end = endOf(bytes, start, Math.min(frame.ipEnd > ipOffset ? frame.ipEnd : frame.end, capturedEnd), ipVersion);
  const whole = end - start <= HEAD_BYTES + TAIL_BYTES;
  const kept = whole ? bytes.slice(start, end) : new Uint8Array(HEAD_BYTES + TAIL_BYTES);
  if (!whole) {
    kept.set(bytes.subarray(start, start + HEAD_BYTES));
    kept.set(bytes.subarray(end - TAIL_BYTES, end), HEAD_BYTES);
  }
  const addresses = ipVersion === 4 ? ipOffset + 12 : ipVersion === 6 ? ipOffset + 8 : start;
  const addressBytes = ipVersion === 4 ? 4 : ipVersion === 6 ? 16 : 6;
  // A station's own address comes second in an Ethernet header, and first in an IP header.
  const first = hashOf(bytes, addresses, Math.min(addresses + addressBytes, end));
  const second = hashOf(bytes, addresses + addressBytes, Math.min(addresses + 2 * addressBytes, end));
  return {
    number: packet.number,
    timeNs,
    offsetNs: 0,
    interfaceIndex: packet.interfaceIndex,
    direction: dissection.direction,
    key: frameKey(bytes, start, end, ipOffset, ipVersion),
    length: end - start,
    bytes: kept,
    bodyHash: whole ? 0 : hashOf(bytes, start + HEAD_BYTES, end - TAIL_BYTES),
    ipOffset: ipVersion === 0 ? -1 : ipOffset - start,
    ipVersion,
    ecn: ipVersion === 0 ? -1 : frame.trafficClass & ECN_MASK,
    icrc,
    hopLimit: ipVersion === 0 ? 0 : frame.hopLimit,
    source: ipVersion === 0 ? second : first,
    destination: ipVersion === 0 ? first : second,
    stations: hashOf(bytes, start, Math.min(start + 12, end)),
    damaged: dissection.status === FrameStatus.BadIpChecksum || icrc === IcrcState.Bad,
  };
}

/**
 * How much two frames differ: their differing bytes, the whole middle part counting as a few; at most `limit`. Frames of
 * different lengths differ in `limit`.
 */
export function difference(one: CapturedFrame, other: CapturedFrame, limit: number): number {
  if (one.length !== other.length) return limit;
  const body = one.bodyHash === other.bodyHash ? 0 : DIFFERENT_BODY;
  return Math.min(limit, body + differingBytes(one.bytes, other.bytes, limit - body));
}

/** Where the frame ends. Zeros at the end of what is not IP may be the trailer of a short Ethernet frame. */
function endOf(bytes: Uint8Array, start: number, end: number, ipVersion: number): number {
  if (ipVersion !== 0) return Math.max(start, end);
  let last = end;
  while (last > start && bytes[last - 1] === 0) last -= 1;
  return last;
}

/** All headers up to the RETH, with IPv6 and two VLAN tags. */
const HEAD_BYTES = 124;
/** The ICRC. */
const TAIL_BYTES = 4;
/** Less than a PSN and an ICRC: a frame with a damaged payload is more like itself than like the one after it. */
const DIFFERENT_BODY = 3;
