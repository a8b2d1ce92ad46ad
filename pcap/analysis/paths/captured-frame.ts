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
import {
  bodyHash,
  differingBytes,
  type FrameBytes,
  frameKey,
  HEAD_BYTES,
  hashOf,
  payloadHash,
  TAIL_BYTES,
} from './frame-key.ts';

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

/** The bytes of a frame, where they are; filled again for each packet. */
class WholeFrame implements FrameBytes {
  bytes: Uint8Array = NO_BYTES;
  view: DataView = new DataView(NO_BYTES.buffer);
  start = 0;
  end = 0;
  readonly #short = new Uint8Array(SHORTEST_ETHERNET);
  readonly #shortView = new DataView(this.#short.buffer);

  /** A short frame gets its trailer of zeros on the way: who sends it has not captured that. */
  set(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    const isShort = end - start < SHORTEST_ETHERNET;
    if (isShort) {
      this.#short.fill(0);
      this.#short.set(bytes.subarray(start, Math.max(start, end)));
    }
    this.bytes = isShort ? this.#short : bytes;
    this.view = isShort ? this.#shortView : view;
    this.start = isShort ? 0 : start;
    this.end = isShort ? SHORTEST_ETHERNET : end;
  }
}

/** Makes records of packets, each of which is looked at in the memory of the reader. */
export class FrameReader {
  readonly #whole = new WholeFrame();

  /** The record of a packet. The reader may use its memory again. */
  record(facts: PathFacts): CapturedFrame {
    const record = blankFrame();
    this.read(facts, record);
    record.bytes = new Uint8Array(Math.min(record.length, MOST_KEPT_BYTES));
    this.copyEnds(record.bytes, 0);
    return record;
  }

  /** Fills `into` with all but its bytes, which `copyEnds` has until the next packet is read. */
  read({ packet, timeNs, dissection, icrc }: PathFacts, into: FrameRecord): void {
    const { frame, capturedEnd } = dissection;
    const { ipVersion } = frame;
    const whole = this.#whole;
    whole.set(frame.bytes, frame.view, frame.start, Math.min(frame.end, capturedEnd));
    const { view, start, end } = whole;
    const ipOffset = ipVersion === 0 ? -1 : frame.ipOffset - frame.start;
    const addresses = start + (ipVersion === 4 ? ipOffset + 12 : ipVersion === 6 ? ipOffset + 8 : 0);
    const addressBytes = ipVersion === 4 ? 4 : ipVersion === 6 ? 16 : 6;
    const between = Math.min(addresses + addressBytes, end);
    // The source comes first in an IP header, and second in an Ethernet header.
    const first = hashOf(view, Math.min(addresses, end), between);
    const second = hashOf(view, between, Math.min(between + addressBytes, end));
    const payload = payloadHash(whole, ipOffset);
    into.number = packet.number;
    into.timeNs = timeNs;
    into.offsetNs = 0;
    into.interfaceIndex = packet.interfaceIndex;
    into.direction = dissection.direction;
    into.key = frameKey(whole, ipOffset, ipVersion, payload);
    into.length = end - start;
    into.bodyHash = bodyHash(whole, ipOffset, payload);
    into.ipOffset = ipOffset;
    into.ipVersion = ipVersion;
    into.ecn = ipVersion === 0 ? -1 : frame.trafficClass & ECN_MASK;
    into.icrc = icrc;
    into.hopLimit = ipVersion === 0 ? 0 : frame.hopLimit;
    into.source = ipVersion === 0 ? second : first;
    into.destination = ipVersion === 0 ? first : second;
    into.stations = hashOf(view, start, start + 12);
    into.damaged = dissection.status === FrameStatus.BadIpChecksum || icrc === IcrcState.Bad;
  }

  /** Copies the first and the last bytes of the frame that was read last, or all of a short one, to `into` at `at`. */
  copyEnds(into: Uint8Array, at: number): void {
    const { bytes, start, end } = this.#whole;
    const headEnd = end - start <= MOST_KEPT_BYTES ? end : start + HEAD_BYTES;
    let next = at;
    for (let from = start; from < headEnd; from++) into[next++] = bytes[from] as number;
    for (let from = Math.max(headEnd, end - TAIL_BYTES); from < end; from++) into[next++] = bytes[from] as number;
  }
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

const NO_BYTES = new Uint8Array(0);
/** Without its FCS. */
const SHORTEST_ETHERNET = 60;
/** Bytes of a record. */
export const MOST_KEPT_BYTES = HEAD_BYTES + TAIL_BYTES;
/** Less than a PSN and an ICRC: a frame with a damaged payload is more like itself than like the one after it. */
const DIFFERENT_BODY = 3;
